// Training steps on demand: makes the models of a file and runs a step of one whenever asked, so that another program can
// measure its own steps in between, on the same machine in the same minutes (bench/rounds.py).
//
//   step_bench CASES.json [THREADS]
//
// CASES: [{"label": "deit-tiny", "model": {"id", "options"}, "priors": [{"id", "options", "stages"}], "channels": 3,
// "extent": [224, 224], "classes": 1000, "batch": 4, "precision": "bfloat16"}, ...], float32 unless it says another. A
// backbone that follows a condition is a denoising network, with twice the channels of its images; others classify. "task"
// {"id", "options"} and "decoder", as a stage configuration has them, make a task of maps instead, and "written": FILE its
// weights, a batch and what predict() says of it ("output"), as safetensors. "published": {"weights": FILE, "layout": ID,
// "inputs": FILE, "outputs": FILE}, of safetensors, gives a model the weights of a file by another program's names, runs it
// in evaluation on "image", and "time" and "label" where it denoises, and writes what comes out as "output".
//
// Writes a line of JSON for each model, {"label", "parameters", "flops"}, flops of a forward pass over one image, then
// "ready". Reads lines "LABEL STEPS" and answers each with the seconds a step; a line "memory 0" with the most bytes that the
// process has held beyond those before the first model was made, of one model in a file what its steps need.
#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/mse_loss.h>

#include <chrono>
#include <fstream>
#include <iostream>

#include "engine/base/memory.h"
#include "engine/base/precision.h"
#include "engine/files/safetensors.h"
#include "engine/tasks/denoiser.h"
#include "engine/tasks/task.h"
#include "engine/train/optimizer.h"
#include "engine/weights/load.h"

namespace locus {
using namespace engine;
namespace {

using Named = std::map<std::string, Tensor>;

// What a request says of images.
struct Images {
  std::int64_t channels, batch, classes;
  std::vector<std::int64_t> extent;
  explicit Images(const Json& request)
      : channels(request.at("channels")),
        batch(request.at("batch")),
        classes(request.at("classes")),
        extent(request.at("extent").get<std::vector<std::int64_t>>()) {}
  InputFacts facts() const { return {channels, extent}; }
  Tensor noise(const RandomStreams& random, const char* name, std::int64_t deep) const {
    return random.normal("bench", name, 0, {batch, deep, extent.at(0), extent.at(1)});
  }
};

// A network with what it is trained on.
class Network {
 public:
  virtual ~Network() = default;
  virtual Module& module() = 0;  // of everything that learns, the backbone below "backbone."
  virtual Decay decay(std::string_view name, const Tensor& parameter) const = 0;
  virtual std::int64_t flops() const = 0;
  virtual Tensor output(const Named& in, const ForwardContext& context) = 0;
  virtual Tensor loss(const ForwardContext& context) = 0;  // of its own batch
};

// Of a network whose backbone is below "backbone.".
Decay decay_below(const Backbone& backbone, std::string_view name, const Tensor& parameter) {
  constexpr std::string_view kBackbone = "backbone.";
  return name.starts_with(kBackbone) ? backbone.decay(name.substr(kBackbone.size()), parameter)
                                     : default_decay(name, parameter);
}

class Classifier final : public Network, public Module {
 public:
  Classifier(const Json& request, const RandomStreams& random) : images_(request) {
    backbone_ = register_module("backbone", make_backbone(request, images_.facts(), random));
    head_ = register_module("head", std::make_shared<Linear>(backbone_->pooled_width(), images_.classes));
    const at::NoGradGuard no_grad;
    head_->weight.copy_(random.normal("bench", "head", 0, head_->weight.sizes(), 0, 0.02));
    head_->bias.zero_();
    image_ = images_.noise(random, "images", images_.channels);
    label_ = at::arange(images_.batch).remainder(images_.classes);
  }

