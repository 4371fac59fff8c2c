// Histories that chance makes, judged twice: by the rules, and by the plain ones of these tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/search/halving.h"
#include "tests/core/search/plain.h"

namespace locus {
namespace {

using search_tests::asha_setup;
using search_tests::halving_setup;
using search_tests::History;
using search_tests::kEpochs;
using search_tests::Plain;
using search_tests::said;
using search_tests::setup_of_cells;

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(count));
  }
  bool once_in(std::int64_t count) { return below(count) == 0; }
  double value() { return static_cast<double>(below(40)) / 64; }  // coarse and exact, so that ties happen and are seen
  std::mt19937_64& engine() { return random_; }

 private:
  std::mt19937_64 random_;
};

enum class Kind { kNone, kHalve, kSeeds, kAsha, kStopping, kHyperband, kKimNelson, kSequential };
constexpr Kind kKinds[] = {Kind::kNone,     Kind::kHalve,     Kind::kSeeds,     Kind::kAsha,
                           Kind::kStopping, Kind::kHyperband, Kind::kKimNelson, Kind::kSequential};

SearchSetup race_setup(RaceRule rule, std::int64_t units, std::int64_t groups) {
  SearchSetup setup = setup_of_cells(units, 9, groups);
  setup.search.advance.rule = AdvanceRule::kRace;
  setup.search.advance.resource = SearchResource::kSeeds;
  RaceTerms& race = setup.search.advance.race;
  race.rule = rule;
  race.terms = {.4, .1, 3};
  race.most = 9;
  race.budget = 7 * units;
  if (rule == RaceRule::kHalving) race.terms.first = 1;
  return setup;
}

SearchSetup any_setup(Kind kind, Chance& chance) {
  const std::int64_t units = 1 + chance.below(12), seeds = 1 + chance.below(3), groups = 1 + chance.below(3);
  switch (kind) {
    case Kind::kNone:
      return setup_of_cells(units, seeds, groups);
    case Kind::kHalve: {
      SearchSetup setup = halving_setup(units, seeds, groups);
      setup.search.advance.keep = {1 + chance.below(2), 3};
      return setup;
    }
    case Kind::kSeeds: {
      SearchSetup setup = halving_setup(units, 4, groups);
      setup.search.advance.resource = SearchResource::kSeeds;
      setup.search.advance.rungs = {1, 2, 4};
      setup.search.advance.keep = {1, 2};
      return setup;
    }
    case Kind::kAsha:
    case Kind::kStopping: {
      SearchSetup setup = asha_setup(units + 4, seeds, groups);
      setup.search.advance.eta = 2 + chance.below(2);
      setup.search.advance.park = kind == Kind::kAsha;
      return setup;
    }
    case Kind::kHyperband: {
      SearchSetup setup = setup_of_cells(20, 1, groups);
      setup.search.advance.rule = AdvanceRule::kHyperband;
      setup.search.advance.brackets = hyperband(kEpochs, 3, 3);
      return setup;
    }
    case Kind::kKimNelson:
      return race_setup(RaceRule::kKimNelson, units, groups);
    case Kind::kSequential:
      break;
  }
  return race_setup(RaceRule::kHalving, units, groups);
}

SearchSetup limited(SearchSetup setup, Kind kind, Chance& chance) {
  setup.maximize = !chance.once_in(4);
  if (chance.once_in(2)) setup.search.parallel = 1 + chance.below(5);
  SearchBudget& budget = setup.search.budget;
  if (chance.once_in(4)) budget.epochs = static_cast<double>(30 + chance.below(600));
  if (chance.once_in(6)) budget.stages = 5 + chance.below(40);
  if (chance.once_in(6)) budget.proposals = 2 + chance.below(12);
  const bool curves = kind == Kind::kNone || kind == Kind::kHalve || kind == Kind::kAsha;
  if (!curves || !chance.once_in(3)) return setup;
  const auto share = [&] { return chance.value() / 2; };
  if (chance.once_in(2)) setup.search.stops.push_back({MedianRule{1 + chance.below(3), chance.below(8), 50}, "", ""});
  if (chance.once_in(2)) setup.search.stops.push_back({PatienceRule{3 + chance.below(5), 0}, "", ""});
  if (chance.once_in(2))
    setup.search.stops.push_back({ThresholdRule{std::nullopt, share(), 1 + chance.below(9)}, "", ""});
  return setup;
}

