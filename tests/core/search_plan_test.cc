// Searches in specifications: what they propose, how their cells are laid out, and what they will run.
#include <gmock/gmock.h>

#include <set>

#include "core/base/error.h"
#include "tests/core/plans.h"

namespace locus {
namespace {

using ::testing::ElementsAre;

// Four priors under eight proposals of two paths, halved over 1, 3 and 9 epochs; `changes` is a JSON merge patch.
Json tuned(const std::string& changes = "{}") {
  Json spec = small(R"({
    "train": {"epochs": 9, "validate_every": 1},
    "matrix": {"prior": ["none", "learned-absolute", "rope-axial", "violin"]},
    "search": {"seed": 7, "propose": "sobol", "proposals": 8,
               "space": {"train.lr": {"log": [1.0e-4, 1.0e-2]}, "train.weight_decay": {"linear": [0, 0.1]}},
               "advance": {"rule": "halve", "rungs": [1, 3, 9]}}})");
  spec.merge_patch(Json::parse(changes));
  return spec;
}

Json assignment(const PlannedCell& cell) { return Json::parse(cell.assignment_json); }

std::set<std::string> identities(const ExperimentPlan& plan) {
  std::set<std::string> out;
  for (const PlannedTrial& trial : plan.trials) {
    for (const PlannedStage& stage : trial.stages) out.insert(stage.identity);
  }
  return out;
}

std::vector<std::int64_t> most_of(const std::vector<RungCount>& rungs) {
  std::vector<std::int64_t> out;
  for (const RungCount& one : rungs) out.push_back(one.most);
  return out;
}

TEST(SearchPlan, GivesEveryPriorTheSameProposals) {
  const ExperimentPlan plan = plan_of(tuned());
  ASSERT_EQ(plan.cells.size(), 32U);
  std::map<std::int64_t, std::set<std::string>> settings;
  std::set<std::string> priors;
  for (const PlannedCell& cell : plan.cells) {
    Json rest = assignment(cell);
    priors.insert(rest["prior"].dump());
    rest.erase("prior");
    settings[cell.search.proposal].insert(rest.dump());
  }
  EXPECT_EQ(priors.size(), 4U);
  ASSERT_EQ(settings.size(), 8U);
  for (const auto& [proposal, values] : settings) EXPECT_EQ(values.size(), 1U) << proposal;
  EXPECT_EQ(plan.search->groups.size(), 4U);
}

TEST(SearchPlan, DrawsWhatTheSpaceDeclares) {
  const ExperimentPlan plan = plan_of(tuned());
  std::vector<std::pair<double, double>> values;
  for (const PlannedCell& cell : plan.cells) {
    if (cell.search.group == 0) {
      const Json one = assignment(cell);
      values.emplace_back(one["train.lr"].get<double>(), one["train.weight_decay"].get<double>());
    }
  }
  ASSERT_EQ(values.size(), 8U);
  EXPECT_EQ(values[0], std::pair(0.0001068, 0.001956));
  EXPECT_EQ(values[1], std::pair(0.002461, 0.07005));
  EXPECT_EQ(values[5], std::pair(0.003464, 0.09005));
}

// A proposal is its settings and nothing else: written out in the matrix they name the same stages.
TEST(SearchPlan, NamesTheStagesThatTheSettingsName) {
  const ExperimentPlan searched = plan_of(tuned());
  Json written = tuned(R"({"search": null, "zip": [{"train.lr": [], "train.weight_decay": []}]})");
  for (const PlannedCell& cell : searched.cells) {
    if (cell.search.group != 0) continue;
    written["zip"][0]["train.lr"].push_back(assignment(cell)["train.lr"]);
    written["zip"][0]["train.weight_decay"].push_back(assignment(cell)["train.weight_decay"]);
  }
  const ExperimentPlan plan = plan_of(written);
  EXPECT_EQ(identities(plan), identities(searched));
  ASSERT_EQ(plan.cells.size(), searched.cells.size());
  for (std::size_t i = 0; i < plan.cells.size(); ++i) EXPECT_EQ(plan.cells[i].row_key, searched.cells[i].row_key);
}

TEST(SearchPlan, AppendsFurtherProposalsAndMovesNone) {
  const std::set<std::string> few = identities(plan_of(tuned()));
  const std::set<std::string> more = identities(plan_of(tuned(R"({"search": {"proposals": 16}})")));
  EXPECT_EQ(more.size(), 2 * few.size());
  EXPECT_TRUE(std::includes(more.begin(), more.end(), few.begin(), few.end()));
}

TEST(SearchPlan, LetsNoRuleTouchAnIdentity) {
  const std::set<std::string> usual = identities(plan_of(tuned()));
  for (const char* changes :
       {R"({"search": {"advance": null}})", R"({"search": {"advance": {"rungs": [2, 9]}}})",
        R"({"search": {"advance": {"rule": "asha", "eta": 4}}})", R"({"search": {"stop": [{"median": {"from": 2}}]}})",
        R"({"search": {"budget": {"slot_hours": 1}, "parallel": 3}})"})
    EXPECT_EQ(identities(plan_of(tuned(changes))), usual) << changes;
}

TEST(SearchPlan, DrawsForEachGroupWhereNothingIsShared) {
  const Json own = tuned(R"({"search": {"shared": false}})");
  const ExperimentPlan plan = plan_of(own);
  ASSERT_EQ(plan.cells.size(), 32U);
  std::set<std::string> settings;
  for (const PlannedCell& cell : plan.cells) {
    Json rest = assignment(cell);
    rest.erase("prior");
    settings.insert(rest.dump());
  }
  EXPECT_EQ(settings.size(), 32U);
  // A group draws the same, whatever stands beside it and however its values are written.
  Json alone = own;
  alone["matrix"]["prior"] = Json::parse(R"(["violin"])");
  const std::set<std::string> all = identities(plan), some = identities(plan_of(alone));
  EXPECT_TRUE(std::includes(all.begin(), all.end(), some.begin(), some.end()));
  alone["matrix"]["prior"] = Json::parse(R"([{"violin": {}}])");
  EXPECT_EQ(identities(plan_of(alone)), some);
}

TEST(SearchPlan, SharesTheCellsOfARepeatedProposal) {
  const ExperimentPlan plan = plan_of(tuned(
      R"({"search": {"propose": "random", "proposals": 12, "space": {"train.lr": null, "train.weight_decay": null,
          "train.batch": {"choice": [16, 32, 64]}}}})"));
  EXPECT_EQ(plan.cells.size(), 12U) << "three values for each of four priors";
  ASSERT_EQ(plan.search->repeats.size(), 4U);
  EXPECT_EQ(plan.search->repeats[0].size(), 9U);
  for (const auto& [repeat, first] : plan.search->repeats[0]) EXPECT_LT(first, repeat);
  EXPECT_THAT(plan.warnings, ::testing::Contains(::testing::HasSubstr("proposals repeat the values")));
  EXPECT_EQ(plan.search->proposals, 12);
  EXPECT_EQ(plan.search->figures.units, 12) << "a repeat is no unit of its own";
  EXPECT_THAT(most_of(plan.search->figures.brackets[0]), ElementsAre(12, 4, 4));
}

