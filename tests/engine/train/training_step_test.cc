// Steps that are recorded and played are those that are made one by one, or it is said why they are not.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/fused/switch.h"
#include "engine/train/layerwise.h"
#include "tests/engine/train/small_training.h"
#include "tests/engine/train/tape.h"

namespace locus::engine {
namespace {

using test::kLate;
using test::SmallTraining;
using test::Subject;
using test::subject_of;

// No pass of ours stands in for ATen's operations, as on GPUs.
class Twins final : public test::Twins {
 public:
  explicit Twins(const Subject& subject) : test::Twins(with_aten_alone(subject)) {
    std::vector<Tensor> state = played.changed();
    played.replay([this, state] {
      ++recordings;
      return std::make_unique<test::Tape>(state);
    });
  }
  int recordings = 0;

 private:
  static Subject with_aten_alone(const Subject& subject) {
    fused::set_enabled(false);
    at::set_num_threads(1);  // networks this small are slower by more
    return subject;
  }
};

class OfEverySetting : public testing::TestWithParam<test::PriorSetting> {};

std::string name_of_setting(const testing::TestParamInfo<test::PriorSetting>& info) { return info.param.name(); }

TEST_P(OfEverySetting, PlayedStepsAreThoseMadeOneByOne) {
  Twins twins(subject_of(GetParam()));
  twins.make(kLate, 6);
  EXPECT_TRUE(twins.replays()) << testing::PrintToString(twins.played.said);
  EXPECT_EQ(twins.recordings, 1);
}
INSTANTIATE_TEST_SUITE_P(Catalog, OfEverySetting, testing::ValuesIn(test::all_settings()), name_of_setting);

TEST(ReplayedSteps, OfEveryHostAreThoseMadeOneByOne) {
  for (const BackboneItem& host : backbone_items()) {
    Subject subject = subject_of({"none"});
    const Json& item = host.item.json();
    Json options = {{"size", "mini"}};
    for (const Json& option : item.at("options")) {
      if (option.at("name") == "drop_path") options["drop_path"] = 0.3;
      if (option.at("name") == "patch" && !item.at("presets").at("mini").contains("patch")) options["patch"] = 7;
    }
    subject.configuration["model"] = {{"id", host.id()}, {"options", options}};
    subject.facts["extent"] = {28, 28};
    const auto built = make_backbone(subject.configuration, {test::kTestChannels, {28, 28}}, RandomStreams(0));
    if (built->stages()[0].condition) continue;  // of no task that there is
    SCOPED_TRACE(host.id());
    Twins twins(subject);
    twins.make(kLate, 7);
    EXPECT_TRUE(twins.replays()) << testing::PrintToString(twins.played.said);
  }
}

TEST(ReplayedSteps, OfEveryOptimizerAreThoseMadeOneByOne) {
  using Groups = std::vector<ParameterGroup>;
  const std::vector<std::function<std::unique_ptr<Optimizer>(Groups)>> all = {
      [](Groups groups) { return std::make_unique<Sgd>(std::move(groups), Sgd::Settings{}); },
      [](Groups groups) { return std::make_unique<Sgd>(std::move(groups), Sgd::Settings{.momentum = 0}); },
      [](Groups groups) { return std::make_unique<Lamb>(std::move(groups), Lamb::Settings{}); },
      [](Groups groups) { return std::make_unique<Lars>(std::move(groups), Lars::Settings{}); }};
  for (const auto& optimizer : all) {
    Subject subject = subject_of({"violin"});
    subject.optimizer = optimizer;
    subject.clip = 0.1;
    Twins twins(subject);
    twins.make(kLate, 8);
    EXPECT_TRUE(twins.replays()) << testing::PrintToString(twins.played.said);
  }
}

// As guidance's weight does.
TEST(ReplayedSteps, BeginWhenNothingDependsOnTheirNumberAnyMore) {
  Twins twins(subject_of({"guidance", {{"warmup_steps", 10}}}));
  twins.make(0, 15);
  EXPECT_EQ(twins.recordings, 0) << "a ramp had not ended when it was tried";
  twins.make(15, 6);
  EXPECT_TRUE(twins.replays());
}

TEST(ReplayedSteps, OfAnotherShapeAreMadeOneByOneUntilThereAreEnough) {
  Twins twins(subject_of({"violin"}));
  twins.make(kLate, 6);
  twins.make(kLate + 6, 1, test::kSamples - 2);
  EXPECT_EQ(twins.recordings, 1);
  twins.make(kLate + 7, 2);
  twins.make(kLate + 9, 4, test::kSamples - 2);
  EXPECT_EQ(twins.recordings, 2);
  twins.make(kLate + 13, 2);
}

TEST(ReplayedSteps, AreRecordedAnewWhenAGroupIsTreatedInAnotherWay) {
  Twins twins(subject_of({"none"}));
  twins.make(kLate, 6);
  for (SmallTraining* run : {&twins.plain, &twins.played}) run->optimizer().groups().front().weight_decay = 0.5;
  twins.make(kLate + 6, 6);
  EXPECT_EQ(twins.recordings, 2);
}

// Masks made of parameters are kept while these stand still.
TEST(ReplayedSteps, AreSeenByWhoeverKeepsWhatWeightsGave) {
  Twins twins(subject_of({"violin"}));
  twins.make(kLate, 5);
  for (std::int64_t step = kLate + 5; step < kLate + 8; ++step) {
    const Tensor before = twins.played.predict();
    twins.make(step, 1);
    const Tensor after = twins.played.predict();
    EXPECT_FALSE(at::equal(after, before));
    EXPECT_TRUE(at::equal(after, twins.plain.predict()));
  }
  EXPECT_TRUE(twins.replays());
}

// A task that does to a classification's losses what a test says.
class Changed final : public Task {
 public:
  using Change = std::function<void(StepLosses& losses)>;
  Changed(std::shared_ptr<Task> task, Change change) : task_(std::move(task)), change_(std::move(change)) {
    register_module("task", task_);
  }
  Batch example_batch(std::int64_t size, const Extent& extent, const RandomStreams& random) const override {
    return task_->example_batch(size, extent, random);
  }
  Tensor predict(const Batch& batch, const ForwardContext& context) override { return task_->predict(batch, context); }
  std::int64_t flops(std::int64_t height, std::int64_t width) const override { return task_->flops(height, width); }
  StepLosses train_step(const Batch& batch, const ForwardContext& context) override {
    StepLosses losses = task_->train_step(batch, context);
    change_(losses);
    return losses;
  }
  std::unique_ptr<Accumulator> accumulator() const override { return task_->accumulator(); }
  void evaluate(const Batch& batch, const ForwardContext& context, Accumulator& accumulator) override {
    task_->evaluate(batch, context, accumulator);
  }
  Decay decay(std::string_view name, const Tensor& parameter) const override {
    return task_->decay(name.substr(name.find('.') + 1), parameter);
  }
  bool training_only(std::string_view) const override { return false; }
  std::string path() const override { return task_->path(); }

