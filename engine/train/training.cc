// Steps never wait for the device: losses are read once a window, together.
#include "engine/train/training.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "engine/base/failure.h"
#include "engine/tasks/tuning.h"
#include "engine/train/evaluation.h"
#include "engine/train/recipe.h"
#include "engine/train/training_data.h"

namespace locus::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Training::Training(StageContext& context)
    : context_(context),
      recipe_(make_recipe(context.configuration)),
      settings_(recipe_->loop()),
      random_(context.configuration.at("seed").get<std::uint64_t>()),
      dataset_(open_data(context)),
      input_(make_input(context.configuration, dataset_->normalization())),
      facts_(input_facts(context.configuration)),
      task_(make_task({context.configuration, facts_, random_, context.execution.path})),
      loader_(training_set(context.configuration, *dataset_, *input_, *task_, settings_, random_), random_,
              context.device, decoding_of(context.execution)),
      backward_(settings_.precision, settings_.accumulate, context.device),
      best_(context.options.text("keep_best"),
            task_item(context.configuration.at("task").at("id").get<std::string>()).item.json()) {
  // A checkpoint holds all weights but those that the task holds: only for these is the file needed again.
  if (context.resume.empty() || task_->holds_any())
    begun_from_ = start_weights(context.configuration, *task_, init_context());
  // Whoever gave the weights their values since they were made: adapters start from these.
  start_adapters(*task_, random_);
  task_->to(context.device);
  task_->train();
  const Horizon horizon{settings_.epochs, loader_.batches_per_epoch(), settings_.steps};
  planned_ = horizon.steps();
  steps_ = loader_.steps(settings_.epochs);
  if (settings_.steps > 0) steps_ = std::min(steps_, settings_.steps);
  snapshots_ = Snapshots(settings_.snapshots, steps_);
  schedule_ = recipe_->schedule(horizon);
  optimizer_ = recipe_->optimizer(*task_);
  base_ = fingerprint_of_held(*task_);
  hooks_ = recipe_->hooks(*task_);
  update_ = std::make_unique<TrainingStep>(*task_, backward_, *optimizer_, hooks_);
  // Parts of a batch are cut of every tensor in it, and what bytes stand for has no rows of samples.
  const bool plain = settings_.accumulate == 1 &&
                     std::all_of(hooks_.begin(), hooks_.end(), [](const auto& hook) { return hook->leaves_batches(); });
  if (plain && task_->takes_bytes()) loader_.leave_bytes();
  if (context.execution.gang.world > 1) join();
  if (!context.resume.empty()) with_file_context(context.resume, [this] { resume(); });
}

InitContext Training::init_context() const {
  const auto brought = context_.inputs.find("weights");
  return {.input = {facts_.at("channels").get<std::int64_t>(), facts_.at("extent").get<std::vector<std::int64_t>>()},
          .file = brought == context_.inputs.end() ? std::filesystem::path() : brought->second,
          .folder = context_.execution.data_root / "weights"};
}