TEST(SearchPlan, WalksAGrid) {
  const ExperimentPlan plan = plan_of(tuned(
      R"({"search": {"propose": "grid", "proposals": null, "space": {"train.lr": {"log": null, "choice": [0.001, 0.003]},
          "train.weight_decay": null, "train.warmup_epochs": {"int": [0, 2]}}}})"));
  ASSERT_EQ(plan.cells.size(), 24U);
  EXPECT_EQ(assignment(plan.cells[1])["train.lr"], 0.001);
  EXPECT_EQ(assignment(plan.cells[1])["train.warmup_epochs"], 1);
  EXPECT_EQ(plan.cells[5].search.proposal, 5);
}

TEST(SearchPlan, LetsTheMatrixCompeteWhereThereIsNoSpace) {
  const ExperimentPlan plan = plan_of(tuned(
      R"({"matrix": {"train.lr": [0.001, 0.003]},
          "search": {"propose": null, "proposals": null, "seed": null, "space": null}})"));
  ASSERT_EQ(plan.cells.size(), 8U);
  EXPECT_THAT(plan.search->groups, ElementsAre("{}"));
  for (std::size_t i = 0; i < plan.cells.size(); ++i)
    EXPECT_EQ(plan.cells[i].search.proposal, static_cast<std::int64_t>(i));
  EXPECT_THAT(most_of(plan.search->figures.brackets[0]), ElementsAre(8, 2, 1));
}

TEST(SearchPlan, TrainsEveryRungAnewUnderItsOwnHorizon) {
  for (const char* shared : {"true", "false"}) {
    const ExperimentPlan plan =
        plan_of(tuned(R"({"search": {"horizon": "rung", "shared": )" + std::string(shared) + "}}"));
    ASSERT_EQ(plan.cells.size(), 96U) << shared;
    for (const PlannedCell& cell : plan.cells) {
      const std::int64_t epochs[] = {1, 3, 9};
      EXPECT_EQ(assignment(cell)["train.epochs"], epochs[cell.search.rung]);
    }
    EXPECT_EQ(plan.search->groups.size(), 4U);
    EXPECT_EQ(plan.search->figures.most_trainings, 4 * (8 + 2 + 1));
    EXPECT_EQ(plan.search->figures.parked, 0) << "nothing is resumed";
  }
}

