// Specifications of several phases: what each is, what it waits for, and what becomes of it once that is chosen.
#include <gmock/gmock.h>

#include <set>

#include "core/base/error.h"
#include "core/experiment/plan/protocol.h"
#include "tests/core/bad_specification.h"
#include "tests/core/plans.h"

namespace locus {
namespace {

using ::testing::ElementsAre;

// Select a rate for each prior and dataset, then report it: the protocol of VTAB-1K in small. `changes` is a JSON merge patch.
Json selected(const std::string& changes = "{}") {
  Json spec = Json::parse(R"({
    "version": 1, "name": "vtab", "model": {"backbone": "vit"}, "train": {"epochs": 4},
    "matrix": {"prior": ["none", "violin"], "dataset": ["fashion-mnist", "mnist"]},
    "phases": [
      {"name": "select", "set": {"train.limit": 800}, "matrix": {"train.lr": [0.001, 0.0005, 0.0001]},
       "replicates": {"seed": [0, 1, 2]}, "metric": {"reports": "validation"},
       "choose": {"factors": ["train.lr"], "by": "mean", "require": "all"}},
      {"name": "final", "set": {"train.limit": 1000}, "use": {"train.lr": "select"},
       "replicates": {"seed": [0, 1, 2, 3, 4]}, "metric": {"reports": "test", "over_seeds": {"top": 3}}}]})");
  spec.merge_patch(Json::parse(changes));
  return spec;
}

ProtocolPlan protocol_of(const Json& spec) {
  auto plan = plan_protocol(spec, test_catalog());
  if (!plan.ok()) throw std::runtime_error(plan.status().ToString());
  return *std::move(plan);
}

std::set<std::string> stages_of(const ExperimentPlan& plan) {
  std::set<std::string> out;
  for (const PlannedTrial& trial : plan.trials) {
    for (const PlannedStage& stage : trial.stages) out.insert(stage.identity);
  }
  return out;
}

// The first candidate for every group but the last, which gets the second.
Choices choices_of(const PlannedPhase& phase) {
  Choices out;
  for (const std::string& group : phase.groups) {
    const std::string& candidate = phase.candidates[group == phase.groups.back() ? 1 : 0];
    const Json values = Json::parse(candidate);
    for (const auto& [path, value] : values.items()) out[phase.name][group][path] = value;
  }
  return out;
}

TEST(Phases, OfASpecificationWithoutThemAreItself) {
  const Json spec = small();
  const ProtocolPlan plan = protocol_of(spec);
  ASSERT_EQ(plan.phases.size(), 1U);
  EXPECT_EQ(plan.phases[0].name, "");
  EXPECT_FALSE(plan.phases[0].deferred);
  EXPECT_EQ(stages_of(plan.phases[0].plan), stages_of(plan_of(spec)));
}

TEST(Phases, InheritWhatStandsOutsideAndChangeTheRest) {
  const ProtocolPlan plan = protocol_of(selected());
  ASSERT_EQ(plan.phases.size(), 2U);
  const PlannedPhase &select = plan.phases[0], &final = plan.phases[1];
  EXPECT_EQ(select.plan.trials.size(), 2U * 2 * 3 * 3);
  EXPECT_EQ(select.plan.metric.reports, "validation");
  EXPECT_EQ(select.plan.metric.top_seeds, 0);
  EXPECT_EQ(select.plan.settings.at("train.limit").value, "800");
  EXPECT_EQ(final.plan.trials.size(), 2U * 2 * 5);
  EXPECT_EQ(final.plan.metric.top_seeds, 3);
  EXPECT_EQ(final.plan.settings.at("train.limit").value, "1000");
}

TEST(Phases, ChooseForEveryCombinationOfWhatIsNotChosen) {
  const PlannedPhase select = protocol_of(selected()).phases[0];
  EXPECT_THAT(select.choose->per, ElementsAre("prior", "dataset"));
  EXPECT_EQ(select.groups.size(), 4U);
  EXPECT_THAT(select.candidates,
              ElementsAre(R"({"train.lr":0.001})", R"({"train.lr":0.0005})", R"({"train.lr":0.0001})"));
}

TEST(Phases, DeferTrialsThatUseAChoice) {
  const PlannedPhase final = protocol_of(selected()).phases[1];
  EXPECT_TRUE(final.deferred);
  for (const PlannedTrial& trial : final.plan.trials) EXPECT_TRUE(trial.stages.empty());
  for (const PlannedCell& cell : final.plan.cells)
    EXPECT_EQ(Json::parse(cell.row_key)["train.lr"], Json::parse(R"({"$chosen": "select"})"));
}

TEST(Phases, NameTheStagesThatTheChosenValuesName) {
  const Json spec = selected();
  const ProtocolPlan plan = protocol_of(spec);
  const auto chosen = plan_phase(spec, test_catalog(), 1, choices_of(plan.phases[0]));
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_FALSE(chosen->deferred);
  Json written = spec;
  written.erase("phases");
  written["train"]["limit"] = 1000;
  written["train"]["lr"] = 0.001;
  written["replicates"] = {{"seed", {0, 1, 2, 3, 4}}};
  const Json last = Json::parse(plan.phases[0].groups.back());
  written["overrides"] = {{{"where", last}, {"set", {{"train.lr", 0.0005}}}}};
  EXPECT_EQ(stages_of(chosen->plan), stages_of(plan_of(written)));
  ASSERT_EQ(chosen->plan.cells.size(), plan.phases[1].plan.cells.size());
  for (std::size_t i = 0; i < chosen->plan.cells.size(); ++i)
    EXPECT_EQ(chosen->plan.cells[i].row_key, plan.phases[1].plan.cells[i].row_key) << "rows keep their name";
}

TEST(Phases, TakeCandidatesFromAClient) {
  Json spec = selected();
  spec["phases"][0].erase("matrix");
  spec["phases"][0]["search"] =
      Json::parse(R"({"propose": "external", "proposals": 4, "space": {"train.lr": {"log": [0.0001, 0.01]}}})");
  const ProtocolPlan waiting = protocol_of(spec);
  EXPECT_TRUE(waiting.phases[0].plan.cells.empty());
  EXPECT_EQ(waiting.phases[1].plan.trials.size(), 2U * 2 * 5) << "they exist from submission on";
  const PhaseProposals proposed = {{"select", {{{"train.lr", 0.002}}, {{"train.lr", 0.0005}}}}};
  const auto plan = plan_protocol(spec, test_catalog(), proposed);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->phases[0].groups.size(), 4U);
  EXPECT_THAT(plan->phases[0].candidates, ElementsAre(R"({"train.lr":0.002})", R"({"train.lr":0.0005})"));
  EXPECT_EQ(error_detail(plan_protocol(spec, test_catalog(), {{"select", {{{"train.lr", 1}}}}}).status())->field,
            "cells[0].train.lr");
}

