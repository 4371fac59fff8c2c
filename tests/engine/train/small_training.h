// Two trainings of a small network, of which one replays its steps.
#pragma once

#include <gtest/gtest.h>

#include "engine/train/recipe.h"
#include "engine/train/training_step.h"
#include "tests/engine/support/models.h"

namespace locus::engine::test {

inline constexpr std::int64_t kLate = 1'000'000;  // no ramp lasts so long
inline constexpr std::int64_t kSamples = 6;

struct Subject {
  Json configuration;
  Json facts = {{"channels", kTestChannels}, {"extent", {8, 8}}, {"classes", 3}};
  std::function<std::unique_ptr<Optimizer>(std::vector<ParameterGroup>)> optimizer = [](auto groups) {
    return std::make_unique<AdamW>(std::move(groups), AdamW::Settings{});
  };
  std::function<std::shared_ptr<Task>(std::shared_ptr<Task>)> wrapped = [](auto task) { return task; };
  double clip = 0;  // 0: no limit
  // float64 sums in one order on the CPU
  at::Device device = at::kCPU;
  at::ScalarType type = at::kDouble;
  std::string path = "explicit";
};

inline Subject subject_of(const PriorSetting& prior) {
  const ModelShape shape = fitting(prior, {.extent = {8, 8}, .pool = "cls", .dim = 16, .heads = 2});
  Subject out{stage_configuration({prior}, shape)};
  out.configuration["task"] = {{"id", "classification"}};
  out.configuration["model"]["options"]["drop_path"] = 0.3;
  return out;
}

class SmallTraining {
 public:
  explicit SmallTraining(const Subject& subject)
      : options_(at::TensorOptions(subject.device).dtype(subject.type)),
        extent_(subject.facts.at("extent").get<Extent>()),
        task_(subject.wrapped(make_task({subject.configuration, subject.facts, random_, subject.path}))),
        backward_(Precision::kFloat32, 1, subject.device) {
    task_->to(subject.device);
    task_->to(subject.type);
    task_->train();
    optimizer_ = subject.optimizer(decay_groups(*task_, 0.05));
    optimizer_->keep_numbers_on_device();
    if (subject.clip > 0) hooks_.push_back(std::make_unique<ClipGradients>(*task_, ClipRule::kJoint, subject.clip));
    step_ = std::make_unique<TrainingStep>(*task_, backward_, *optimizer_, hooks_);
  }

  void replay(MakeDeviceGraph graphs) {
    step_->replay_by(std::move(graphs), [this](const std::string& line) { said.push_back(line); });
  }

  StepRow make(std::int64_t step, std::int64_t samples = kSamples) {
    Batch batch = task_->example_batch(samples, extent_, RandomStreams(static_cast<std::uint64_t>(step)));
    for (auto& [name, tensor] : batch)
      tensor = tensor.is_floating_point() ? tensor.to(options_) : tensor.to(options_.device());
    return step_->run(batch, {step, 2 * kLate, true, random_}, 1e-3 / static_cast<double>(1 + step % 7));
  }

  // What the network says of some images now.
  Tensor predict() {
    const at::NoGradGuard no_gradient;
    Batch batch = task_->example_batch(2, extent_, random_);
    for (auto& [name, tensor] : batch)
      tensor = tensor.is_floating_point() ? tensor.to(options_) : tensor.to(options_.device());
    task_->eval();
    const Tensor out = task_->predict(batch, {0, 1, false, random_});
    task_->train();
    return out;
  }

  // What steps change.
  std::vector<Tensor> changed() const {
    std::vector<Tensor> out = optimizer_->states();
    for (const auto& tensors : {task_->parameters(), task_->buffers()})
      out.insert(out.end(), tensors.begin(), tensors.end());
    return out;
  }
  Optimizer& optimizer() { return *optimizer_; }

  std::vector<std::string> said;

 private:
  RandomStreams random_{3};
  at::TensorOptions options_;
  Extent extent_;
  std::shared_ptr<Task> task_;
  BackwardPass backward_;
  std::unique_ptr<Optimizer> optimizer_;
  TrainingHooks hooks_;
  std::unique_ptr<TrainingStep> step_;
};

class Twins {
 public:
  explicit Twins(const Subject& subject) : plain(subject), played(subject) {}

  // Not a bit may differ, or not more than `off` of a number and of 1.
  void make(std::int64_t first, std::int64_t count, std::int64_t samples = kSamples, double off = 0) {
    const auto same = [&](const Tensor& one, const Tensor& other) {
      return off == 0 ? at::equal(one, other) : at::allclose(one, other, off, off);
    };
    for (std::int64_t step = first; step < first + count; ++step) {
      const StepRow expected = plain.make(step, samples), found = played.make(step, samples);
      ASSERT_EQ(found.fields, expected.fields);
      ASSERT_TRUE(same(found.values, expected.values)) << "step " << step - first;
    }
    const std::vector<Tensor> expected = plain.changed(), found = played.changed();
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_TRUE(same(found[i].detach(), expected[i].detach())) << "tensor " << i << " of " << found[i].sizes();
  }
  bool replays() const {
    return played.said.size() == 1 && played.said[0].find("are replayed as one graph") != std::string::npos;
  }

  SmallTraining plain, played;
};

}  // namespace locus::engine::test
