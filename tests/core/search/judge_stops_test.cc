// Units that are stopped between rungs, by rules and by people.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/search/history.h"

namespace locus {
namespace {

using search_tests::halving_setup;
using search_tests::History;
using search_tests::setup_of_cells;
using testing::ElementsAre;
using testing::Pair;

TEST(JudgeBetweenRungs, StopsBelowAThresholdAndKeepsWhatThereIs) {
  SearchSetup setup = setup_of_cells(2);
  setup.search.stops = {{ThresholdRule{std::nullopt, 15.0, 3}, "top1", ""}};
  History history(setup);
  history.settle();
  const auto due = history.fold().due();
  EXPECT_EQ(due.size(), 2U * (27 + 1)) << "every validation and the result";
  for (std::int64_t step = 10; step <= 30; step += 10) {
    history.observe(0, step, step == 30 ? 15 : 1);
    history.observe(1, step, 14.5);
  }
  history.settle();
  EXPECT_EQ(history.unit(0).state, UnitState::kRunning);
  EXPECT_EQ(history.unit(1).state, UnitState::kStopped);
  EXPECT_EQ(history.unit(1).reason, "threshold: top1 14.5 at epoch 3 is below 15");
  EXPECT_THAT(history.fold().wants(), ElementsAre(Pair(0, 0), Pair(1, 30)));
  history.observe(0, kToTheEnd, 80);
  history.settle();
  EXPECT_EQ(history.fold().wants().at(1), kNoFurther) << "the phase has ended";
}

TEST(JudgeBetweenRungs, StopsByAnotherMetricAsItIs) {
  SearchSetup setup = setup_of_cells(1);
  setup.search.stops = {{ThresholdRule{2.5, std::nullopt, 1}, "loss", ""}};
  History history(setup);
  history.settle();
  EXPECT_EQ(history.fold().due().front(), (DueValue{0, 10, "loss", true}));
  history.observe(0, 10, 2.6, "loss");
  history.settle();
  EXPECT_EQ(history.unit(0).reason, "threshold: loss 2.6 at epoch 1 is above 2.5");
}

TEST(JudgeBetweenRungs, StopsForLackOfPatienceHoweverManyValuesComeAtOnce) {
  SearchSetup setup = setup_of_cells(1);
  setup.search.stops = {{PatienceRule{2, 0}, "", ""}};
  setup.maximize = false;
  History history(setup);
  history.settle();
  const std::vector<double> losses = {3, 2, 2.5, 2.25, 1};
  for (std::size_t i = 0; i < losses.size(); ++i)
    history.observe(0, static_cast<std::int64_t>(10 * (i + 1)), losses[i]);
  history.settle();
  EXPECT_EQ(history.unit(0).reason, "patience: up to epoch 4, 2 validations brought nothing better than 2");
}

TEST(JudgeBetweenRungs, StopsBelowTheMedianOfTheFinished) {
  SearchSetup setup = setup_of_cells(4);
  setup.search.stops = {{MedianRule{2, 3, 50}, "", ""}};
  History history(setup);
  history.settle();
  for (const std::int64_t trial : {0, 1, 2}) {
    for (std::int64_t step = 10; step <= 270; step += 10)
      history.observe(trial, step, .5 + .1 * static_cast<double>(trial));
    history.observe(trial, kToTheEnd, .5);
    history.settle();
  }
  for (std::int64_t step = 10; step <= 20; step += 10) history.observe(3, step, .55);
  EXPECT_EQ(history.settle(), 0);
  history.observe(3, 30, .4);
  history.settle();
  EXPECT_EQ(history.unit(3).reason,
            "median: its best up to epoch 3, 0.55, is worse than 0.6, the percentile 50 of 3 finished units there");
}

TEST(JudgeBetweenRungs, LetsAPersonOverruleAStop) {
  SearchSetup setup = halving_setup(3);
  setup.search.stops = {{ThresholdRule{std::nullopt, .5, 1}, "", ""}};
  History history(setup);
  history.settle();
  history.observe(0, 10, .1);
  history.settle();
  ASSERT_EQ(history.unit(0).state, UnitState::kStopped);
  history.add(written(OverrideDecision{{0}, true, -1, "it begins slowly"}));
  history.settle();
  EXPECT_EQ(history.unit(0).state, UnitState::kRunning) << "no rule stops it again";
  EXPECT_EQ(history.fold().wants().at(0), kToTheEnd);
  history.add(written(OverrideDecision{{1}, false, -1, "not that one"}));
  history.settle();
  EXPECT_EQ(history.unit(1).state, UnitState::kStopped);
  EXPECT_EQ(explain_unit(history.fold(), 0, 1), "stopped at epoch 0.1: not that one");
}

}  // namespace
}  // namespace locus
