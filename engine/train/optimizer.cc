// The update itself is ATen's fused kernel, on CPU and CUDA alike.
#include "engine/train/optimizer.h"

#include <cmath>
#include <numbers>

#include "engine/base/failure.h"

namespace locus::engine {
namespace {

constexpr const char* kAverage = "optimizer.exp_avg.";
constexpr const char* kSquare = "optimizer.exp_avg_sq.";

}  // namespace

double CosineSchedule::rate(std::int64_t step) const {
  if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (steps <= warmup) return peak;
  const double done = static_cast<double>(step - warmup) / static_cast<double>(steps - warmup);
  return minimum + (peak - minimum) * 0.5 * (1 + std::cos(std::numbers::pi * done));
}

AdamW::AdamW(std::vector<NamedParameter> parameters, Settings settings) : settings_(settings) {
  for (NamedParameter& named : parameters) {
    const Tensor zeros = at::zeros_like(named.parameter, at::MemoryFormat::Contiguous).detach();
    entries_.push_back({std::move(named), zeros, zeros.clone()});
  }
}

void AdamW::step(double rate) {
  at::NoGradGuard no_gradient;
  ++steps_;
  step_group(true, rate);
  step_group(false, rate);
  for (Entry& entry : entries_) entry.named.parameter.mutable_grad().reset();
}

void AdamW::step_group(bool decayed, double rate) {
  std::vector<Tensor> parameters, gradients, averages, squares, counts;
  Tensor count;
  for (const Entry& entry : entries_) {
    const Tensor& gradient = entry.named.parameter.grad();
    if (entry.named.decayed != decayed || !gradient.defined()) continue;
    if (!count.defined())
      count = at::full({}, static_cast<double>(steps_), entry.named.parameter.options().dtype(at::kFloat));
    parameters.push_back(entry.named.parameter);
    gradients.push_back(gradient.contiguous());
    averages.push_back(entry.average);
    squares.push_back(entry.square);
    counts.push_back(count);
  }
  if (parameters.empty()) return;
  at::_fused_adamw_(parameters, gradients, averages, squares, /*max_exp_avg_sqs=*/{}, counts, rate, settings_.beta1,
                    settings_.beta2, decayed ? settings_.weight_decay : 0.0, settings_.epsilon, /*amsgrad=*/false,
                    /*maximize=*/false);
  // The fused kernel does not tell that it wrote; whoever keeps values derived from parameters relies on it.
  for (const Tensor& parameter : parameters) parameter.unsafeGetTensorImpl()->bump_version();
}

void AdamW::clip(double norm) {
  at::NoGradGuard no_gradient;
  std::vector<Tensor> gradients;
  for (const Entry& entry : entries_) {
    if (entry.named.parameter.grad().defined()) gradients.push_back(entry.named.parameter.grad());
  }
  if (gradients.empty()) return;
  const Tensor total = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients)));
  at::_foreach_mul_(gradients, (norm / (total + 1e-6)).clamp_max(1.0));
}

void AdamW::save(std::map<std::string, Tensor>& tensors) const {
  for (const Entry& entry : entries_) {
    tensors[kAverage + entry.named.name] = entry.average;
    tensors[kSquare + entry.named.name] = entry.square;
  }
}

void AdamW::load(std::map<std::string, Tensor>& tensors, std::int64_t steps) {
  for (Entry& entry : entries_) {
    take_tensor(tensors, kAverage + entry.named.name, entry.average);
    take_tensor(tensors, kSquare + entry.named.name, entry.square);
  }
  steps_ = steps;
}

void take_tensor(std::map<std::string, Tensor>& tensors, const std::string& name, Tensor target) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) throw DataError("the checkpoint lacks the tensor '" + name + "'");
  const Tensor& value = found->second;
  if (value.sizes() != target.sizes() || value.scalar_type() != target.scalar_type()) {
    throw DataError("the checkpoint's tensor '" + name + "' is " + value.toString() + c10::str(value.sizes()) +
                    " where the model needs " + target.toString() + c10::str(target.sizes()));
  }
  at::NoGradGuard no_gradient;
  target.copy_(value);
  tensors.erase(found);
}

}  // namespace locus::engine
