// Trainings that park at a stop point: where they do, and that whoever goes on from there ends as if nothing had
// happened.
#include <gmock/gmock.h>

#include "tests/engine/support/names.h"
#include "tests/engine/train/recording.h"

namespace locus::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kWholeSteps = 24;  // of small_configuration(), which validates after every second one

std::vector<RecordedPoint> up_to(std::vector<RecordedPoint> points, std::int64_t step) {
  std::erase_if(points, [&](const RecordedPoint& point) { return point.step > step; });
  return points;
}

// The steps behind which it validated.
std::vector<std::int64_t> validations_of(const RecordingObserver& observer) {
  std::vector<std::int64_t> steps;
  for (const RecordedPoint& point : observer.points) {
    if (point.series.find("/validation ") != std::string::npos && (steps.empty() || steps.back() != point.step))
      steps.push_back(point.step);
  }
  return steps;
}

class Parking : public ::testing::Test {
 protected:
  void SetUp() override { LOCUS_NEEDS_FASHION_MNIST(); }

  StageReport run(RecordingObserver& observer, const Json& configuration, const std::filesystem::path& resume = {}) {
    StageRequest request = request_for(configuration, folder_.path() / std::to_string(++runs_));
    request.resume = resume;
    StageReport report = run_stage(request, observer);
    EXPECT_EQ(report.reason, "");
    return report;
  }
  StageReport run_until(RecordingObserver& observer, std::int64_t until, const std::filesystem::path& resume = {}) {
    observer.until = until;
    return run(observer, small_configuration(), resume);
  }
  // Parks at three validations in turn, every time in a new training, and then goes to the end: compares what that
  // leaves with what a training leaves that was never parked.
  void expect_no_trace(const Json& configuration) {
    RecordingObserver whole;
    const StageReport expected = run(whole, configuration);
    ASSERT_EQ(expected.outcome, "succeeded");
    const std::vector<std::int64_t> validated = validations_of(whole);
    ASSERT_GE(validated.size(), 4u);
    const std::vector<std::int64_t> stops{validated[0], validated[2], validated[validated.size() - 2]};
    ASSERT_GT(stops[2], stops[1]);
    std::vector<RecordedPoint> points;
    std::filesystem::path resume;
    for (const std::int64_t stop : stops) {
      RecordingObserver part;
      part.until = stop;
      const StageReport report = run(part, configuration, resume);
      ASSERT_EQ(report.outcome, "parked") << "at " << stop;
      ASSERT_EQ(report.parked_step, stop);
      EXPECT_TRUE(report.results.empty());
      EXPECT_TRUE(report.outputs.empty());
      points.insert(points.end(), part.points.begin(), part.points.end());
      EXPECT_EQ(points, up_to(whole.points, stop)) << "at " << stop;
      resume = part.checkpoints.at(stop);
    }
    RecordingObserver last;
    const StageReport found = run(last, configuration, resume);
    EXPECT_EQ(last.resumed_step_, stops.back());
    points.insert(points.end(), last.points.begin(), last.points.end());
    EXPECT_EQ(points, whole.points);
    expect_same_end(expected, found);
  }
  static void expect_same_end(const StageReport& expected, const StageReport& found) {
    ASSERT_EQ(found.outcome, "succeeded");
    ASSERT_EQ(found.outputs.size(), expected.outputs.size());
    for (std::size_t i = 0; i < found.outputs.size(); ++i) {
      EXPECT_EQ(found.outputs[i].slot, expected.outputs[i].slot);
      EXPECT_EQ(found.outputs[i].step, expected.outputs[i].step);
      EXPECT_THAT(differences(expected.outputs[i].path, found.outputs[i].path), IsEmpty()) << found.outputs[i].slot;
    }
    ASSERT_EQ(found.results.size(), expected.results.size());
    int compared = 0;
    for (std::size_t i = 0; i < found.results.size(); ++i) {
      const StageResult &a = expected.results[i], &b = found.results[i];
      EXPECT_EQ(a.key.metric, b.key.metric);
      if (a.key.split != "validation") continue;  // the others are times and sizes
      EXPECT_EQ(a.value, b.value) << a.key.metric;
      ++compared;
    }
    EXPECT_GT(compared, 0);
  }

  TemporaryFolder folder_;
  int runs_ = 0;
};

TEST_F(Parking, IsAtTheFirstValidationAtOrPastTheStopPoint) {
  RecordingObserver whole;
  const StageReport expected = run_until(whole, 0);
  for (std::int64_t stop = 1; stop <= kWholeSteps + 2; ++stop) {
    RecordingObserver observer;
    const StageReport report = run_until(observer, stop);
    if (stop > kWholeSteps - 2) {
      expect_same_end(expected, report);  // the next validation is the last step's
      EXPECT_TRUE(observer.checkpoints.empty());
      continue;
    }
    const std::int64_t parked = stop + stop % 2;
    EXPECT_EQ(report.outcome, "parked") << stop;
    EXPECT_EQ(report.parked_step, parked) << stop;
    ASSERT_EQ(observer.checkpoints.size(), 1u);
    EXPECT_TRUE(observer.checkpoints.contains(parked));
    EXPECT_EQ(observer.points, up_to(whole.points, parked)) << "its validation included";
  }
}

