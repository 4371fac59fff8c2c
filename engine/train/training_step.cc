// What a recorded step is made with but does not read from the device is watched, and makes it be recorded anew.
#include "engine/train/training_step.h"

namespace locus::engine {

void TrainingStep::replay_by(MakeDeviceGraph graphs, StepRecorder::Tell tell) {
  StepRecorder::Step step;
  step.make = [this](const Batch& batch, const ForwardContext& forward) { return make(batch, forward, std::nullopt); };
  step.drop = [this] { optimizer_.skip(); };
  step.played = [this] { optimizer_.written(); };
  step.weights = task_.parameters();
  step.sums = optimizer_.states();
  for (const Tensor& buffer : task_.buffers()) step.sums.push_back(buffer);
  recorder_ = std::make_unique<StepRecorder>(std::move(graphs), std::move(step), std::move(tell));
  settings_ = settings();
}

// Rates lie on the device.
std::vector<double> TrainingStep::settings() const {
  std::vector<double> out;
  for (const ParameterGroup& group : optimizer_.groups()) out.push_back(group.weight_decay);
  return out;
}

StepRow TrainingStep::run(const Batch& batch, const ForwardContext& forward, double rate) {
  if (!recorder_) return make(batch, forward, rate);
  if (std::vector<double> now = settings(); now != settings_) {
    recorder_->forget();
    settings_ = std::move(now);
  }
  optimizer_.begin(rate);
  return recorder_->run(batch, forward);
}

// Without a rate the optimizer has begun the step.
StepRow TrainingStep::make(const Batch& batch, const ForwardContext& forward, std::optional<double> rate) {
  const StepView view{forward, task_, optimizer_};
  const StepLosses losses = backward_.run(task_, batch, forward);
  const bool finite = backward_.unscale(optimizer_.groups());
  for (const auto& hook : hooks_) hook->before_update(view);
  if (finite) {
    if (rate) optimizer_.begin(*rate);
    optimizer_.finish();
  } else {
    optimizer_.skip();
  }
  StepRow out;
  std::vector<Tensor> row;
  for (const auto& [name, value] : losses.fields) {
    out.fields.push_back(name);
    row.push_back(value.to(at::kFloat));
  }
  // The whole loss goes last, unseen: it alone tells divergence for sure.
  row.push_back(losses.loss.to(at::kFloat));
  out.values = at::stack(row);
  return out;
}

}  // namespace locus::engine
