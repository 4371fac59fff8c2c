// Counts and peaks come first and apart, since watching them costs time; then the clock runs.
#include "engine/measure/measurement.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/data/dataset.h"
#include "engine/inputs/input.h"
#include "engine/measure/flops.h"
#include "engine/measure/peak_memory.h"
#include "engine/tasks/task.h"
#include "engine/train/recipe.h"

namespace locus::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr double kRate = 1e-6;  // of the optimizer: steps cost the same at any, and weights stay as drawn

// With the dataset's aspect ratio: `resolution` is the shorter side.
Json facts_at(Json facts, std::int64_t resolution) {
  facts["extent"] = extent_at(facts.at("extent").get<Extent>(), resolution);
  return facts;
}

std::int64_t parameters_of(const Task& task) {
  std::int64_t sum = 0;
  for (const auto& item : task.named_parameters()) {
    if (!task.training_only(item.key())) sum += item.value().numel();
  }
  return sum;
}

// A model with a batch of random images, ready to run. Not thread-safe.
class Subject {
 public:
  Subject(const MeasuredModel& model, const MeasurePoint& point, const Execution& execution, at::Device device,
          bool training)
      : random_(model.configuration.value("seed", std::uint64_t{0})),
        device_(device),
        extent_(extent_at(model.facts.at("extent").get<Extent>(), point.resolution)) {
    const Json facts = facts_at(model.facts, point.resolution);
    task_ = make_task({model.configuration, facts, random_, execution.path});
    task_->to(device);
    batch_ = example(point.batch);
    if (training) optimizer_ = std::make_unique<AdamW>(decay_groups(*task_, 0.05), AdamW::Settings{});
  }

  void forward() { predict(batch_); }
  void predict(const Batch& batch) {
    const at::NoGradGuard no_gradient;
    task_->eval();
    task_->predict(batch, {step_, step_ + 1, false, random_});
  }
  void train() {
    task_->train();
    task_->train_step(batch_, {step_, step_ + 1, true, random_}).loss.backward();
    optimizer_->step(kRate);
    ++step_;
  }
  void wait() const { wait_for(device_); }
  Batch one_image() const { return example(1); }
  const Task& task() const { return *task_; }
  std::int64_t flops() const { return task_->flops(extent_[0], extent_[1]); }

 private:
  Batch example(std::int64_t size) const {
    Batch batch = task_->example_batch(size, extent_, random_);
    for (auto& [name, tensor] : batch) tensor = tensor.to(device_);
    return batch;
  }

  RandomStreams random_;
  at::Device device_;
  Extent extent_;
  std::shared_ptr<Task> task_;
  std::unique_ptr<AdamW> optimizer_;
  Batch batch_;
  std::int64_t step_ = 0;
};

// Makes the subject and fills in everything that no clock is needed for.
std::unique_ptr<Subject> prepare(const MeasuredModel& model, const MeasurePoint& point, const MeasureSettings& settings,
                                 const Execution& execution, at::Device device, Measured& out) {
  out.point = point;
  std::unique_ptr<Subject> subject;
  {
    MemoryWatch memory(device);
    subject = std::make_unique<Subject>(model, point, execution, device, settings.training);
    memory.reset();  // building a model takes more than having it
    subject->forward();
    subject->wait();
    out.forward_peak_bytes = memory.peak();
    if (settings.training) subject->train();
    subject->wait();
    out.peak_bytes = memory.peak();
  }
  subject->predict(subject->one_image());  // whatever is kept between passes is there
  const FlopCounter operations;
  subject->predict(subject->one_image());
  out.flops_counted = operations.total();
  out.flops = subject->flops();
  out.parameters = parameters_of(subject->task());
  out.parameters_added = out.parameters - count_parameters(without_priors(model), point.resolution);
  return subject;
}

using Pass = void (Subject::*)();

double milliseconds(Subject& subject, Pass pass, std::int64_t repeats) {
  subject.wait();
  const auto start = SteadyClock::now();
  for (std::int64_t i = 0; i < repeats; ++i) (subject.*pass)();
  subject.wait();
  return 1000 * std::chrono::duration<double>(SteadyClock::now() - start).count() / static_cast<double>(repeats);
}

// How often a round repeats the pass: as often for every subject, so that the first pass after the turn of
// another, which finds cold caches, weighs alike in all figures. By the fastest pass, since one that was
// interrupted says nothing.
std::int64_t repeats_of(const std::vector<std::unique_ptr<Subject>>& subjects, Pass pass,
                        const MeasureSettings& settings) {
  std::int64_t most = 1;
  for (const auto& subject : subjects) {
    double fastest = milliseconds(*subject, pass, 1);
    for (std::int64_t i = 0; i < settings.warmup; ++i) fastest = std::min(fastest, milliseconds(*subject, pass, 1));
    most = std::max<std::int64_t>(most, std::llround(settings.round_ms / std::max(fastest, 1e-3)));
  }
  return most;
}

// The rounds of one kind of pass for all subjects in turn; who begins changes from round to round. Nothing
// when `go_on` said no.
std::optional<std::vector<std::vector<double>>> time_rounds(const std::vector<std::unique_ptr<Subject>>& subjects,
                                                            Pass pass, const MeasureSettings& settings,
                                                            const std::function<bool(std::int64_t)>& go_on) {
  const std::int64_t repeats = repeats_of(subjects, pass, settings);
  std::vector<std::vector<double>> out(subjects.size());
  for (std::int64_t round = 0; round < settings.rounds; ++round) {
    if (!go_on(round)) return std::nullopt;
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      const std::size_t who = (i + static_cast<std::size_t>(round)) % subjects.size();
      out[who].push_back(milliseconds(*subjects[who], pass, repeats));
    }
  }
  return out;
}