void Training::resume() {
  TensorFile file = read_safetensors(context_.resume);
  const TrainingState state = read_checkpoint_metadata(file, /*exported=*/false);
  const std::string identity = configuration_identity(context_.configuration);
  if (state.identity != identity || state.seed != random_.seed() || state.steps != steps_) {
    throw DataError("the checkpoint " + context_.resume.string() + " belongs to stage " + state.identity + ", not to " +
                    identity);
  }
  if (state.base != base_) {
    throw DataError("the checkpoint " + context_.resume.string() +
                    " was made beside other frozen weights than the configuration gives here; start the stage anew");
  }
  const SamplerPosition& place = state.sampler;
  if (place.epoch < 0 || place.epoch > settings_.epochs || place.batch < 0 ||
      place.batch > loader_.batches_in(place.epoch) || state.step < 0 || state.step > steps_ ||
      state.optimizer_step < 0) {
    throw DataError("the checkpoint " + context_.resume.string() + " stands at a step outside the schedule");
  }
  load_model(*task_, /*exported=*/false, file.tensors);
  optimizer_->load(file.tensors, state.optimizer_step);
  backward_.load(file.tensors);
  for (const auto& hook : hooks_) hook->load(file.tensors);
  {
    const ReportedWeights reported(hooks_, *task_);
    best_.load(*task_, state, file);
    snapshots_.load(*task_, state, file);
  }
  loader_.seek(state.sampler);
  step_ = state.step;
  seconds_ = state.seconds;
  if (const auto rows = file.tensors.find("window.fields"); rows != file.tensors.end()) {
    if (rows->second.dim() != 2 || !rows->second.is_floating_point())
      throw DataError("the checkpoint's tensor 'window.fields' is no table of numbers");
    for (const Tensor& row : rows->second.unbind(0)) note(row.to(context_.device));
  }
  if (const auto waited = file.tensors.find("time.data_wait"); waited != file.tensors.end())
    waited_before_ = waited->second.item<double>();
  if (const auto times = file.tensors.find("time.milliseconds"); times != file.tensors.end()) {
    const Tensor values = times->second.to(at::kDouble).contiguous();
    window_milliseconds_.assign(values.data_ptr<double>(), values.data_ptr<double>() + values.numel());
  }
}

void Training::begin() {
  context_.environment["path"] = task_->path().empty() ? context_.execution.path : task_->path();
  context_.environment["dtype"] = name_of(settings_.precision);
  context_.observer.started(context_.environment, steps_, step_);
  context_.observer.say("training for " + std::to_string(settings_.epochs) + " epochs of " +
                        std::to_string(loader_.batches_per_epoch()) + " steps, " +
                        std::to_string(loader_.batch_size()) + " images a step");
  for (const std::string& line : begun_from_) context_.observer.say(line);
  if (step_ > 0) warm_up();
  narration_ = std::make_unique<Narration>(context_.observer, steps_, loader_.batches_per_epoch());
}

// The host would take longer to ask a GPU for the steps of a small model than the GPU to make them.
void Training::replay_steps() {
  if (context_.device.is_cpu()) return;
  const auto tell = [this](const std::string& line) { context_.observer.say(line); };
  std::string why = "the host waits for each, since losses are scaled or several processes train";
  MakeDeviceGraph graphs = backward_.waits() ? MakeDeviceGraph() : cuda_graphs(why);
  if (!graphs) return tell("steps are made one by one, not replayed: " + why);
  update_->replay_by(std::move(graphs), tell);
}

void Training::run() {
  const OwnStream stream(context_.device);
  begin();
  replay_steps();
  train();
  if (gang_) say_waits();
}

void Training::train() {
  // Whose checkpoint stands where it is to park has validated there already: in a process that was lost before it could
  // say so.
  if (step_ > 0 && step_ < steps_ && validation_due() && parks(best_.found() && best_.step() == step_)) return;
  last_checkpoint_ = SteadyClock::now();
  while (step_ < steps_) {
    const Wish own = context_.observer.wish(), wish = gang_ ? agreed_ : own;
    if (wish == Wish::kCancel) {
      context_.outcome = Outcome::kCancelled;
      return;
    }
    if (wish == Wish::kCheckpointAndStop) {
      save();
      context_.outcome = Outcome::kStopped;
      return;
    }
    step();
    if (snapshots_.due(step_)) {
      const ReportedWeights reported(hooks_, *task_);
      snapshots_.keep(*task_, state_now());
    }
    const bool last = step_ == steps_;
    if (last || step_ % settings_.log_every == 0) close_window();
    const bool validates = last || validation_due();
    const bool best = validates && validate(last);
    narration_->reached(step_);
    if (!last && validates && parks(best)) return;
    if (!last && (best || (gang_ ? checkpoint_agreed_ : checkpoint_due()))) {
      save(best);
      last_checkpoint_ = SteadyClock::now();
    }
  }
  finish();
}

bool Training::checkpoint_due() const {
  return seconds_since(last_checkpoint_) >= context_.execution.checkpoint_seconds;
}

// Where sizes of batches are drawn, the schedule goes by an expected number of steps; those beyond it keep its last rate.
double Training::rate(std::int64_t step) const { return schedule_(std::min(step, planned_ - 1)); }

