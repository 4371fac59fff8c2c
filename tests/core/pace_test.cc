// How long stages are expected to take: medians of the past, and nothing without one.
#include "core/experiment/pace.h"

#include <gmock/gmock.h>

#include "core/experiment/plan/planner.h"
#include "tests/core/testdata.h"

namespace locus {
namespace {

const Json kUsual = Json::object();

ExperimentPlan demo_plan(const Json& changes) {
  Json spec = demo_specification();
  spec.merge_patch(changes);
  auto plan = plan_experiment(spec, test_catalog());
  if (!plan.ok()) throw std::runtime_error(plan.status().ToString());
  return *std::move(plan);
}

PlannedStage stage(int number, const Json& changes = kUsual, int trial = 0) {
  return demo_plan(changes).trials.at(static_cast<std::size_t>(trial)).stages.at(static_cast<std::size_t>(number));
}
PlannedStage training(const Json& changes = kUsual, int trial = 0) { return stage(0, changes, trial); }

PastRun run(const PlannedStage& stage, double seconds, const std::string& device = "cpu", std::int64_t from = 0) {
  return {1, stage.config_json, R"({"device":")" + device + R"("})", static_cast<Microseconds>(seconds * 1e6), from};
}

// A book of runs, each under its own load, as the store would give them.
Paces book(const std::vector<std::pair<PlannedStage, PastRun>>& runs, std::vector<std::string> devices = {"cpu"}) {
  Paces out(test_catalog(), std::move(devices));
  for (const auto& [stage, past] : runs) out.add(load_of(stage.kind, past.config_json), {past});
  return out;
}
Paces book(const PlannedStage& stage, const std::vector<double>& seconds) {
  std::vector<std::pair<PlannedStage, PastRun>> runs;
  for (const double one : seconds) runs.emplace_back(stage, run(stage, one));
  return book(runs);
}

std::optional<ExpectedTime> expected(Paces book, const PlannedStage& stage) {
  return book.of(stage.kind, stage.config_json);
}

TEST(Load, IsTheSameForSeedsPriorsAndRatesAndAnotherForSizesDataAndBatch) {
  const auto load = [](const PlannedStage& one) { return load_of(one.kind, one.config_json); };
  const std::string usual = load(training());
  EXPECT_EQ(load(training(kUsual, 7)), usual) << "another prior and seed";
  EXPECT_EQ(load(training({{"train", {{"lr", 0.1}, {"epochs", 9}}}})), usual);
  EXPECT_NE(load(training({{"train", {{"batch", 64}}}})), usual);
  EXPECT_NE(load(training({{"model", {{"depth", 4}}}})), usual);
  const std::string scored = load(stage(1));
  EXPECT_NE(scored, usual);
  EXPECT_EQ(load(stage(1, {{"train", {{"batch", 64}}}})), scored) << "scoring has a batch of its own";
  const Json some = {{"stages", {{{"evaluate", {{"resolution", {28, 42, 56}}, {"images", 100}}}}}}},
             other = {{"stages", {{{"evaluate", {{"resolution", {28}}}}}}}};
  EXPECT_EQ(load(stage(1, some)), scored);
  EXPECT_NE(load(stage(1, other)), scored);
}

TEST(Pace, IsTheMedianSecondsAStepTimesTheStepsToDo) {
  // 16,000 images in batches of 32: 500 steps an epoch.
  const PlannedStage past = training();
  EXPECT_EQ(expected(book(past, {100, 300, 110}), training(kUsual, 1)),
            (ExpectedTime{110, Basis::kSameSetting, 3, "cpu"}));
  EXPECT_EQ(expected(book(past, {100, 120}), training(kUsual, 1))->seconds, 110);
  const auto longer = expected(book(past, {100}), training({{"train", {{"epochs", 20}}}}));
  ASSERT_TRUE(longer);
  EXPECT_DOUBLE_EQ(longer->seconds, 1000);
  EXPECT_EQ(longer->basis, Basis::kSameSize) << "another horizon is another setting";
}

TEST(Pace, IsBySecondsAnImageForScoring) {
  const Json some = {{"stages", {{{"evaluate", {{"resolution", {28, 42, 56}}, {"images", 100}}}}}}};
  const auto time = expected(book(stage(1, some), {3}), stage(1));
  ASSERT_TRUE(time);
  EXPECT_NEAR(time->seconds, 300, 1e-6) << "10,000 images instead of 100, at three resolutions each";
}

TEST(Pace, OfTheSameSettingWinsOverOthersOfItsSize) {
  const PlannedStage none = training(), learned = training(kUsual, 5);
  Paces both = book({{none, run(none, 100)}, {learned, run(learned, 400)}, {learned, run(learned, 500)}});
  EXPECT_EQ(both.of("train", none.config_json), (ExpectedTime{100, Basis::kSameSetting, 1, "cpu"}));
  const PlannedStage rope = training(kUsual, 10);
  EXPECT_EQ(both.of("train", rope.config_json), (ExpectedTime{400, Basis::kSameSize, 3, "cpu"}));
}

TEST(Pace, GoesByDevicesThatAreThereAlone) {
  const PlannedStage one = training();
  const std::vector<std::pair<PlannedStage, PastRun>> runs = {{one, run(one, 9, "cuda")}, {one, run(one, 90)}};
  EXPECT_EQ(expected(book(runs, {"cpu", "cuda"}), one)->seconds, 90);
  EXPECT_EQ(expected(book(runs, {"cuda", "cpu"}), one)->device, "cuda");
  EXPECT_EQ(expected(book({{one, run(one, 9, "cuda")}}, {"cpu"}), one), std::nullopt);
  EXPECT_TRUE(expected(book({{one, run(one, 9, "cuda")}}, {}), one)) << "with no worker any device tells";
}

TEST(Pace, OfARunThatWentOnCountsTheStepsItDid) {
  const PlannedStage one = training();  // 1000 steps
  EXPECT_EQ(expected(book({{one, run(one, 25, "cpu", 750)}}), one)->seconds, 100);
  EXPECT_EQ(expected(book({{one, run(one, 25, "cpu", 1000)}}), one), std::nullopt) << "it had only to be handed in";
}

TEST(Pace, IsUnknownWithoutARunOfItsLoad) {
  EXPECT_EQ(expected(book(training(), {100}), training({{"model", {{"dim", 128}}}})), std::nullopt);
  EXPECT_EQ(expected(book(training(), {100}), stage(1)), std::nullopt);
  EXPECT_EQ(expected(book(training(), {0}), training()), std::nullopt) << "a clock that stood still";
}

TEST(Makespan, RunsTrialsSideBySideInOrder) {
  EXPECT_EQ(makespan({}, 2), 0);
  EXPECT_EQ(makespan({10, 10, 10}, 1), 30);
  EXPECT_EQ(makespan({10, 10, 10}, 2), 20);
  EXPECT_EQ(makespan({10, 4, 4}, 2), 10);
  EXPECT_EQ(makespan({10}, 8), 10) << "a trial is no shorter for more slots";
}

}  // namespace
}  // namespace locus
