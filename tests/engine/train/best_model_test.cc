// The model that validates best: which one it is, that it is kept to the bit whatever interrupts the
// training, and that evaluation reads it.
#include <gmock/gmock.h>

#include "engine/tasks/task.h"
#include "engine/train/best_model.h"
#include "tests/engine/train/recording.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr const char* kCurve = "top1/validation {}";

class Choice : public ::testing::Test {
 protected:
  bool offer(BestModel& best, const std::string& metric, double value, std::int64_t step) {
    return best.offer({{"other", 1e6}, {metric, value}}, *task_, {.identity = "a", .step = step, .steps = 9});
  }
  const Json& item_ = task_item("classification").item.json();
  const RandomStreams random_{7};
  const Json facts_ = dataset_item("fashion-mnist").item.json().at("facts");
  const Json configuration_ = small_configuration();
  std::shared_ptr<Task> task_ = make_task({configuration_, facts_, random_});
};

TEST_F(Choice, IsTheFirstOfTheLargestWhereLargerIsBetter) {
  BestModel best("top1", item_);
  EXPECT_FALSE(best.found());
  EXPECT_FALSE(offer(best, "top1", kNaN, 1));
  EXPECT_TRUE(offer(best, "top1", 3, 2));
  EXPECT_FALSE(offer(best, "top1", 3, 3)) << "a tie: the first stays";
  EXPECT_FALSE(offer(best, "top1", kInfinity, 4));
  EXPECT_TRUE(offer(best, "top1", 4, 5));
  EXPECT_FALSE(offer(best, "top1", kNaN, 6));
  EXPECT_FALSE(offer(best, "loss", 9, 7)) << "another metric";
  EXPECT_EQ(best.step(), 5);
}

TEST_F(Choice, IsTheSmallestWhereSmallerIsBetter) {
  BestModel best("loss", item_);
  EXPECT_TRUE(offer(best, "loss", 3, 1));
  EXPECT_FALSE(offer(best, "loss", 4, 2));
  EXPECT_FALSE(offer(best, "loss", -kInfinity, 3));
  EXPECT_TRUE(offer(best, "loss", 2, 4));
  EXPECT_EQ(best.step(), 4);
}

TEST_F(Choice, IsOnlyMadeByAMetricOfTheTask) {
  EXPECT_THROW(BestModel("map", item_), std::invalid_argument);
  BestModel none("", item_);
  EXPECT_FALSE(none.wanted());
  EXPECT_FALSE(offer(none, "", 1, 1));
}

class BestOfTraining : public ::testing::Test {
 protected:
  void SetUp() override {
    LOCUS_NEEDS_FASHION_MNIST();
    whole_report_ = train(whole_, "whole");
    ASSERT_EQ(whole_report_.outputs.size(), 2u);
    for (const RecordedPoint& point : whole_.points) {
      if (point.series == kCurve && (best_step_ == 0 || point.value > best_value_))
        best_step_ = point.step, best_value_ = point.value;
    }
    ASSERT_GT(best_step_, 0);
    ASSERT_LT(best_step_, 20) << "the best is to be found well before the last step";
  }

  // A checkpoint after every step.
  StageReport train(RecordingObserver& observer, const std::string& folder, const std::filesystem::path& resume = {}) {
    StageRequest request = request_for(configuration_, folder_.path() / folder, /*every_step=*/true);
    request.resume = resume;
    StageReport report = run_stage(request, observer);
    EXPECT_EQ(report.reason, "");
    return report;
  }
  StageReport evaluate(Json options, const std::string& slot) {
    Json configuration = configuration_;
    configuration["kind"] = "evaluate";
    configuration["stage"] = {{"options", std::move(options)}};
    configuration["inputs"] = {{slot, configuration_identity(configuration_)}};
    StageRequest request = request_for(configuration, folder_.path() / "evaluate");
    request.inputs[slot] = whole_report_.outputs.at(slot == "checkpoint" ? 0 : 1).path;
    RecordingObserver observer;
    return run_stage(request, observer);
  }

  TemporaryFolder folder_;
  Json configuration_ = diverging_configuration();
  RecordingObserver whole_;
  StageReport whole_report_;
  std::int64_t best_step_ = 0;
  double best_value_ = 0;
};