void Training::step() {
  const auto start = SteadyClock::now();
  ForwardContext forward = context(true);
  const StepView view{forward, *task_, *optimizer_};
  const Batch batch = next_batch(view, forward);
  const StepRow row = update_->run(batch, forward, rate(step_));
  {
    const at::NoGradGuard no_gradient;
    task_->after_step(forward);
  }
  for (const auto& hook : hooks_) hook->after_step(view);
  fields_ = row.fields;
  note(gang_ ? shared(row.values) : row.values);
  ++step_;
  ++window_timed_;
  const double seconds = seconds_since(start);
  window_seconds_ += seconds;
  be_patient(seconds);
}

Batch Training::next_batch(const StepView& view, ForwardContext& forward) {
  Batch batch = loader_.next();
  for (const auto& hook : hooks_) hook->before_step(batch, view);
  forward.first_sample = loader_.first_sample();
  if (!takes_parts_) return batch;
  Batch part = parts_of(batch, gang_->world()).at(static_cast<std::size_t>(gang_->rank()));
  forward.first_sample = gang_->rank() * part.begin()->second.size(0);
  return part;
}

// Rows kept one by one would take memory step by step until the window closes.
void Training::note(const Tensor& row) {
  if (!window_.defined() || window_rows_ == window_.size(0)) {
    const std::int64_t rows = std::max(std::min(settings_.log_every, steps_), window_rows_ + 1);
    const Tensor former = window_rows_ > 0 ? noted() : Tensor();
    window_ = at::empty({rows, row.size(0)}, row.options());
    if (former.defined()) window_.narrow(0, 0, window_rows_).copy_(former);
  }
  window_[window_rows_++].copy_(row);
}

Tensor Training::noted() const { return window_.narrow(0, 0, window_rows_); }

void Training::close_window() {
  if (window_rows_ == 0) return;
  const auto start = SteadyClock::now();
  const Tensor rows = noted().to(at::kCPU, at::kDouble);
  window_seconds_ += seconds_since(start);
  const auto count = rows.size(0);
  const Tensor finite = rows.select(1, rows.size(1) - 1).isfinite();
  if (!finite.all().item<bool>()) {
    const std::int64_t first = finite.logical_not().nonzero()[0].item<std::int64_t>();
    const std::int64_t at = step_ - count + first + 1;
    throw DivergedError(at, "the training loss became " + std::to_string(rows[first][rows.size(1) - 1].item<double>()) +
                                " at step " + std::to_string(at) + " of " + std::to_string(steps_) +
                                "; lower train.lr or set train.grad_clip");
  }
  const Tensor mean = rows.mean(0);
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    point(fields_[i], "train", mean[static_cast<std::int64_t>(i)].item<double>());
  }
  point("lr", "train", rate(step_ - 1));
  context_.observer.progress(step_, steps_, "train");
  window_rows_ = 0;
  seconds_ += window_seconds_;
  window_milliseconds_.push_back(1000 * window_seconds_ / static_cast<double>(window_timed_));
  const double waited = loader_.waited_seconds();
  narration_->window(mean[0].item<double>(), rate(step_ - 1), window_milliseconds_.back(),
                     (waited - waited_at_window_) / std::max(window_seconds_, 1e-9));
  waited_at_window_ = waited;
  window_seconds_ = 0;
  window_timed_ = 0;
}

void Training::save(bool best) {
  if (saved_ == step_) return;  // it has been handed over, the file is no longer ours
  saved_ = step_;
  if (gang_) check_alike();
  if (!leads()) return;
  TensorFile file;
  save_model(*task_, /*exported=*/false, file.tensors);
  optimizer_->save(file.tensors);
  backward_.save(file.tensors);
  for (const auto& hook : hooks_) hook->save(file.tensors);
  if (window_rows_ > 0) file.tensors["window.fields"] = noted().clone();
  if (!window_milliseconds_.empty()) file.tensors["time.milliseconds"] = at::tensor(window_milliseconds_, at::kDouble);
  file.tensors["time.data_wait"] = at::scalar_tensor(waited_before_ + loader_.waited_seconds(), at::kDouble);
  file.metadata = checkpoint_metadata(state_now(), /*exported=*/false);
  best_.save(step_, file);
  snapshots_.save(file);
  const auto path = context_.execution.work / ("checkpoint-" + std::to_string(step_) + ".safetensors");
  write_safetensors(path, file, context_.execution.durable_files);
  context_.observer.checkpoint(step_, path, best);
}

