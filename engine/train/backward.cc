// Every part's loss counts by its share of the batch, so that the sum of the gradients is that of the whole.
#include "engine/train/backward.h"

namespace locus::engine {
namespace {

std::int64_t samples_of(const Batch& batch) {
  const std::int64_t samples = batch.empty() ? 0 : batch.begin()->second.size(0);
  for (const auto& [name, tensor] : batch) {
    if (tensor.dim() > 0 && tensor.size(0) == samples) continue;
    throw std::invalid_argument("accumulate splits batches, and '" + name + "' of this task's has no row for each of " +
                                std::to_string(samples) + " samples; set train.accumulate to 1");
  }
  return samples;
}

}  // namespace

std::vector<Batch> parts_of(const Batch& batch, std::int64_t parts) {
  const std::int64_t samples = samples_of(batch);
  if (parts > samples) {
    throw std::invalid_argument("train.accumulate is " + std::to_string(parts) + ", and a batch has only " +
                                std::to_string(samples) + " samples; lower it or raise train.batch");
  }
  std::vector<Batch> out;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t first = i * samples / parts, end = (i + 1) * samples / parts;
    Batch part;
    for (const auto& [name, tensor] : batch) part.emplace(name, tensor.slice(0, first, end));
    out.push_back(std::move(part));
  }
  return out;
}

BackwardPass::BackwardPass(Precision precision, std::int64_t parts, at::Device device)
    : precision_(precision), parts_(parts), device_(device) {
  if (precision == Precision::kFloat16) scaler_.emplace();
}

StepLosses BackwardPass::run_part(Task& task, const Batch& batch, const ForwardContext& context, double share,
                                  bool last) const {
  const RoundsProducts both_passes(precision_ == Precision::kTf32);
  StepLosses losses;
  {
    const Autocast cast(precision_, device_);
    losses = task.train_step(batch, context);
  }
  const double of_whole = reducer_ == nullptr ? share : share / reducer_->gang().world();
  const double factor = of_whole * (scaler_ ? scaler_->scale() : 1);
  if (reducer_ != nullptr && last) reducer_->begin();
  (factor == 1 ? losses.loss : losses.loss * factor).backward();
  losses.loss = losses.loss.detach();
  return losses;
}

StepLosses BackwardPass::run(Task& task, const Batch& batch, const ForwardContext& context) const {
  StepLosses losses = parts_ == 1 ? run_part(task, batch, context, 1, /*last=*/true) : run_parts(task, batch, context);
  if (reducer_ != nullptr) reducer_->finish();
  return losses;
}

StepLosses BackwardPass::run_parts(Task& task, const Batch& batch, const ForwardContext& context) const {
  StepLosses sum;
  std::int64_t left = parts_;
  ForwardContext here = context;
  const auto samples = static_cast<double>(samples_of(batch));
  for (const Batch& part : parts_of(batch, parts_)) {
    const std::int64_t size = part.begin()->second.size(0);
    const double share = static_cast<double>(size) / samples;
    const StepLosses losses = run_part(task, part, here, share, /*last=*/--left == 0);
    here.first_sample += size;
    const bool first = !sum.loss.defined();
    sum.loss = first ? losses.loss * share : sum.loss + losses.loss * share;
    for (std::size_t i = 0; i < losses.fields.size(); ++i) {
      const auto& [name, value] = losses.fields[i];
      if (first) {
        sum.fields.emplace_back(name, value * share);
      } else {
        sum.fields.at(i).second = sum.fields.at(i).second + value * share;
      }
    }
  }
  return sum;
}

bool BackwardPass::unscale(const std::vector<ParameterGroup>& groups) {
  if (!scaler_) return true;
  std::vector<Tensor> gradients;
  for (const ParameterGroup& group : groups) {
    for (const NamedParameter& named : group.parameters) {
      if (named.parameter.grad().defined()) gradients.push_back(named.parameter.grad());
    }
  }
  const bool finite = scaler_->unscale(gradients);
  scaler_->update(finite);
  return finite;
}

void BackwardPass::save(std::map<std::string, Tensor>& tensors) const {
  if (scaler_) scaler_->save(tensors);
}

void BackwardPass::load(std::map<std::string, Tensor>& tensors) {
  if (scaler_) scaler_->load(tensors);
}

}  // namespace locus::engine