TEST(Phases, LeaveGroupsWithoutAChoiceWithoutStages) {
  const Json spec = selected();
  const ProtocolPlan plan = protocol_of(spec);
  Choices choices = choices_of(plan.phases[0]);
  choices["select"].erase(plan.phases[0].groups.front());
  const auto chosen = plan_phase(spec, test_catalog(), 1, choices);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  std::size_t without = 0;
  for (const PlannedTrial& trial : chosen->plan.trials) without += trial.stages.empty();
  EXPECT_EQ(without, 5U);
  EXPECT_FALSE(plan_phase(spec, test_catalog(), 1, {}).ok()) << "no choice at all";
}

TEST(Phases, ChooseOnceForAllDatasetsByRank) {
  Json spec = selected();
  spec["phases"][0]["choose"] = Json::parse(R"({"factors": ["train.lr"], "by": "rank", "per": ["prior"]})");
  const ProtocolPlan plan = protocol_of(spec);
  EXPECT_EQ(plan.phases[0].groups.size(), 2U);
  const auto chosen = plan_phase(spec, test_catalog(), 1, choices_of(plan.phases[0]));
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  for (const PlannedTrial& trial : chosen->plan.trials) EXPECT_FALSE(trial.stages.empty());
}

TEST(Phases, ChooseAmongTheProposalsOfASearch) {
  Json spec = selected();
  Json& phase = spec["phases"][0];
  phase.erase("matrix");
  phase["choose"] = Json::object();
  phase["search"] = Json::parse(R"({"propose": "sobol", "proposals": 4, "space": {"train.lr": {"log": [1e-4, 1e-2]},
                                    "train.weight_decay": {"linear": [0, 0.1]}}})");
  spec["phases"][1]["use"] = Json::parse(R"({"train.lr": "select", "train.weight_decay": "select"})");
  const ProtocolPlan plan = protocol_of(spec);
  EXPECT_THAT(plan.phases[0].choose->factors, ElementsAre("train.lr", "train.weight_decay"));
  EXPECT_EQ(plan.phases[0].candidates.size(), 4U);
  const auto chosen = plan_phase(spec, test_catalog(), 1, choices_of(plan.phases[0]));
  ASSERT_TRUE(chosen.ok()) << chosen.status();
}