bool Training::to_park() {
  const std::int64_t until = context_.observer.until_step();
  const bool there = until < 0 || (until > 0 && step_ >= until);
  return told(there && context_.observer.wish() != Wish::kCancel) != 0;
}

// Whether it has: where the stop point was raised while the checkpoint was written, training goes on.
bool Training::parks(bool best) {
  if (!to_park()) return false;
  save(best);
  if (!to_park()) return false;
  context_.outcome = Outcome::kParked;
  context_.parked_step = step_;
  context_.observer.say("parked at step " + std::to_string(step_) + " of " + std::to_string(steps_));
  return true;
}

void Training::finish() {
  if (gang_) check_alike();
  const ReportedWeights reported(hooks_, *task_);
  TensorFile file;
  save_model(*task_, /*exported=*/true, file.tensors);
  file.metadata = checkpoint_metadata(state_now(), /*exported=*/true);
  write_model("checkpoint", file, step_);
  if (best_.wanted()) {
    if (!best_.found()) {
      throw DivergedError(step_, best_.metric() + " on validation was never a finite number, so there is no " +
                                     "best model to keep; lower train.lr or choose another metric");
    }
    write_model("best-checkpoint", best_.exported(), best_.step());
  }
  std::int64_t number = 0;
  for (const ModelCopy& copy : snapshots_.kept())
    write_model("snapshot-" + std::to_string(++number), copy.exported(), copy.step);
  std::int64_t parameters = 0, learning = 0;
  for (const auto& item : task_->named_parameters()) {
    if (!task_->training_only(item.key())) parameters += item.value().numel();
    if (item.value().requires_grad()) learning += item.value().numel();
  }
  result("parameters", "train", "last", static_cast<double>(parameters));
  result("trained_parameters", "train", "last", static_cast<double>(learning));
  result("ms_per_step", "train", "median", median(window_milliseconds_));
  result("images_per_second", "train", "mean", static_cast<double>(loader_.images_before()) / std::max(seconds_, 1e-9));
  result("train_seconds", "train", "sum", seconds_);
  result("data_wait", "train", "sum", waited_before_ + loader_.waited_seconds());
  char line[96];
  std::snprintf(line, sizeof line, "trained %lld steps in %.1f s, %.1f ms/step (median)", static_cast<long long>(step_),
                seconds_, median(window_milliseconds_));
  context_.observer.say(line);
  context_.environment["path"] = task_->path();
}

void Training::write_model(const std::string& slot, const TensorFile& file, std::int64_t step) {
  if (!leads()) return;
  const auto path = context_.execution.work / ("model-" + slot + ".safetensors");
  write_safetensors(path, file, context_.execution.durable_files);
  context_.outputs.push_back({slot, path, step});
}

TrainingState Training::state_now() const {
  return {configuration_identity(context_.configuration),
          random_.seed(),
          step_,
          steps_,
          optimizer_->steps(),
          loader_.position(),
          seconds_ + window_seconds_,
          base_};
}

ForwardContext Training::context(bool training) const { return {step_, steps_, training, random_}; }

Place Training::place() {
  return {step_, static_cast<double>(step_) / static_cast<double>(loader_.batches_per_epoch()),
          loader_.images_before()};
}

void Training::point(const std::string& metric, const std::string& split, double value, Json labels) {
  context_.observer.point({metric, split, std::move(labels)}, place(), value);
}

void Training::result(const std::string& metric, const std::string& split, const std::string& reducer, double value,
                      Json labels) {
  context_.results.push_back({{metric, split, std::move(labels)}, reducer, value, step_});
}

}  // namespace locus::engine
