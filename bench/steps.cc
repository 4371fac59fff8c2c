// Training steps on demand: makes the models of a file and runs a step of one whenever asked, so that another program can
// measure its own steps in between, on the same machine in the same minutes (bench/hosts.py).
//
//   step_bench CASES.json [THREADS]
//
// CASES: [{"label": "deit-tiny", "model": {"id", "options"}, "priors": [{"id", "options", "stages"}], "channels": 3,
// "extent": [224, 224], "classes": 1000, "batch": 4}, ...]. Writes a line of JSON for each model, {"label",
// "parameters", "flops"}, flops of a forward pass over one image, then "ready". Reads lines "LABEL STEPS" and answers each with the seconds a step.
#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>

#include <chrono>
#include <fstream>
#include <iostream>

#include "engine/backbones/backbone.h"
#include "engine/train/optimizer.h"

namespace locus {
using namespace engine;
namespace {

// A model and what trains it: forward, backward and AdamW, on images of noise.
class Trained {
 public:
  explicit Trained(const Json& request) : random_(0) {
    const auto extent = request.at("extent").get<std::vector<std::int64_t>>();
    const auto channels = request.at("channels").get<std::int64_t>(), batch = request.at("batch").get<std::int64_t>(),
               classes = request.at("classes").get<std::int64_t>();
    model_ = make_backbone(request, {channels, extent}, random_);
    images_ = random_.normal("bench", "images", 0, {batch, channels, extent.at(0), extent.at(1)});
    labels_ = at::arange(batch).remainder(classes);
    weight_ = random_.normal("bench", "head", 0, {classes, model_->pooled_width()}, 0, 0.02).requires_grad_();
    bias_ = at::zeros({classes}).requires_grad_();
    flops_ = model_->flops(extent[0], extent[1]) + 2 * weight_.numel();
    ParameterGroup decayed{{{"head.weight", weight_}}, 0.05}, exempt{{{"head.bias", bias_}}};
    for (const auto& entry : model_->named_parameters()) {
      const bool decays = model_->decay(entry.key(), entry.value()) == Decay::kDecayed;
      (decays ? decayed : exempt).parameters.push_back({entry.key(), entry.value()});
    }
    optimizer_ = std::make_unique<AdamW>(std::vector{std::move(decayed), std::move(exempt)}, AdamW::Settings{});
  }

  std::int64_t parameters() const {
    std::int64_t sum = weight_.numel() + bias_.numel();
    for (const Tensor& each : model_->parameters()) sum += each.numel();
    return sum;
  }
  std::int64_t flops() const { return flops_; }

  // Seconds a step.
  double run(std::int64_t steps) {
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < steps; ++i) step();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return took.count() / static_cast<double>(steps);
  }

 private:
  void step() {
    const ForwardContext context{.step = step_++, .steps = 1000, .training = true, .random = random_};
    const Features features = model_->forward(images_, context);
    Tensor loss = at::cross_entropy_loss(at::linear(model_->pooled(features), weight_, bias_), labels_);
    for (const AuxLoss& more : model_->auxiliary_losses(features, context)) loss = loss + more.value;
    loss.backward();
    optimizer_->step(1e-3);
  }

  RandomStreams random_;
  std::shared_ptr<Backbone> model_;
  Tensor images_, labels_, weight_, bias_;
  std::int64_t flops_ = 0;
  std::unique_ptr<AdamW> optimizer_;
  std::int64_t step_ = 0;
};

int serve(const std::string& path, int threads) {
  at::set_num_threads(threads);
  std::ifstream in(path);
  if (!in) throw std::invalid_argument("cannot read " + path);
  std::map<std::string, std::unique_ptr<Trained>> models;
  for (const Json& request : Json::parse(in)) {
    const std::string label = request.at("label");
    auto model = std::make_unique<Trained>(request);
    std::cout << Json{{"label", label}, {"parameters", model->parameters()}, {"flops", model->flops()}}.dump() << "\n";
    models.emplace(label, std::move(model));
  }
  std::cout << "ready" << std::endl;
  std::string label;
  for (std::int64_t steps = 0; std::cin >> label >> steps;) std::cout << models.at(label)->run(steps) << std::endl;
  return 0;
}

}  // namespace
}  // namespace locus

int main(int count, char** values) {
  try {
    if (count < 2 || count > 3) throw std::invalid_argument("usage: step_bench CASES.json [THREADS]");
    return locus::serve(values[1], count > 2 ? std::stoi(values[2]) : 1);
  } catch (const std::exception& error) {
    std::cerr << "step_bench: " << error.what() << "\n";
    return 2;
  }
}