double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

void wait_for(at::Device device) {
  if (!device.is_cpu()) c10::impl::getDeviceGuardImpl(device.type())->synchronizeDevice(device.index());
}

MeasuredModel measured_model(const Json& configuration) { return {configuration, input_facts(configuration)}; }

MeasuredModel without_priors(MeasuredModel model) {
  model.configuration["priors"] = Json::array({{{"id", "none"}}});
  return model;
}

std::int64_t count_parameters(const MeasuredModel& model, std::int64_t resolution) {
  const RandomStreams random(0);
  const Json facts = facts_at(model.facts, resolution);
  return parameters_of(*make_task({model.configuration, facts, random}));
}

Timing timing_of(std::vector<double> milliseconds) {
  std::sort(milliseconds.begin(), milliseconds.end());
  const double median = quantile(milliseconds, 0.5);
  return {median, quantile(milliseconds, 0.95),
          100 * (quantile(milliseconds, 0.75) - quantile(milliseconds, 0.25)) / median};
}

std::optional<std::vector<Measured>> measure_models(
    const std::vector<MeasuredModel>& models, const MeasurePoint& wanted, const MeasureSettings& settings,
    const Execution& execution, at::Device device,
    const std::function<bool(std::int64_t done, std::int64_t rounds)>& go_on) {
  std::vector<Measured> out(models.size());
  std::vector<std::unique_ptr<Subject>> subjects;
  for (std::size_t i = 0; i < models.size(); ++i) {
    MeasurePoint point = wanted;
    if (point.resolution == 0) {
      const auto extent = models[i].facts.at("extent").get<Extent>();
      point.resolution = std::min(extent[0], extent[1]);
    }
    subjects.push_back(prepare(models[i], point, settings, execution, device, out[i]));
  }
  const std::int64_t rounds = settings.rounds * (settings.training ? 2 : 1);
  const auto forward =
      time_rounds(subjects, &Subject::forward, settings, [&](std::int64_t done) { return go_on(done, rounds); });
  if (!forward) return std::nullopt;
  for (std::size_t i = 0; i < out.size(); ++i) out[i].forward = timing_of((*forward)[i]);
  if (settings.training) {
    const auto train = time_rounds(subjects, &Subject::train, settings,
                                   [&](std::int64_t done) { return go_on(settings.rounds + done, rounds); });
    if (!train) return std::nullopt;
    for (std::size_t i = 0; i < out.size(); ++i) out[i].train = timing_of((*train)[i]);
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i].path = subjects[i]->task().path();
  return out;
}

namespace {

// A figure that a measurement reports: the result's name and reducer, and what the catalog says of it.
struct Figure {
  const char *metric, *reducer, *unit, *direction, *help;
  double (*of)(const Measured& measured);
  bool training = false;  // only where training steps are measured
};

const Figure kFigures[] = {
    {"parameters", "last", "", "min", "of the whole model",
     [](const Measured& m) { return static_cast<double>(m.parameters); }},
    {"parameters_added", "last", "", "min", "by the priors: against the same model without one",
     [](const Measured& m) { return static_cast<double>(m.parameters_added); }},
    {"flops", "last", "", "min", "of the host's structure, forward, an image; a multiply-add is two",
     [](const Measured& m) { return static_cast<double>(m.flops); }},
    {"flops_counted", "last", "", "min", "of the products that ran, the priors' included, forward, an image",
     [](const Measured& m) { return static_cast<double>(m.flops_counted); }},
    {"forward_peak_memory_bytes", "last", "B", "min", "most memory held during a forward pass",
     [](const Measured& m) { return static_cast<double>(m.forward_peak_bytes); }},
    {"peak_memory_bytes", "last", "B", "min", "most memory held, training steps included where measured",
     [](const Measured& m) { return static_cast<double>(m.peak_bytes); }},
    {"forward_ms_p50", "median", "ms", "min", "a forward pass of a batch, median over rounds",
     [](const Measured& m) { return m.forward.p50_ms; }},
    {"forward_ms_p95", "p95", "ms", "min", "a forward pass of a batch, 95th percentile over rounds",
     [](const Measured& m) { return m.forward.p95_ms; }},
    {"forward_spread_percent", "last", "%", "min", "spread of the rounds about their median",
     [](const Measured& m) { return m.forward.spread; }},
    {"images_per_second", "median", "1/s", "max", "forward, from the median",
     [](const Measured& m) { return 1000 * static_cast<double>(m.point.batch) / m.forward.p50_ms; }},
    {"train_ms_p50", "median", "ms", "min", "a training step of a batch, median over rounds",
     [](const Measured& m) { return m.train->p50_ms; }, true},
    {"train_ms_p95", "p95", "ms", "min", "a training step of a batch, 95th percentile over rounds",
     [](const Measured& m) { return m.train->p95_ms; }, true},
    {"train_spread_percent", "last", "%", "min", "spread of the rounds about their median",
     [](const Measured& m) { return m.train->spread; }, true},
};

}  // namespace

std::vector<StageResult> measured_results(const Measured& measured) {
  const Json labels = {{"batch", measured.point.batch}, {"resolution", measured.point.resolution}};
  std::vector<StageResult> out;
  for (const Figure& figure : kFigures) {
    if (figure.training && !measured.train) continue;
    out.push_back({{figure.metric, "", labels}, figure.reducer, figure.of(measured), 0});
  }
  return out;
}

Json measured_metrics() {
  Json out = Json::array();
  for (const Figure& figure : kFigures) {
    out.push_back(
        {{"name", figure.metric}, {"unit", figure.unit}, {"direction", figure.direction}, {"help", figure.help}});
  }
  return out;
}

}  // namespace locus::engine
