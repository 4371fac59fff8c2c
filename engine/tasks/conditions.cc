// Embeddings of time and label.
#include "engine/tasks/conditions.h"

#include <ATen/ops/silu.h>

#include <cmath>

namespace locus::engine {
namespace {

constexpr double kLongestPeriod = 10000, kDeviation = 0.02;
constexpr std::string_view kDiffusion = "diffusion";  // purpose of draws

}  // namespace

void refuse_conditions(Item& item) {
  item.set("requires",
           Json::array({{{"rule", "none"},
                         {"value", "condition"},
                         {"help", "the backbone follows a time and a class, which this task does not give"}}}));
}

void check_unconditioned(const Backbone& backbone) {
  if (backbone.stages()[0].condition)
    throw std::invalid_argument("the backbone follows a time and a class, which images have not");
}

TimeEmbedding::TimeEmbedding(std::int64_t width) {
  in_ = register_module("in", std::make_shared<Linear>(2 * kFrequencies, width));
  out_ = register_module("out", std::make_shared<Linear>(width, width));
}

Tensor TimeEmbedding::waves(const Tensor& times) {
  const at::TensorOptions options = times.options().dtype(at::kFloat);
  const Tensor exponents = at::arange(kFrequencies, options).mul(-std::log(kLongestPeriod)).div(kFrequencies);
  const Tensor angles = times.to(at::kFloat).unsqueeze(1) * exponents.exp();
  return at::cat({angles.cos(), angles.sin()}, 1);
}

Tensor TimeEmbedding::forward(const Tensor& times) const {
  return out_->forward(at::silu(in_->forward(waves(times).to(in_->weight.scalar_type()))));
}

void TimeEmbedding::initialize(const Initializer& initializer) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, linear] : {std::pair{"in", in_}, std::pair{"out", out_}}) {
    initializer.normal(linear->weight, std::string(name) + ".weight", 0, kDeviation);
    linear->bias.zero_();
  }
}

std::int64_t TimeEmbedding::flops() const { return 2 * (in_->weight.numel() + out_->weight.numel()); }

LabelEmbedding::LabelEmbedding(std::int64_t classes, std::int64_t width, double drop) : classes_(classes), drop_(drop) {
  if (classes < 1 || !(drop >= 0 && drop < 1)) {
    throw std::invalid_argument("labels: " + std::to_string(classes) + " classes, dropped with probability " +
                                std::to_string(drop) + "; there must be a class, and some labels must stay");
  }
  table_ = register_parameter("table", at::empty({classes + (drop > 0 ? 1 : 0), width}));
}

Tensor LabelEmbedding::forward(const Tensor& labels, const ForwardContext& context, const Tensor& dropped) const {
  Tensor drop = dropped;
  if (!drop.defined() && context.training && drop_ > 0) {
    const std::int64_t first = context.first_sample;
    drop = context.random.uniform(kDiffusion, "drop", context.step.draw(), {first + labels.size(0)})
               .slice(0, first)
               .lt(drop_)
               .to(labels.device(), /*non_blocking=*/true);
  }
  return table_.index_select(0, drop.defined() ? labels.masked_fill(drop, null_label()) : labels);
}

std::int64_t LabelEmbedding::null_label() const {
  if (drop_ > 0) return classes_;
  throw std::invalid_argument(
      "the network learned no image without its label: there is no null class; let some labels "
      "be dropped while it trains");
}

void LabelEmbedding::initialize(const Initializer& initializer) {
  const at::NoGradGuard no_grad;
  initializer.normal(table_, "table", 0, kDeviation);
}

}  // namespace locus::engine