  Module& module() override { return *this; }
  Decay decay(std::string_view name, const Tensor& parameter) const override {
    return decay_below(*backbone_, name, parameter);
  }
  std::int64_t flops() const override {
    return backbone_->flops(images_.extent[0], images_.extent[1]) + 2 * head_->weight.numel();
  }
  Tensor output(const Named& in, const ForwardContext& context) override {
    return head_->forward(backbone_->pooled(backbone_->forward(in.at("image"), context)));
  }
  Tensor loss(const ForwardContext& context) override {
    const Features features = backbone_->forward(image_, context);
    Tensor out = at::cross_entropy_loss(head_->forward(backbone_->pooled(features)), label_);
    for (const AuxLoss& more : backbone_->auxiliary_losses(features, context)) out = out + more.value;
    return out;
  }

 private:
  Images images_;
  std::shared_ptr<Backbone> backbone_;
  std::shared_ptr<Linear> head_;
  Tensor image_, label_;
};

// Tells noise, of which each pixel counts alike; an image of each noise level and class.
class Denoising final : public Network {
 public:
  Denoising(const Json& request, const RandomStreams& random) : images_(request) {
    denoiser_ =
        std::make_unique<Denoiser>(request, images_.facts(), DenoiserOptions{.classes = images_.classes}, random);
    image_ = images_.noise(random, "images", images_.channels);
    noise_ = images_.noise(random, "noise", 2 * images_.channels);
    label_ = at::arange(images_.batch).remainder(images_.classes);
    time_ = at::arange(images_.batch, at::kFloat);
  }

  Module& module() override { return *denoiser_; }
  Decay decay(std::string_view name, const Tensor& parameter) const override {
    return decay_below(denoiser_->backbone(), name, parameter);
  }
  std::int64_t flops() const override { return denoiser_->flops(images_.extent[0], images_.extent[1]); }
  Tensor output(const Named& in, const ForwardContext& context) override {
    return denoiser_->forward({.image = in.at("image"), .time = in.at("time"), .label = in.at("label")}, context);
  }
  Tensor loss(const ForwardContext& context) override {
    return at::mse_loss(denoiser_->forward({.image = image_, .time = time_, .label = label_}, context), noise_);
  }

 private:
  Images images_;
  std::unique_ptr<Denoiser> denoiser_;
  Tensor image_, noise_, label_, time_;
};

// A task of maps, on the batch that it makes up.
class Maps final : public Network {
 public:
  Maps(const Json& request, const RandomStreams& random) : images_(request), request_(request) {
    const Extent extent{images_.extent.at(0), images_.extent.at(1)};
    const Json facts = {{"channels", images_.channels}, {"extent", extent}, {"classes", images_.classes}};
    task_ = make_task({request_, facts, random});
    batch_ = task_->example_batch(images_.batch, extent, random);
    if (request.contains("written")) write(request.at("written").get<std::string>(), random);
  }

  Module& module() override { return *task_; }
  Decay decay(std::string_view name, const Tensor& parameter) const override { return task_->decay(name, parameter); }
  std::int64_t flops() const override { return task_->flops(images_.extent[0], images_.extent[1]); }
  Tensor output(const Named& in, const ForwardContext& context) override { return task_->predict(in, context); }
  Tensor loss(const ForwardContext& context) override { return task_->train_step(batch_, context).loss; }

 private:
  void write(const std::string& path, const RandomStreams& random) {
    const at::NoGradGuard no_gradient;
    TensorFile file;
    for (const auto& entry : task_->named_parameters()) file.tensors[entry.key()] = entry.value().detach().contiguous();
    for (const auto& [name, tensor] : batch_) file.tensors["batch." + name] = tensor.contiguous();
    task_->eval();
    file.tensors["output"] =
        task_->predict(batch_, {.step = 0, .steps = 1, .training = false, .random = random}).contiguous();
    task_->train();
    write_safetensors(path, file);
  }