TEST(SearchPlan, CountsWhatHalvingRuns) {
  const ExperimentPlan plan = plan_of(tuned(R"({"replicates": {"seed": [0, 1]}})"));
  const SearchFigures& figures = plan.search->figures;
  EXPECT_THAT(most_of(figures.brackets[0]), ElementsAre(32, 8, 4)) << "8, 2 and 1 of each prior";
  EXPECT_TRUE(figures.exact());
  EXPECT_EQ(figures.most_trainings, 64);
  EXPECT_EQ(figures.most_epochs, 2 * (32 * 1 + 8 * 2 + 4 * 6));
  EXPECT_EQ(figures.parked, 64);
  EXPECT_EQ(plan.search->checkpoint_bytes, -1) << "this catalog has no formulas of costs";
}

TEST(SearchPlan, TakesHyperbandsProposalsFromItsBrackets) {
  const ExperimentPlan plan =
      plan_of(tuned(R"({"search": {"proposals": null, "advance": {"rule": "hyperband", "rungs": null}}})"));
  EXPECT_EQ(plan.search->search.proposals, 9 + 5 + 3);
  EXPECT_EQ(plan.cells.size(), 4U * 17);
  ASSERT_EQ(plan.search->figures.brackets.size(), 3U);
  EXPECT_THAT(most_of(plan.search->figures.brackets[0]), ElementsAre(36, 12, 4));
  EXPECT_THAT(most_of(plan.search->figures.brackets[2]), ElementsAre(12));
}

TEST(SearchPlan, EndsGeometricRungsAtTheEpochs) {
  const ExperimentPlan plan =
      plan_of(tuned(R"({"train": {"epochs": 50}, "search": {"advance": {"rungs": {"least": 2, "eta": 3}}}})"));
  EXPECT_THAT(plan.search->search.advance.rungs, ElementsAre(2, 6, 18, 50));
}

TEST(SearchPlan, GrantsSeedsInsteadOfEpochs) {
  const ExperimentPlan plan = plan_of(tuned(R"({"replicates": {"seed": [0, 1, 2, 3, 4, 5]},
      "search": {"advance": {"resource": "seeds", "rungs": [1, 2, 6], "keep": "1/2"}}})"));
  const SearchFigures& figures = plan.search->figures;
  EXPECT_EQ(figures.most_trainings, 4 * (8 * 1 + 4 * 1 + 2 * 4));
  EXPECT_EQ(figures.most_epochs, 9.0 * static_cast<double>(figures.most_trainings));
}

TEST(SearchPlan, BoundsARace) {
  const ExperimentPlan plan = plan_of(tuned(R"({"replicates": {"seed": [0, 1, 2, 3, 4, 5, 6, 7]},
      "search": {"advance": {"rule": "race", "rungs": null, "race": {"delta": 1, "first": 3, "most": 7}}}})"));
  EXPECT_EQ(plan.search->figures.least_trainings, 4 * 8 * 3);
  EXPECT_EQ(plan.search->figures.most_trainings, 4 * 8 * 7);
}

TEST(SearchPlan, WaitsForTheProposalsOfAClient) {
  const Json external = tuned(R"({"search": {"propose": "external", "proposals": null}})");
  const ExperimentPlan waiting = plan_of(external);
  EXPECT_TRUE(waiting.cells.empty());
  EXPECT_TRUE(waiting.trials.empty());
  const auto plan = plan_proposed(external, test_catalog(),
                                  {{{"train.lr", 0.001}, {"train.weight_decay", 0.05}},
                                   {{"train.lr", 0.002}, {"train.weight_decay", 0.05}},
                                   {{"train.lr", 0.001}, {"train.weight_decay", 0.05}}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->cells.size(), 8U);
  EXPECT_EQ(plan->search->repeats[0].at(2), 0);
}

TEST(SearchPlan, HoldsAClientsProposalsToTheSpace) {
  const Json external = tuned(R"({"search": {"propose": "external", "proposals": null}})");
  const struct {
    std::map<std::string, Json> cell;
    const char* field;
    ErrorReason reason;
  } rows[] = {
      {{{"train.lr", 0.5}, {"train.weight_decay", 0.05}}, "cells[0].train.lr", ErrorReason::kOptionOutOfRange},
      {{{"train.lr", "NaN"}, {"train.weight_decay", 0.05}}, "cells[0].train.lr", ErrorReason::kOptionOutOfRange},
      {{{"train.lr", 0.001}}, "cells[0].train.weight_decay", ErrorReason::kMissingKey},
      {{{"train.lr", 0.001}, {"train.weight_decay", 0.05}, {"train.batch", 8}},
       "cells[0].train.batch",
       ErrorReason::kUnknownKey},
  };
  for (const auto& row : rows) {
    const absl::Status status = plan_proposed(external, test_catalog(), {row.cell}).status();
    EXPECT_TRUE(has_reason(status, row.reason)) << status;
    EXPECT_EQ(error_detail(status)->field, row.field) << status;
  }
  EXPECT_EQ(error_detail(plan_proposed(tuned(), test_catalog(), {{{"train.lr", 0.001}}}).status())->field,
            "search.propose");
}

}  // namespace
}  // namespace locus