TEST_F(BestOfTraining, IsTheModelOfTheStepThatValidatedBest) {
  EXPECT_EQ(whole_report_.outputs[0].slot, "checkpoint");
  EXPECT_EQ(whole_report_.outputs[0].step, 24);
  EXPECT_EQ(whole_report_.outputs[1].slot, "best-checkpoint");
  EXPECT_EQ(whole_report_.outputs[1].step, best_step_);
  EXPECT_EQ(whole_.best.back(), best_step_) << "the checkpoint is marked";
  auto there = read_safetensors(whole_.checkpoints.at(best_step_)).tensors;
  for (const auto& [name, tensor] : read_safetensors(whole_report_.outputs[1].path).tensors)
    EXPECT_TRUE(same_bits(tensor, there.at(name))) << name;
  EXPECT_FALSE(differences(whole_report_.outputs[0].path, whole_report_.outputs[1].path).empty());
}

TEST_F(BestOfTraining, IsWhatEvaluationReadsWhereTheContractSaysSo) {
  const StageReport validation = evaluate({{"split", "validation"}, {"checkpoint", "best"}}, "best-checkpoint");
  ASSERT_EQ(validation.results.size(), 2u) << validation.reason;
  EXPECT_EQ(validation.results[0].key.metric, "top1");
  EXPECT_EQ(validation.results[0].value, best_value_) << "the very number that chose it";
  const StageReport best = evaluate({{"checkpoint", "best"}}, "best-checkpoint");
  const StageReport last = evaluate(Json::object(), "checkpoint");
  ASSERT_EQ(best.results.size(), 2u) << best.reason;
  ASSERT_EQ(last.results.size(), 2u) << last.reason;
  EXPECT_EQ(best.results[0].reducer, "best");
  EXPECT_EQ(best.results[0].step, best_step_);
  EXPECT_EQ(last.results[0].reducer, "last");
  EXPECT_EQ(last.results[0].step, 24);
  // Which of the two scores higher on images that chose neither is chance, and differs between processors.
  EXPECT_EQ(best.results[1].key.metric, "loss");
  EXPECT_NE(best.results[1].value, last.results[1].value) << "two models";
  EXPECT_THAT(evaluate({{"checkpoint", "best"}}, "checkpoint").reason, HasSubstr("needs the input 'best-checkpoint'"));
}

TEST_F(BestOfTraining, SurvivesAnyInterruption) {
  for (const std::int64_t step : {best_step_ - 1, best_step_, best_step_ + 1, std::int64_t{23}}) {
    RecordingObserver late;
    const StageReport report = train(late, "late-" + std::to_string(step), whole_.checkpoints.at(step));
    ASSERT_EQ(report.outputs.size(), 2u) << step;
    EXPECT_EQ(report.outputs[1].step, best_step_) << "resumed at " << step;
    EXPECT_THAT(differences(whole_report_.outputs[1].path, report.outputs[1].path), IsEmpty()) << "resumed at " << step;
    EXPECT_THAT(differences(whole_report_.outputs[0].path, report.outputs[0].path), IsEmpty()) << "resumed at " << step;
  }
}

TEST_F(BestOfTraining, IsForgottenOnlyByACheckpointWithoutIt) {
  TensorFile file = read_safetensors(whole_.checkpoints.at(23));
  EXPECT_EQ(file.metadata.erase("best"), 1u);
  const auto path = folder_.path() / "changed.safetensors";
  write_safetensors(path, file);
  RecordingObserver late;
  EXPECT_EQ(train(late, "late", path).outputs.at(1).step, 24) << "the comparison sees what is lost";
  file = read_safetensors(whole_.checkpoints.at(23));
  file.tensors.erase("best.model.head.bias");
  write_safetensors(path, file);
  StageRequest request = request_for(configuration_, folder_.path() / "refused");
  request.resume = path;
  const StageReport report = run_stage(request, late);
  EXPECT_EQ(report.failure_class, "data");
  EXPECT_THAT(report.reason, HasSubstr("best.model.head.bias"));
}

TEST_F(BestOfTraining, ChangesNothingAboutTheTraining) {
  configuration_.erase("stage");
  RecordingObserver plain;
  const StageReport report = train(plain, "plain");
  ASSERT_EQ(report.outputs.size(), 1u);
  EXPECT_TRUE(plain.best.empty());
  EXPECT_THAT(differences(whole_report_.outputs[0].path, report.outputs[0].path), IsEmpty());
  EXPECT_EQ(plain.points, whole_.points);
}

}  // namespace
}  // namespace locus::engine