  Images images_;
  const Json request_;
  std::shared_ptr<Task> task_;
  Batch batch_;
};

std::unique_ptr<Network> network_of(const Json& request, const RandomStreams& random) {
  if (request.contains("task")) return std::make_unique<Maps>(request, random);
  const Item& item = backbone_item(request.at("model").at("id").get<std::string>()).item;
  if (item.json().value("facts", Json::object()).value("condition", false))
    return std::make_unique<Denoising>(request, random);
  return std::make_unique<Classifier>(request, random);
}

// A network and what trains it: forward, backward and AdamW, on images of noise.
class Trained {
 public:
  explicit Trained(const Json& request)
      : random_(0),
        network_(network_of(request, random_)),
        precision_(precision_of(request.value("precision", "float32"))) {
    if (request.contains("published")) compare(request);
    ParameterGroup decayed{{}, 0.05}, exempt{{}};
    for (const auto& entry : network_->module().named_parameters()) {
      const Decay decay = network_->decay(entry.key(), entry.value());
      (decay == Decay::kDecayed ? decayed : exempt).parameters.push_back({entry.key(), entry.value()});
    }
    optimizer_ = std::make_unique<AdamW>(std::vector{std::move(decayed), std::move(exempt)}, AdamW::Settings{});
  }

  std::int64_t parameters() const {
    std::int64_t sum = 0;
    for (const Tensor& each : network_->module().parameters()) sum += each.numel();
    return sum;
  }
  std::int64_t flops() const { return network_->flops(); }

  // Seconds a step.
  double run(std::int64_t steps) {
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < steps; ++i) step();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return took.count() / static_cast<double>(steps);
  }

 private:
  void step() {
    const Tensor loss = [&] {
      const Autocast cast(precision_, at::kCPU);
      return network_->loss({.step = step_++, .steps = 1000, .training = true, .random = random_});
    }();
    loss.backward();
    optimizer_->step(1e-3);
  }

  // With the weights of another program's file, what comes out of its inputs.
  void compare(const Json& request) {
    const Json& published = request.at("published");
    const Images images(request);
    load_weights(network_->module(), {images.channels, images.extent},
                 read_safetensors(published.at("weights").get<std::string>()).tensors,
                 {.layout = published.at("layout"), .prefix = "", .keep_head = true, .fit = {}});
    const at::NoGradGuard no_grad;
    const Named in = read_safetensors(published.at("inputs").get<std::string>()).tensors;
    const Tensor out = network_->output(in, {.step = 0, .steps = 1, .training = false, .random = random_});
    write_safetensors(published.at("outputs").get<std::string>(), {{{"output", out.contiguous()}}, {}});
  }

  RandomStreams random_;
  std::unique_ptr<Network> network_;
  Precision precision_;
  std::unique_ptr<AdamW> optimizer_;
  std::int64_t step_ = 0;
};

// A line of /proc/self/status, "VmRSS" and the like, in bytes.
std::int64_t status_bytes(const std::string& key) {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;) {
    std::int64_t kibibytes = 0;
    if (word == key + ":" && in >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

int serve(const std::string& path, int threads) {
  at::set_num_threads(threads);
  std::ifstream in(path);
  if (!in) throw std::invalid_argument("cannot read " + path);
  const std::int64_t before = status_bytes("VmRSS");
  std::map<std::string, std::unique_ptr<Trained>> models;
  for (const Json& request : Json::parse(in)) {
    const std::string label = request.at("label");
    auto model = std::make_unique<Trained>(request);
    std::cout << Json{{"label", label}, {"parameters", model->parameters()}, {"flops", model->flops()}}.dump() << "\n";
    models.emplace(label, std::move(model));
  }
  std::cout << "ready" << std::endl;
  std::string label;
  for (std::int64_t steps = 0; std::cin >> label >> steps;) {
    if (label == "memory") {
      std::cout << status_bytes("VmHWM") - before << std::endl;
    } else {
      std::cout << models.at(label)->run(steps) << std::endl;
    }
  }
  return 0;
}

}  // namespace
}  // namespace locus

int main(int count, char** values) {
  locus::engine::keep_tensor_memory();  // as trainers do
  try {
    if (count < 2 || count > 3) throw std::invalid_argument("usage: step_bench CASES.json [THREADS]");
    return locus::serve(values[1], count > 2 ? std::stoi(values[2]) : 1);
  } catch (const std::exception& error) {
    std::cerr << "step_bench: " << error.what() << "\n";
    return 2;
  }
}