// A history under way: values come trial by trial, one at a time or all that a trial has, some fail, some are revised.
class Drawn {
 public:
  Drawn(const SearchSetup& setup, Chance& chance) : history_(setup), chance_(chance) {}

  // To its end. Whether judge() and the plain rules said the same all the time.
  void run() {
    settle();
    for (int turn = 0; turn < 3000 && !testing::Test::HasFailure(); ++turn) {
      if (history_.fold().ended()) break;
      if (chance_.once_in(12)) revise();
      auto due = history_.fold().due();
      if (due.empty()) settle(), due = history_.fold().due();
      if (history_.fold().ended()) break;
      ASSERT_FALSE(due.empty()) << "it waits for nothing: " << history_.log().back().json;
      observe(due);
      if (!chance_.once_in(4)) settle();
    }
    EXPECT_TRUE(history_.fold().ended());
    EXPECT_EQ(history_.broken(), "");
  }
  const History& history() const { return history_; }

 private:
  std::optional<double> value() {
    if (chance_.once_in(15)) return std::nullopt;
    return chance_.once_in(25) ? std::nan("") : chance_.value();
  }
  void observe(const std::vector<DueValue>& due) {
    const std::int64_t trial =
        due[static_cast<std::size_t>(chance_.below(static_cast<std::int64_t>(due.size())))].trial;
    for (const DueValue& one : due) {
      if (one.trial != trial) continue;
      const auto seen = value();
      // A curve is told whole: a trial's points come in order.
      if (seen || !one.only_if_there) history_.observe(one.trial, one.step, seen.value_or(std::nan("")), one.metric);
      if (one.only_if_there && !seen) history_.observe(one.trial, one.step, .5, one.metric);
      if (chance_.once_in(3)) return;
    }
  }
  void revise() {
    const auto lost = history_.fold().lost();
    if (lost.empty()) return;
    const DueValue& one = lost[static_cast<std::size_t>(chance_.below(static_cast<std::int64_t>(lost.size())))];
    history_.observe(one.trial, one.step, chance_.value());
  }
  void settle() {
    for (int answers = 0; answers < 500; ++answers) {
      const auto verdict = judge(history_.fold());
      ASSERT_EQ(said(verdict), Plain(history_.log()).answer()) << "after " << history_.log().size() << " rows";
      if (!verdict) return;
      history_.add(*verdict);
      bounds();
    }
    FAIL() << "it answers without end";
  }
  void bounds() const {
    const Fold& fold = history_.fold();
    const SearchBudget& budget = fold.setup(0).search.budget;
    const Fold::Spent spent = fold.spent(0);
    ASSERT_LE(spent.epochs, budget.epochs.value_or(1e9) + 1e-6);
    ASSERT_LE(spent.stages, budget.stages.value_or(1'000'000));
    ASSERT_LE(spent.proposals, budget.proposals.value_or(1'000'000));
  }

  History history_;
  Chance& chance_;
};

class RandomHistories : public testing::TestWithParam<Kind> {};

