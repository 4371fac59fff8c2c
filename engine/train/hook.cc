// Hooks that several recipes share.
#include "engine/train/hook.h"

#include <algorithm>
#include <ranges>

namespace locus::engine {
namespace {

constexpr const char* kAverage = "hook.average.";

// Everything a model's outputs depend on, by full name.
std::map<std::string, Tensor> weights_of(const Task& task) {
  std::map<std::string, Tensor> out;
  for (const auto& item : task.named_parameters()) out.emplace(item.key(), item.value());
  for (const auto& item : task.named_buffers()) out.emplace(item.key(), item.value());
  return out;
}

}  // namespace

void TrainingHook::before_step(Batch&, const StepView&) {}
void TrainingHook::before_update(const StepView&) {}
void TrainingHook::after_step(const StepView&) {}
void TrainingHook::exchange_weights(Task&) {}
void TrainingHook::save(std::map<std::string, Tensor>&) const {}
void TrainingHook::load(std::map<std::string, Tensor>&) {}

ReportedWeights::ReportedWeights(const TrainingHooks& hooks, Task& task) : hooks_(hooks), task_(task) {
  for (const auto& hook : hooks_) hook->exchange_weights(task_);
}

ReportedWeights::~ReportedWeights() {
  for (const auto& hook : std::views::reverse(hooks_)) hook->exchange_weights(task_);
}

ClipJointNorm::ClipJointNorm(const Task& task, double norm) : norm_(norm) {
  for (const Tensor& parameter : task.parameters()) {
    if (parameter.requires_grad()) parameters_.push_back(parameter);
  }
}

void ClipJointNorm::before_update(const StepView&) { clip_joint_norm(parameters_, norm_); }

AverageWeights::AverageWeights(const Task& task, double decay) : decay_(decay) {
  for (const auto& [name, weight] : weights_of(task)) averages_.emplace(name, weight.detach().clone());
}

void AverageWeights::after_step(const StepView& step) {
  const at::NoGradGuard no_gradient;
  std::vector<Tensor> averages, weights;
  for (const auto& [name, weight] : weights_of(step.task)) {
    const Tensor& average = averages_.at(name);
    if (!weight.is_floating_point()) {
      average.copy_(weight);
      continue;
    }
    averages.push_back(average);
    weights.push_back(weight.detach());
  }
  at::_foreach_mul_(averages, decay_);
  at::_foreach_add_(averages, weights, 1 - decay_);
}

void AverageWeights::exchange_weights(Task& task) {
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