struct BadPhases {
  const char* name;
  const char* place;  // JSON pointer into the specification above
  const char* value;  // what stands there instead
  ErrorReason reason;
  const char *field, *says;
};

std::ostream& operator<<(std::ostream& out, const BadPhases& one) { return out << one.name; }

const BadPhases kBadPhases[] = {
    {"NoList", "/phases", "{}", ErrorReason::kWrongType, "phases", "a list"},
    {"None", "/phases", "[]", ErrorReason::kEmptyMatrix, "phases", "give 1 to 8"},
    {"NoMapping", "/phases/0", "7", ErrorReason::kWrongType, "phases[0]", "a mapping"},
    {"UnknownKey", "/phases/0/chose", "{}", ErrorReason::kUnknownKey, "phases[0].chose", "did you mean 'choose'"},
    {"BadName", "/phases/0/name", "\"Select\"", ErrorReason::kInvalidName, "phases[0].name", "lower-case"},
    {"NameTwice", "/phases/1/name", "\"select\"", ErrorReason::kInvalidSpecification, "phases[1].name", "two phases"},
    {"UnknownPhase", "/phases/1/use/train.lr", "\"slect\"", ErrorReason::kInvalidSpecification,
     "phases[1].use.train.lr", "did you mean 'select'"},
    {"Itself", "/phases/1/use/train.lr", "\"final\"", ErrorReason::kInvalidSpecification, "phases[1].use.train.lr",
     "this phase itself"},
    {"Circle", "/phases/0/use", R"({"train.batch": "final"})", ErrorReason::kInvalidSpecification,
     "phases[0].use.train.batch", "a circle"},
    {"UsesNothing", "/phases/1/use", "{}", ErrorReason::kMissingKey, "phases[1].use", "uses nothing"},
    {"UsesWhatIsNotChosen", "/phases/1/use", R"({"train.batch": "select"})", ErrorReason::kInvalidSpecification,
     "phases[1].use.train.batch", "it chooses: train.lr"},
    {"UsesAFactor", "/phases/1/matrix", R"({"train.lr": [0.1]})", ErrorReason::kInvalidSpecification,
     "phases[1].use.train.lr", "is a factor of this phase"},
    {"UnknownPath", "/phases/1/use", R"({"trian.lr": "select"})", ErrorReason::kUnknownKey, "phases[1].use.trian.lr",
     "train.lr"},
    {"SetsAFactor", "/phases/0/set", R"({"prior": "none"})", ErrorReason::kInvalidSpecification, "phases[0].set.prior",
     "matrix.prior"},
    {"SetsAnUnknownOption", "/phases/0/set", R"({"train.lmit": 1})", ErrorReason::kUnknownKey,
     "phases[0].set.train.lmit", "did you mean 'limit'"},
    {"ValueOutOfRange", "/phases/0/matrix", R"({"train.lr": [0.1, -1]})", ErrorReason::kOptionOutOfRange,
     "phases[0].matrix.train.lr[1]", "0"},
    {"SeedsOfAnotherType", "/phases/1/replicates", R"({"seed": ["x"]})", ErrorReason::kWrongType,
     "phases[1].replicates.seed[0]", "an integer"},
    {"ChoiceThatReadsTest", "/phases/0/metric", R"({"selects_on": "test"})", ErrorReason::kOptionOutOfRange,
     "phases[0].metric.selects_on", "must not be test"},
    {"ChoosesNoFactor", "/phases/0/choose", R"({"factors": ["train.batch"]})", ErrorReason::kInvalidSpecification,
     "phases[0].choose.factors[0]", "its factors are: prior, dataset, train.lr"},
    {"ChoosesWithoutCandidates", "/phases/0/choose", "{}", ErrorReason::kMissingKey, "phases[0].choose.factors",
     "factors: [train.lr]"},
    {"ChoosesForEachOfItself", "/phases/0/choose/per", R"(["train.lr"])", ErrorReason::kInvalidSpecification,
     "phases[0].choose.per[0]", "it cannot have a choice"},
    {"ChoosesByAnotherWord", "/phases/0/choose/by", "\"best\"", ErrorReason::kOptionOutOfRange, "phases[0].choose.by",
     "mean, median, rank"},
    {"RequiresMoreSeedsThanThereAre", "/phases/0/choose/require", R"({"at_least": 4})",
     ErrorReason::kInvalidSpecification, "phases[0].choose.require.at_least", "lists 3"},
    {"GroupsThatWereNotChosenFor", "/phases/1/matrix", R"({"prior": ["none", "rope-axial"]})",
     ErrorReason::kInvalidSpecification, "phases[1].use.train.lr", "makes no choice for"},
    {"MoreTopSeedsThanSeeds", "/phases/1/metric/over_seeds/top", "6", ErrorReason::kInvalidSpecification,
     "phases[1].metric.over_seeds.top", "lists 5"},
    {"NoTopSeeds", "/phases/1/metric/over_seeds", "{}", ErrorReason::kMissingKey, "phases[1].metric.over_seeds.top",
     "{top: 3}"},
    {"SearchOfAPhase", "/phases/0/search", R"({"propose": "sobol", "proposals": 4, "space": {}})",
     ErrorReason::kEmptyMatrix, "phases[0].search.space", "names no path"},
    {"ClientWithoutAnEnd", "/phases/0/search",
     R"({"propose": "external", "space": {"train.weight_decay": {"linear": [0, 0.1]}}})",
     ErrorReason::kInvalidSpecification, "phases[0].search.proposals", "would never be made"},
};

class PhasesRefusal : public testing::TestWithParam<BadPhases> {};

TEST_P(PhasesRefusal, SaysWhatIsWrongWhereAndWhatToDo) {
  const BadPhases& bad = GetParam();
  Json spec = selected();
  spec[Json::json_pointer(bad.place)] = Json::parse(bad.value);
  expect_refused(plan_protocol(spec, test_catalog()).status(), bad);
}

INSTANTIATE_TEST_SUITE_P(All, PhasesRefusal, testing::ValuesIn(kBadPhases),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(PhasesRefusals, OfACandidateThatALaterPhaseCannotUse) {
  Json spec = selected();
  spec["phases"][0]["matrix"] = Json::parse(R"({"train.warmup_epochs": [0, 3]})");
  spec["phases"][0]["choose"]["factors"] = {"train.warmup_epochs"};
  spec["phases"][1]["use"] = Json::parse(R"({"train.warmup_epochs": "select"})");
  spec["phases"][1]["set"]["train.epochs"] = 2;
  const absl::Status status = plan_protocol(spec, test_catalog()).status();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(error_detail(status)->field, "phases[1].use.train.warmup_epochs") << status;
}

}  // namespace
}  // namespace locus
