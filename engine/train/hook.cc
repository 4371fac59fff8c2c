// Hooks that several recipes share.
#include "engine/train/hook.h"

#include <algorithm>
#include <cmath>

#include "engine/fused/updates.h"
#include "engine/train/clipping.h"

namespace locus::engine {
namespace {

constexpr const char* kAverage = "hook.average.";

// Everything a model's outputs depend on and that may change, by full name.
std::map<std::string, Tensor> weights_of(const Task& task) {
  std::map<std::string, Tensor> out;
  for (const auto& item : task.named_parameters()) {
    // An average of equal numbers would still round; and checkpoints leave out what is held.
    if (!task.holds(item.key())) out.emplace(item.key(), item.value());
  }
  for (const auto& item : task.named_buffers()) out.emplace(item.key(), item.value());
  return out;
}

}  // namespace

void TrainingHook::before_step(Batch&, const StepView&) {}
void TrainingHook::before_update(const StepView&) {}
void TrainingHook::after_step(const StepView&) {}
void TrainingHook::exchange_weights(Task&) {}
std::string TrainingHook::exchange_others(Task&) { return ""; }
void TrainingHook::save(std::map<std::string, Tensor>&) const {}
void TrainingHook::load(std::map<std::string, Tensor>&) {}

ReportedWeights::ReportedWeights(const TrainingHooks& hooks, Task& task) : hooks_(hooks), task_(task) {
  for (const auto& hook : hooks_) hook->exchange_weights(task_);
}

ReportedWeights::~ReportedWeights() {
  for (auto hook = hooks_.rbegin(); hook != hooks_.rend(); ++hook) (*hook)->exchange_weights(task_);
}

ClipRule clip_rule_of(std::string_view name) {
  if (name == "joint") return ClipRule::kJoint;
  if (name == "tensor") return ClipRule::kTensor;
  if (name == "unit") return ClipRule::kUnit;
  throw std::invalid_argument("there is no rule of clipping '" + std::string(name) + "'; choose joint, tensor or unit");
}

ClipGradients::ClipGradients(const Task& task, ClipRule rule, double limit) : rule_(rule), limit_(limit) {
  for (const Tensor& parameter : task.parameters()) {
    if (parameter.requires_grad()) parameters_.push_back(parameter);
  }
}

void ClipGradients::before_update(const StepView&) {
  switch (rule_) {
    case ClipRule::kJoint:
      return clip_joint_norm(parameters_, limit_);
    case ClipRule::kTensor:
      return clip_each_norm(parameters_, limit_);
    case ClipRule::kUnit:
      return clip_units(parameters_, limit_);
  }
}

double AveragingSettings::decay_at(std::int64_t update) const {
  if (!third) return decay;
  const std::int64_t s = update - after - 1;
  if (s <= 0) return 0;
  return warmup ? std::clamp(1 - std::pow(1 + static_cast<double>(s), -2.0 / 3), 0.0, decay) : decay;
}

void follow(const std::vector<Tensor>& averages, const std::vector<Tensor>& weights, const AveragingSettings& settings,
            std::int64_t update) {
  const at::NoGradGuard no_gradient;
  std::vector<Tensor> slow, fast;
  for (std::size_t i = 0; i < averages.size(); ++i) {
    if (!weights[i].is_floating_point()) {
      averages[i].copy_(weights[i]);
      continue;
    }
    slow.push_back(averages[i]);
    fast.push_back(weights[i].detach());
  }
  const double decay = settings.decay_at(update);
  std::vector<Tensor> both = slow;
  both.insert(both.end(), fast.begin(), fast.end());
  if (fused::updates(both)) return fused::follow(slow, fast, decay, settings.third);
  if (settings.third) return at::_foreach_lerp_(slow, fast, 1 - decay);
  at::_foreach_mul_(slow, decay);
  at::_foreach_add_(slow, fast, 1 - decay);
}

AverageWeights::AverageWeights(const Task& task, AveragingSettings settings) : settings_(settings) {
  for (const auto& [name, weight] : weights_of(task)) averages_.emplace(name, weight.detach().clone());
}

void AverageWeights::after_step(const StepView& step) {
  std::vector<Tensor> averages, weights;
  for (const auto& [name, weight] : weights_of(step.task)) {
    averages.push_back(averages_.at(name));
    weights.push_back(weight);
  }
  follow(averages, weights, settings_, step.forward.step + 1);
}

void AverageWeights::exchange_weights(Task& task) {
  if (settings_.reported) exchange(task);
}

std::string AverageWeights::exchange_others(Task& task) {
  exchange(task);
  return settings_.reported ? "raw" : "ema";
}

void AverageWeights::exchange(Task& task) {
  const at::NoGradGuard no_gradient;
  for (const auto& [name, weight] : weights_of(task)) {
    const Tensor kept = weight.clone();
    weight.copy_(averages_.at(name));
    averages_.at(name).copy_(kept);
  }
}

void AverageWeights::save(std::map<std::string, Tensor>& tensors) const {
  for (const auto& [name, average] : averages_) tensors[kAverage + name] = average;
}

void AverageWeights::load(std::map<std::string, Tensor>& tensors) {
  for (const auto& [name, average] : averages_) take_tensor(tensors, kAverage + name, average);
}

}  // namespace locus::engine