 private:
  std::shared_ptr<Task> task_;
  Change change_;
};

Subject changed_by(const std::function<Changed::Change()>& change) {
  Subject out = subject_of({"none"});
  out.wrapped = [change](auto task) { return std::make_shared<Changed>(task, change()); };
  return out;
}

void expect_refusal(Twins& twins, const std::string& why) {
  ASSERT_EQ(twins.played.said.size(), 1U);
  EXPECT_EQ(twins.played.said[0].rfind("steps are made one by one, not replayed: ", 0), 0U) << twins.played.said[0];
  EXPECT_NE(twins.played.said[0].find(why), std::string::npos) << twins.played.said[0];
}

TEST(ReplayedSteps, AreNoneWhereAStepWaitsForTheDevice) {
  Twins twins(changed_by([] {
    return [](StepLosses& losses) { losses.loss = losses.loss * (losses.loss.item<double>() > 1e9 ? 2 : 1); };
  }));
  twins.make(kLate, 8);
  expect_refusal(twins, "waits for the device");
  EXPECT_EQ(twins.recordings, 1) << "it is tried once";
}

TEST(ReplayedSteps, AreNoneWhereAStepKeepsANumberOfItsOwn) {
  Twins twins(changed_by(
      [] { return [calls = 0](StepLosses& losses) mutable { losses.loss = losses.loss * (1 << ++calls); }; }));
  twins.make(kLate, 4);  // in the fifth call the recorded step is twice the one that was made
  expect_refusal(twins, "a replayed step differs");
}

TEST(ReplayedSteps, AreNoneWhereADrawCannotBeMadeAnew) {
  Twins twins(subject_of({"rope-axial", {{"flavor", "dinov3"}, {"shift", 0.5}}}));
  twins.make(kLate, 8);
  expect_refusal(twins, "a draw is not one of numbers from 0 to 1");
}

TEST(ReplayedSteps, WaitForALossThatIsANumber) {
  Twins twins(changed_by([] {
    return [calls = 0](StepLosses& losses) mutable {
      if (++calls == 4) losses.fields.at(0).second = losses.fields.at(0).second * NAN;
    };
  }));
  for (std::int64_t step = 0; step < 8; ++step) {
    twins.plain.make(kLate + step);
    twins.played.make(kLate + step);
  }
  EXPECT_TRUE(twins.replays()) << "after twice as many steps";
}

}  // namespace
}  // namespace locus::engine