TEST_F(Parking, IsAtTheNextValidationWhereNothingMoreIsWanted) {
  RecordingObserver observer;
  int asked = 0;
  observer.on_until = [&] { return ++asked > 4 ? -1 : 0; };  // once a validation
  EXPECT_EQ(run(observer, small_configuration()).outcome, "parked");
  EXPECT_EQ(observer.checkpoints.size(), 1u);
  EXPECT_TRUE(observer.checkpoints.contains(10));
}

TEST_F(Parking, GoesOnWhereTheStopPointIsRaisedWhileTheCheckpointIsWritten) {
  RecordingObserver whole, observer;
  const StageReport expected = run_until(whole, 0);
  observer.on_until = [&]() -> std::int64_t { return observer.checkpoints.contains(4) ? 9 : 4; };
  const StageReport report = run(observer, small_configuration());
  EXPECT_EQ(report.outcome, "parked");
  EXPECT_EQ(report.parked_step, 10);
  EXPECT_EQ(observer.points, up_to(whole.points, 10));
  RecordingObserver late;
  expect_same_end(expected, run_until(late, 0, observer.checkpoints.at(10)));
}

TEST_F(Parking, OfATrainingResumedThereIsAtOnce) {
  Json configuration = small_configuration();
  configuration["stage"] = {{"options", {{"keep_best", "top1"}}}};
  for (const std::int64_t until : {2, -1}) {
    RecordingObserver first, again, last, whole;
    first.until = 2;
    run(first, configuration);
    EXPECT_THAT(first.best, ElementsAre(2)) << "the first validation is the best so far";
    again.until = until;
    const StageReport report = run(again, configuration, first.checkpoints.at(2));
    EXPECT_EQ(report.outcome, "parked");
    EXPECT_EQ(report.parked_step, 2);
    EXPECT_TRUE(again.points.empty());
    EXPECT_THAT(again.best, ElementsAre(2));
    ASSERT_TRUE(again.checkpoints.contains(2)) << "of its own: whoever counts on it need not know of the first";
    EXPECT_THAT(differences(first.checkpoints.at(2), again.checkpoints.at(2)), IsEmpty());
    expect_same_end(run(whole, configuration), run(last, configuration, again.checkpoints.at(2)));
  }
}

TEST_F(Parking, OfATrainingResumedBetweenValidationsIsAtTheNext) {
  RecordingObserver early, late;
  int asked = 0;
  early.on_wish = [&] { return ++asked > 7 ? Wish::kCheckpointAndStop : Wish::kContinue; };
  ASSERT_EQ(run_until(early, 0).outcome, "stopped");
  const StageReport report = run_until(late, 5, early.checkpoints.at(7));  // lowered below what is done
  EXPECT_EQ(report.outcome, "parked");
  EXPECT_EQ(report.parked_step, 8);
}

TEST_F(Parking, IsOfNoneThatNeverValidates) {
  Json configuration = small_configuration();
  configuration["recipe"]["options"]["validate_every"] = 0;
  RecordingObserver observer;
  observer.until = 1;
  EXPECT_EQ(run(observer, configuration).outcome, "succeeded");
  EXPECT_TRUE(observer.checkpoints.empty());
}

TEST_F(Parking, IsOfTrainingsAlone) {
  RecordingObserver trained;
  const StageReport model = run_until(trained, 0);
  Json configuration = small_configuration();
  configuration["kind"] = "evaluate";
  configuration["inputs"] = {{"checkpoint", configuration_identity(small_configuration())}};
  StageRequest request = request_for(configuration, folder_.path() / "evaluate");
  request.inputs["checkpoint"] = model.outputs.at(0).path;
  RecordingObserver observer;
  observer.until = -1;
  const StageReport report = run_stage(request, observer);
  EXPECT_EQ(report.outcome, "succeeded") << report.reason;
  EXPECT_FALSE(report.results.empty());
}

TEST_F(Parking, HeedsACancelBeforeTheCheckpoint) {
  RecordingObserver observer;
  observer.until = 2;
  int asked = 0;
  observer.on_wish = [&] { return ++asked > 2 ? Wish::kCancel : Wish::kContinue; };  // behind step 2
  EXPECT_EQ(run(observer, small_configuration()).outcome, "cancelled");
  EXPECT_TRUE(observer.checkpoints.empty());
}

// An average that is reported, float16 with its scaler, mixing, batches in parts, the best model and snapshots at once.
TEST_F(Parking, LeavesNoTraceOfAveragesScalesAndParts) {
  Json configuration = mixing_configuration();
  configuration["recipe"]["options"].update({{"snapshots", 2}, {"validate_every", 0.25}});
  configuration["stage"] = {{"options", {{"keep_best", "top1"}}}};
  expect_no_trace(configuration);
}

TEST_F(Parking, LeavesNoTraceOfTheBestModel) { expect_no_trace(diverging_configuration()); }

class ParkingOf : public Parking, public ::testing::WithParamInterface<std::string> {};

TEST_P(ParkingOf, LeavesNoTrace) {
  Json configuration = small_configuration();
  configuration["recipe"] = {{"id", GetParam()},
                             {"options",
                              {{"epochs", 3},
                               {"batch", 8},
                               {"limit", 64},
                               {"log_every", 5},
                               {"validate_every", 0.5},
                               {"validation_images", 100}}}};
  expect_no_trace(configuration);
}

INSTANTIATE_TEST_SUITE_P(Recipes, ParkingOf, ::testing::ValuesIn(every_recipe()),
                         [](const auto& one) { return test::fit_for_a_name(one.param); });

}  // namespace
}  // namespace locus::engine
