// The log of a search as text, and its fold.
#include "core/search/fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/search/judge.h"
#include "tests/core/search/history.h"

namespace locus {
namespace {

using search_tests::halving_setup;
using search_tests::History;
using search_tests::setup_of_cells;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// A setup in which nothing has its default.
SearchSetup full_setup() {
  SearchSetup out;
  out.phase = "select";
  out.phases = 2;
  Search& search = out.search;
  search.seed = 0xfedcba9876543211;
  search.proposer = Proposer::kSobol;
  search.space = {{"train.lr", Dimension::Kind::kLog, 1e-4, .1 + .2, 3, Json::array()},
                  {"train.batch", Dimension::Kind::kChoice, 0, 1, 4, Json::array({32, "64", 1.5})}};
  search.proposals = 32;
  search.shared = false;
  search.advance = {AdvanceRule::kHyperband,
                    SearchResource::kSeeds,
                    SearchUnit::kTrial,
                    {1, 3},
                    {2, 7},
                    4,
                    false,
                    {{{9, 3}, {1, 3}}},
                    {RaceRule::kFriedman, {.25, .1, 7}, 11, 64}};
  search.stops = {{MedianRule{4, 2, 25.5}, "", "search.stop[0].median"},
                  {PatienceRule{7, .125}, "", "search.stop[1].patience"},
                  {ThresholdRule{2.5, std::nullopt, 3}, "loss", "search.stop[2].threshold"},
                  {ThresholdRule{std::nullopt, .1, 3}, "top1", "search.stop[3].threshold"}};
  search.budget = {5, 6, 7.25, 8.5, SearchBudget::Target{"top1", .9, std::nullopt}};
  search.parallel = 3;
  search.horizon = SearchHorizon::kRung;
  out.groups = {R"({"prior":"none"})", R"({"prior":"ä"})"};
  out.units = {{0, 0, 0, {0, 1}}, {1, 0, 1, {2, 3}, {{4, 5}, {6}}, 12.5, 1250}};
  out.metric = "top1", out.split = "validation", out.labels = R"({"a":1})", out.reduce = "best";
  out.maximize = false;
  out.steps_per_epoch = 1.0 / 3, out.last_step = 9, out.validate_every = .25;
  out.choose = SearchChoiceTerms{"rank", 4, {{"{}", {{R"({"x":1})", {0, 1}}, {R"({"x":2})", {}}}}}};
  return out;
}

TEST(Setup, IsReadBackExactly) {
  const std::string text = canonical_json(setup_json(full_setup()));
  const auto again = setup_of(Json::parse(text));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(canonical_json(setup_json(*again)), text);
  EXPECT_EQ(again->search.seed, full_setup().search.seed);
  EXPECT_EQ(again->search.space[0].high, .1 + .2);
  EXPECT_EQ(again->search.advance.keep.denominator, 7);
  EXPECT_EQ(again->units[1].later_rungs, full_setup().units[1].later_rungs);
  // Every member is in the text: without it the document is refused or reads otherwise.
  const Json whole = Json::parse(text);
  for (const auto& [key, value] : whole.items()) {
    Json without = whole;
    without.erase(key);
    const auto rest = setup_of(without);
    EXPECT_TRUE(!rest.ok() || canonical_json(setup_json(*rest)) != text) << key;
  }
}

std::vector<SearchDecision> every_decision() {
  ProposeDecision proposed{{0, 2}, full_setup().units, {{"name", "optuna"}}};
  ObserveDecision observed{7, 30, .1, "loss", 3, 2, 9};
  ObserveDecision diverged{7, 0, std::numeric_limits<double>::quiet_NaN()};
  ObserveDecision endless{7, 0, -std::numeric_limits<double>::infinity()};
  ObserveDecision failed{7, 0, std::nullopt};
  return {
      BeginDecision{full_setup()},
      observed,
      diverged,
      endless,
      failed,
      ProposeDecision{{0, 1}, {}, Json::object()},
      proposed,
      AdvanceDecision{{1, 5}, 2, {0, 3}},
      StopDecision{{4}, 1, 90, true, "a \"reason\""},
      ChooseDecision{{{"{}", R"({"lr":1})", .5, .25, 5, 4, "note"}, {"{}", "", std::nullopt, std::nullopt, 0, 0, ""}}},
      OverrideDecision{{1}, true, 2, "I like it"},
      EndDecision{"done"}};
}

TEST(Decisions, AreReadBackExactly) {
  std::set<std::string> kinds;
  for (const SearchDecision& decision : every_decision()) {
    const DecisionRow row = written(decision);
    kinds.insert(row.kind);
    const auto again = read(row);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->index(), decision.index());
    EXPECT_EQ(written(*again), row);
    EXPECT_EQ(canonical_json(Json::parse(row.json)), row.json) << "canonical";
  }
  EXPECT_THAT(kinds, ElementsAre("advance", "begin", "choose", "end", "observe", "override", "propose", "stop"));
}

TEST(Decisions, ThatSayNothingOfTheirKindAreDamage) {
  for (const SearchDecision& decision : every_decision()) {
    DecisionRow row = written(decision);
    for (const std::string json : {"", "{", "[]", "3", R"({"units":"all"})"}) {
      row.json = json;
      const auto refused = read(row);
      ASSERT_FALSE(refused.ok()) << row.kind << " " << json;
      EXPECT_EQ(refused.status().code(), absl::StatusCode::kDataLoss);
      EXPECT_TRUE(has_reason(refused.status(), ErrorReason::kStorageFailed));
    }
  }
  DecisionRow unknown;
  unknown.kind = "guess";
  EXPECT_FALSE(read(unknown).ok());
}

TEST(Fold, OfNothingIsEmpty) {
  const auto fold = Fold::of({});
  ASSERT_TRUE(fold.ok());
  EXPECT_EQ(fold->decided(), 0);
  EXPECT_EQ(fold->generation(), 0);
  EXPECT_EQ(fold->phases(), 0U);
  EXPECT_FALSE(fold->ended());
  EXPECT_TRUE(fold->wants().empty());
  EXPECT_TRUE(fold->due().empty());
  EXPECT_TRUE(fold->lost().empty());
  EXPECT_EQ(fold->present(), std::nullopt);
  EXPECT_EQ(judge(*fold), std::nullopt);
  EXPECT_TRUE(expected_next(*fold).empty());
}

TEST(Fold, RefusesRowsThatDoNotFollowAndStaysAsItWas) {
  History history(halving_setup(2));
  history.settle();
  Fold fold = history.fold();
  const auto refused = [&](DecisionRow row, std::int64_t number, std::int64_t generation, std::int64_t phase) {
    row.number = number, row.generation = generation, row.phase = phase;
    const absl::Status status = fold.take(row);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << row.kind;
    EXPECT_EQ(fold.decided(), 2);
    return std::string(status.message());
  };
  const DecisionRow observed = written(ObserveDecision{0, 30, .5});
  EXPECT_THAT(refused(observed, 2, 1, 0), HasSubstr("the one before it is 2"));
  EXPECT_THAT(refused(observed, 4, 1, 0), HasSubstr("the one before it is 2"));
  EXPECT_THAT(refused(observed, 3, 1, 1), HasSubstr("phase 1 has not begun"));
  EXPECT_THAT(refused(observed, 3, 2, 0), HasSubstr("generation 2 is not the present one"));
  EXPECT_THAT(refused(written(BeginDecision{halving_setup(2)}), 3, 1, 1),
              HasSubstr("the phase before it has not ended"));
  EXPECT_THAT(refused(written(ObserveDecision{9, 30, .5}), 3, 1, 0), HasSubstr("no unit has the trial 9"));
  EXPECT_THAT(refused(written(AdvanceDecision{{2}, 1, {}}), 3, 1, 0), HasSubstr("there is no unit 2"));
  EXPECT_THAT(refused(written(AdvanceDecision{{0}, 3, {}}), 3, 1, 0), HasSubstr("there is no rung 3"));
  EXPECT_THAT(refused(written(ProposeDecision{{-1}, {}, {}}), 3, 1, 0), HasSubstr("there is no unit -1"));
  DecisionRow good = observed;
  good.number = 3;
  EXPECT_TRUE(fold.take(good).ok());
}

TEST(Fold, OfACopyGoesItsOwnWay) {
  History history(halving_setup(2));
  history.settle();
  const Fold before = history.fold();
  history.observe(0, 30, .5);
  EXPECT_EQ(before.decided(), 2);
  EXPECT_EQ(before.observed(0, 30), 0);
  EXPECT_EQ(history.fold().observed(0, 30), 3);
}

TEST(Fold, GoesFromPhaseToPhase) {
  SearchSetup first = setup_of_cells(2), second = setup_of_cells(1);
  first.phases = 2, first.phase = "select";
  second.phases = 2, second.phase = "final";
  second.units[0].trials = {2, 3};
  History history(first);
  search_tests::run_to_the_end(history, [](auto, auto) { return .5; });
  EXPECT_TRUE(history.fold().phase_ended(0));
  EXPECT_FALSE(history.fold().ended()) << "the second has not begun";
  EXPECT_THAT(expected_next(history.fold()), ElementsAre("select: ended: 2 of 2 units got to the end"));
  history.add(written(BeginDecision{second}), 1);
  EXPECT_EQ(history.fold().present(), 1U);
  search_tests::run_to_the_end(history, [](auto, auto) { return .5; });
  EXPECT_EQ(history.broken(), "");
  EXPECT_TRUE(history.fold().ended());
  EXPECT_THAT(history.fold().wants(), ElementsAre(Pair(0, 0), Pair(1, 0), Pair(2, 0), Pair(3, 0)));
}

TEST(Fold, ExtendedKeepsWhatItHasReached) {
  SearchSetup setup = setup_of_cells(2, 2);
  search_tests::choose_among_all(setup);
  History history(setup);
  search_tests::run_to_the_end(history, [](auto trial, auto) { return .1 * static_cast<double>(trial); });
  ASSERT_TRUE(history.fold().ended());
  ASSERT_EQ(history.fold().choice(0)->front().candidate, R"({"lr":1})");
  SearchSetup more = setup_of_cells(3, 2);
  search_tests::choose_among_all(more);
  more.units[0].trials.push_back(6);  // another seed of the first
  history.add(written(BeginDecision{more}));
  EXPECT_FALSE(history.fold().ended());
  history.settle();
  EXPECT_THAT(history.fold().due(), ElementsAre(DueValue{4, 0}, DueValue{5, 0}, DueValue{6, 0}));
  EXPECT_THAT(history.fold().wants(), testing::SizeIs(7));
  search_tests::run_to_the_end(history, [](auto, auto) { return 1.0; });
  EXPECT_TRUE(history.fold().ended());
  EXPECT_EQ(history.fold().choice(0)->front().candidate, R"({"lr":1})") << "what was chosen stays";
  EXPECT_EQ(history.broken(), "");
}

TEST(Fold, OfAnotherGenerationBeginsAnew) {
  History history(setup_of_cells(2));
  search_tests::run_to_the_end(history, [](auto, auto) { return .5; });
  history.add(written(BeginDecision{halving_setup(2)}), 0, 2);
  EXPECT_EQ(history.fold().generation(), 2);
  EXPECT_EQ(history.fold().phases(), 1U);
  EXPECT_TRUE(history.fold().wants().empty());
  EXPECT_EQ(history.fold().observed(0, kToTheEnd), 0) << "observed anew";
  history.settle();
  EXPECT_THAT(history.fold().wants(), ElementsAre(Pair(0, 30), Pair(1, 30)));
}

TEST(Fold, CountsStepsOfEachUnitByItsOwnBatch) {
  SearchSetup setup = halving_setup(2);
  setup.units[1].steps_per_epoch = 20;
  setup.units[1].last_step = 540;
  History history(setup);
  history.settle();
  EXPECT_THAT(history.fold().wants(), ElementsAre(Pair(0, 30), Pair(1, 60)));
  EXPECT_EQ(history.fold().spent(0).epochs, 6);
}

// So long that with a copy or a scan of the log at each row no test would see its end; what a row takes is measured by
// search_bench.
TEST(Fold, TakesALogOfAHundredThousandRows) {
  History history(setup_of_cells(20'000, 2));
  history.settle();
  std::vector<DecisionRow> rows;
  for (std::int64_t trial = 0; trial < 40'000; ++trial) {
    rows.push_back(written(ObserveDecision{trial, kToTheEnd, .5}));
    rows.back().number = history.fold().decided() + trial + 1;
  }
  Fold fold = history.fold();
  for (const DecisionRow& row : rows) ASSERT_TRUE(fold.take(row).ok());
  EXPECT_EQ(judge(fold)->rule, "end");
}

}  // namespace
}  // namespace locus