TEST_P(RandomHistories, AreJudgedAsThePlainRulesJudgeThem) {
  const char* asked = std::getenv("LOCUS_HISTORIES");  // more of them, by hand
  const std::uint64_t histories = asked != nullptr ? std::stoull(asked) : 60;
  for (std::uint64_t seed = 0; seed < histories && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Chance chance(seed * 8 + static_cast<std::uint64_t>(GetParam()));
    Drawn drawn(limited(any_setup(GetParam(), chance), GetParam(), chance), chance);
    drawn.run();
    const auto& log = drawn.history().log();
    const auto again = Fold::of(log);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->wants(), drawn.history().fold().wants());
    EXPECT_EQ(again->reason(0), drawn.history().fold().reason(0));
    Fold before;
    for (const DecisionRow& row : log) {
      ASSERT_EQ(disagreement(before, row), std::nullopt);
      ASSERT_TRUE(before.take(row).ok());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfEveryRule, RandomHistories, testing::ValuesIn(kKinds));

// Rules that wait decide the same whatever arrives first.
TEST(RandomHistories, OfRulesThatWaitAreTheSameInEveryOrder) {
  for (const Kind kind :
       {Kind::kNone, Kind::kHalve, Kind::kSeeds, Kind::kHyperband, Kind::kKimNelson, Kind::kSequential}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      Chance chance(seed + 100 * static_cast<std::uint64_t>(kind));
      SearchSetup setup = limited(any_setup(kind, chance), kind, chance);
      setup.search.stops.clear();
      const auto world = [&](std::int64_t trial, std::int64_t step) -> std::optional<double> {
        const std::uint64_t drawn = mix(seed ^ mix(static_cast<std::uint64_t>(trial * 1000 + step)));
        if (drawn % 17 == 0) return std::nullopt;
        return static_cast<double>(drawn % 101) / 100;
      };
      History straight(setup);
      search_tests::run_to_the_end(straight, world);
      ASSERT_TRUE(straight.fold().ended());
      for (std::uint64_t order = 0; order < 20; ++order) {
        std::mt19937_64 random(order);
        History history(setup);
        search_tests::run_in_any_order(history, world, random);
        ASSERT_EQ(search_tests::verdicts(history), search_tests::verdicts(straight)) << "seed " << seed;
      }
    }
  }
}

// ---- wrong rows ----

std::optional<std::string> with_row(const History& history, std::size_t place, const DecisionRow& row) {
  const auto before = Fold::of(std::span(history.log()).first(place));
  return before.ok() ? disagreement(*before, row) : std::nullopt;
}

TEST(Disagreement, IsFoundWhereverARowIsNotWhatItsRuleAnswers) {
  SearchSetup setup = halving_setup(6);
  search_tests::choose_among_all(setup);
  History history(setup);
  search_tests::run_to_the_end(history, [](auto trial, auto) { return .1 * static_cast<double>(trial); });
  ASSERT_TRUE(history.fold().ended());
  int planted = 0;
  for (std::size_t i = 0; i < history.log().size(); ++i) {
    const DecisionRow& row = history.log()[i];
    EXPECT_EQ(with_row(history, i, row), std::nullopt);
    if (row.rule.empty()) continue;
    std::vector<DecisionRow> wrong(4, row);
    auto decision = *read(row);
    if (auto* one = std::get_if<ProposeDecision>(&decision)) one->units.pop_back();
    if (auto* one = std::get_if<AdvanceDecision>(&decision)) one->units = {0}, one->rung = 1;
    if (auto* one = std::get_if<ChooseDecision>(&decision)) one->chosen[0].candidate = R"({"lr":0})";
    if (auto* one = std::get_if<EndDecision>(&decision)) one->reason = "because";
    wrong[0].json = written(decision).json;
    wrong[1].rule = "guess";
    wrong[2].rule_revision = 7;
    wrong[3] = written(StopDecision{{1}, 0, 30, false, "no"});
    wrong[3].rule = "median";
    for (const DecisionRow& one : wrong) {
      EXPECT_NE(with_row(history, i, one), std::nullopt) << one.kind << " " << one.json;
      ++planted;
    }
  }
  EXPECT_GE(planted, 5 * 4);
}

TEST(Disagreement, IsFoundWhereTheRulesWait) {
  History history(halving_setup(3));
  history.settle();
  DecisionRow early = written(AdvanceDecision{{0}, 1, {}});
  early.rule = "halve";
  EXPECT_THAT(disagreement(history.fold(), early).value_or(""), testing::HasSubstr("the rules wait there"));
  EXPECT_NE(disagreement(history.fold(), written(ProposeDecision{{0}, {}, {}})), std::nullopt)
      << "no client proposes to a search that does so itself";
}

}  // namespace
}  // namespace locus
