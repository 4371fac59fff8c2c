// Planning: what a specification expands to.
#include "core/experiment/plan/planner.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "core/base/error.h"
#include "tests/core/plans.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> labels_of(const ExperimentPlan& plan) {
  std::vector<std::string> out;
  for (const PlannedCell& cell : plan.cells) out.push_back(cell.label);
  return out;
}

// A small comparison to vary: two priors, one seed.
TEST(Plan, OfTheDemoHasSixCellsThirtyTrialsAndSixtyStages) {
  const ExperimentPlan plan = plan_of(demo_specification());
  EXPECT_EQ(plan.name, "fashion-mnist-priors");
  EXPECT_EQ(plan.dataset, "fashion-mnist");
  EXPECT_EQ(plan.task, "classification");
  EXPECT_THAT(labels_of(plan), ElementsAre("none", "learned-absolute", "rope-axial", "alibi-2d",
                                           "learned-absolute + violin", "guidance"));
  ASSERT_EQ(plan.trials.size(), 30u);
  std::set<std::string> identities;
  for (std::size_t i = 0; i < plan.trials.size(); ++i) {
    const PlannedTrial& trial = plan.trials[i];
    EXPECT_EQ(trial.cell, static_cast<std::int64_t>(i / 5));
    EXPECT_EQ(trial.seed, static_cast<std::int64_t>(i % 5));
    ASSERT_EQ(trial.stages.size(), 2u);
    EXPECT_EQ(trial.stages[0].role, "train");
    EXPECT_EQ(trial.stages[1].role, "evaluate");
    EXPECT_THAT(trial.stages[1].inputs,
                ElementsAre(std::pair<std::string, std::string>("checkpoint", trial.stages[0].identity)));
    for (const PlannedStage& stage : trial.stages) identities.insert(stage.identity);
  }
  EXPECT_EQ(identities.size(), 60u);
  EXPECT_THAT(plan.factors, ElementsAre("prior"));
  EXPECT_EQ(plan.evaluation_labels, Json({{"resolution", 28}}));
  EXPECT_EQ(plan.matched, "only the prior differs");
  EXPECT_TRUE(plan.has_baseline);
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    EXPECT_EQ(plan.cells[i].baseline, i == 1);
    EXPECT_EQ(plan.cells[i].pair_group, 0);
  }
  EXPECT_EQ(plan.cells[4].assignment_json, R"({"prior":[{"learned-absolute":{}},{"violin":{}}]})");
  EXPECT_EQ(plan.metric.unit, "%");
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(Plan, WritesTheDocumentedStageConfiguration) {
  const ExperimentPlan plan = plan_of(demo_specification());
  const Json config = Json::parse(plan.trials[20].stages[0].config_json);  // learned-absolute + violin, seed 0
  EXPECT_EQ(canonical_json(config), plan.trials[20].stages[0].config_json);
  EXPECT_EQ(config["kind"], "train");
  EXPECT_EQ(config["dataset"],
            Json({{"id", "fashion-mnist"},
                  {"digest", std::string("abababababababababababababababababababababababababababababababab")},
                  {"options", Json::object()}}));
  EXPECT_EQ(config["priors"][0]["id"], "learned-absolute");
  EXPECT_EQ(config["priors"][1]["options"]["curves"].size(), 8u);
  EXPECT_FALSE(config["priors"][1]["options"].contains("shared"));  // neutral
  EXPECT_EQ(config["recipe"]["options"]["lr"], 0.003);
  EXPECT_EQ(config["stage"], Json({{"options", Json::object()}}));
  EXPECT_EQ(config["inputs"], Json::object());
  EXPECT_EQ(config["revisions"], Json::parse(R"({"prior/violin": 1, "prior/learned-absolute": 1, "backbone/vit": 1,
      "dataset/fashion-mnist": 1, "task/classification": 1, "recipe/supervised": 1, "stage/train": 1})"));
  const Json evaluate = Json::parse(plan.trials[20].stages[1].config_json);
  EXPECT_EQ(canonical_json(evaluate), plan.trials[20].stages[1].config_json);
  EXPECT_EQ(evaluate["inputs"]["checkpoint"], plan.trials[20].stages[0].identity);
  EXPECT_EQ(evaluate["stage"]["options"]["resolution"], Json({28, 42, 56}));
  EXPECT_EQ(evaluate["model"], config["model"]);
  EXPECT_TRUE(evaluate["revisions"].contains("stage/evaluate"));
}

TEST(Plan, GivesStagesTheSameIdentityWhateverTheirLimit) {
  const ExperimentPlan without = plan_of(small()), with = plan_of(small(R"({"limits": {"stage_seconds": 60}})"));
  ASSERT_EQ(with.trials.size(), without.trials.size());
  for (std::size_t i = 0; i < with.trials.size(); ++i)
    EXPECT_EQ(with.trials[i].stages[0].identity, without.trials[i].stages[0].identity);
  EXPECT_EQ(with.stage_seconds, 60);
  EXPECT_EQ(without.stage_seconds, 0);
}

TEST(Plan, SaysWhatEachStageAsksOfAWorker) {
  const ExperimentPlan plan = plan_of(demo_specification());
  const std::vector<PlannedStage>&first = plan.trials[20].stages, &second = plan.trials[21].stages;
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(Json(first[i].requirements->revisions), Json::parse(first[i].config_json)["revisions"]);
    EXPECT_FALSE(first[i].requirements->exclusive);
    EXPECT_EQ(first[i].requirements, second[i].requirements) << "seeds share it";
  }
  EXPECT_EQ(first[0].requirements->revisions.at("prior/violin"), 1);
  EXPECT_EQ(first[0].requirements->memory_bytes, 0) << "this catalog has no formulas";
  const Catalog engine = catalog_of(read_json(LOCUS_SOURCE_ROOT "/engine/catalog.json"));
  const ExperimentPlan costed = plan_of(demo_specification(), engine);
  EXPECT_EQ(costed.trials[0].stages[0].requirements->memory_bytes, std::llround(costed.cells[0].cost.memory_bytes));
  EXPECT_GT(costed.trials[0].stages[0].requirements->memory_bytes, 0);
  EXPECT_EQ(costed.trials[0].stages[1].requirements->memory_bytes, 0) << "an evaluation is not estimated";
}

TEST(Plan, CrossesFactorsAndPairsOnTheRemainingOnes) {
  Json spec = demo_specification();
  spec["matrix"]["train.lr"] = {0.001, 0.003};
  const ExperimentPlan plan = plan_of(spec);
  ASSERT_EQ(plan.cells.size(), 12u);
  EXPECT_THAT(plan.factors, ElementsAre("prior", "train.lr"));
  EXPECT_EQ(plan.cells[0].label, "none, lr=0.001");
  EXPECT_EQ(plan.cells[9].label, "learned-absolute + violin, lr=0.003");
  for (std::size_t i = 0; i < plan.cells.size(); ++i)
    EXPECT_EQ(plan.cells[i].pair_group, static_cast<std::int64_t>(i % 2));
  EXPECT_TRUE(plan.cells[2].baseline);
  EXPECT_TRUE(plan.cells[3].baseline);
  EXPECT_EQ(plan.matched, "besides the prior: train.lr differs");
  EXPECT_THAT(plan.warnings, ElementsAre(HasSubstr("train.lr is fixed and varied")));
  const Json config = Json::parse(plan.trials[0].stages[0].config_json);
  EXPECT_EQ(config["recipe"]["options"]["lr"], 0.001);
}

TEST(Plan, TellsPriorsOfOneIdApartByTheirOptions) {
  const ExperimentPlan plan = plan_of(small(R"({"matrix": {"prior": [
      {"violin": {"curves": ["hilbert", "snake"]}}, {"violin": {"curves": ["snake"], "sigma": 0.5}}, {"none": null},
      {"value": {"violin": {"sigma": 1}}, "label": "violin, wide"}]}})"));
  EXPECT_THAT(labels_of(plan), ElementsAre("violin (curves=hilbert,snake, sigma=0.02)",
                                           "violin (curves=snake, sigma=0.5)", "none", "violin, wide"));
}

TEST(Plan, LabelsPrintEveryOptionThatIsNotAtItsDefault) {
  const ExperimentPlan plan = plan_of(small(R"({"matrix": {"prior": [
      {"violin": {"curves": ["hilbert"], "sigma": 0.02}}, [{"learned-absolute": {"std": 0.5}}, "violin"], "none"]}})"));
  EXPECT_THAT(labels_of(plan), ElementsAre("violin (curves=hilbert)", "learned-absolute (std=0.5) + violin", "none"));
  const ExperimentPlan fixed = plan_of(small(R"({"prior": {"violin": {"sigma": 0.5}},
      "dataset": {"mnist": {"binarize": true}}, "matrix": {"prior": null, "train.lr": [0.001, 0.003]}})"));
  EXPECT_THAT(labels_of(fixed), ElementsAre("violin (sigma=0.5), lr=0.001", "violin (sigma=0.5), lr=0.003"));
  EXPECT_EQ(fixed.settings.at("prior").label, "violin (sigma=0.5)");
  EXPECT_EQ(fixed.settings.at("dataset").label, "mnist (binarize=true)");
}

TEST(Plan, UsesLabelsOfOtherFactorsAndFullPathsWhereShortOnesClash) {
  const ExperimentPlan plan =
      plan_of(small(R"({"prior": "none", "matrix": {"prior": null, "model.dim": [{"value": 64, "label": "tiny"}, 128],
                                                "train.batch": [32, 64]}})"));
  EXPECT_THAT(labels_of(plan), ElementsAre("none, tiny, batch=32", "none, tiny, batch=64", "none, dim=128, batch=32",
                                           "none, dim=128, batch=64"));
}

TEST(Plan, ZipsFactors) {
  const ExperimentPlan plan = plan_of(small(R"({"zip": [{"train.lr": [0.001, 0.003], "train.epochs": [4, 2]}]})"));
  EXPECT_THAT(labels_of(plan), ElementsAre("none, epochs=4, lr=0.001", "none, epochs=2, lr=0.003",
                                           "violin, epochs=4, lr=0.001", "violin, epochs=2, lr=0.003"));
}

TEST(Plan, IncludesCellsAndKeepsOneOfEqualOnes) {
  const ExperimentPlan plan = plan_of(small(R"({"matrix": {"train.lr": [0.001, 0.003]},
      "include": [{"prior": "alibi-2d"}, {"prior": "guidance", "train.lr": 0.01}, {"prior": {"violin": {"sigma": 0.02}}, "train.lr": 0.003}]})"));
  EXPECT_THAT(labels_of(plan), ElementsAre("none, lr=0.001", "none, lr=0.003", "violin, lr=0.001", "violin, lr=0.003",
                                           "alibi-2d, lr=0.001", "alibi-2d, lr=0.003", "guidance, lr=0.01"));
}

TEST(Plan, ExcludesByPartialAssignment) {
  const ExperimentPlan plan =
      plan_of(small(R"({"matrix": {"train.lr": [0.001, 0.003]}, "exclude": [{"prior": "none", "train.lr": 0.003}]})"));
  EXPECT_THAT(labels_of(plan), ElementsAre("none, lr=0.001", "violin, lr=0.001", "violin, lr=0.003"));
}

TEST(Plan, OverridesSettingsOfTheCellsItNames) {
  const ExperimentPlan plan =
      plan_of(small(R"({"overrides": [{"where": {"prior": "violin"}, "set": {"train.lr": 0.0005}}]})"));
  EXPECT_EQ(Json::parse(plan.trials[0].stages[0].config_json)["recipe"]["options"]["lr"], 0.001);
  EXPECT_EQ(Json::parse(plan.trials[1].stages[0].config_json)["recipe"]["options"]["lr"], 0.0005);
  EXPECT_EQ(plan.matched, "besides the prior: train.lr differs");
}

TEST(Plan, KeepsRowKeysWhenAnExtensionAddsValues) {
  const ExperimentPlan before = plan_of(small());
  const ExperimentPlan after =
      plan_of(small(R"({"matrix": {"prior": ["alibi-2d", "none", "violin"]}, "replicates": {"seed": [0, 1]}})"));
  EXPECT_EQ(after.cells[1].row_key, before.cells[0].row_key);
  EXPECT_EQ(after.cells[2].row_key, before.cells[1].row_key);
  EXPECT_EQ(after.trials[2].stages[0].identity, before.trials[0].stages[0].identity);
}

TEST(Plan, OfOneFixedPriorIsASingleCell) {
  Json spec = small(R"({"matrix": null, "prior": ["learned-absolute", "violin"]})");
  const ExperimentPlan plan = plan_of(spec);
  EXPECT_THAT(labels_of(plan), ElementsAre("learned-absolute + violin"));
  EXPECT_EQ(plan.cells[0].row_key, "{}");
  EXPECT_EQ(plan.seeds, std::vector<std::int64_t>{0});
}

TEST(Plan, AddsTheEvaluationThatTheContractReports) {
  const ExperimentPlan plan = plan_of(small());
  ASSERT_EQ(plan.trials[0].stages.size(), 2u);
  EXPECT_EQ(plan.trials[0].stages[1].kind, "evaluate");
  EXPECT_EQ(plan.evaluation_labels, Json({{"resolution", 28}}));
  const ExperimentPlan own = plan_of(small(R"({"metric": {"reports": "validation"}})"));
  EXPECT_EQ(own.trials[0].stages.size(), 1u);
  EXPECT_EQ(own.evaluation_labels, Json::object());
}

TEST(Plan, AddsItBesideAnEvaluationOfAnotherSplit) {
  const ExperimentPlan plan = plan_of(small(R"({"stages": [{"evaluate": {"split": "validation"}}]})"));
  ASSERT_EQ(plan.trials[0].stages.size(), 3u);
  EXPECT_EQ(plan.trials[0].stages[2].role, "evaluate-2");
  EXPECT_THAT(plan.warnings, ElementsAre(HasSubstr("evaluate-2 was added")));
}

TEST(Plan, NumbersARepeatedStageKind) {
  const ExperimentPlan plan = plan_of(small(
      R"({"stages": [{"evaluate": {"resolution": [42]}}, {"evaluate": {"resolution": [28, 56], "interpolation": "bicubic"}}]})"));
  ASSERT_EQ(plan.trials[0].stages.size(), 3u);
  EXPECT_EQ(plan.trials[0].stages[1].role, "evaluate");
  EXPECT_EQ(plan.trials[0].stages[2].role, "evaluate-2");
  EXPECT_EQ(plan.evaluation_labels, Json({{"resolution", 28}}));
}

TEST(Plan, ReportsTheFirstListedResolutionWhenTheNativeOneIsNotEvaluated) {
  EXPECT_EQ(plan_of(small(R"({"stages": [{"evaluate": {"resolution": [56, 42]}}]})")).evaluation_labels,
            Json({{"resolution", 56}}));
}

TEST(Plan, LabelsTheReportOfAPartOfTheSplitAndPrefersThatOfTheWhole) {
  const ExperimentPlan part = plan_of(small(R"({"stages": [{"evaluate": {"images": 500}}]})"));
  EXPECT_EQ(part.trials[0].stages.size(), 2u) << "the part is what the contract asks for";
  EXPECT_EQ(part.evaluation_labels, Json({{"resolution", 28}, {"images", 500}}));
  EXPECT_THAT(part.warnings, ElementsAre(HasSubstr("is that of 500 of the 10000 test images")));
  const ExperimentPlan both =
      plan_of(small(R"({"stages": [{"evaluate": {"images": 500}}, {"evaluate": {"resolution": [42]}}]})"));
  EXPECT_EQ(both.evaluation_labels, Json({{"resolution", 42}}));
  EXPECT_THAT(both.warnings, IsEmpty());
  const auto identity = [](const char* stages) { return plan_of(small(stages)).trials[0].stages[1].identity; };
  EXPECT_EQ(identity(R"({"stages": [{"evaluate": {"images": 0}}]})"), identity(R"({"stages": [{"evaluate": {}}]})"));
  EXPECT_NE(identity(R"({"stages": [{"evaluate": {"images": 500}}]})"), identity(R"({"stages": [{"evaluate": {}}]})"));
}

TEST(Plan, NamesNumbersOfImagesThatASplitDoesNotHave) {
  const auto warnings = [](const char* changes) { return plan_of(small(changes)).warnings; };
  EXPECT_THAT(warnings(R"({"stages": [{"evaluate": {"images": 10001}}]})"),
              ElementsAre(HasSubstr("evaluate.images is 10001, but 'fashion-mnist' has only 10000 test images")));
  EXPECT_THAT(warnings(R"({"train": {"validation_images": 5001}})"),
              ElementsAre(HasSubstr("train.validation_images is 5001, but 'fashion-mnist' has only 5000")));
  EXPECT_THAT(warnings(R"({"train": {"validation_images": 5000}, "stages": [{"evaluate": {"images": 10000}}]})"),
              IsEmpty());
  EXPECT_EQ(plan_of(small(R"({"stages": [{"evaluate": {"images": 10001}}]})")).evaluation_labels,
            Json({{"resolution", 28}}));
}

TEST(Plan, CompletesTheContractFromTheTask) {
  const ExperimentPlan plan = plan_of(small(R"({"metric": {"name": "loss"}})"));
  EXPECT_EQ(plan.metric.direction, "min");
  EXPECT_EQ(plan.metric.selects_on, "validation");
  EXPECT_EQ(plan.metric.reports, "test");
}

TEST(Plan, FindsTheBaselineByLabelOrBareId) {
  const char* labeled =
      R"({"matrix": {"prior": ["none", {"value": {"violin": {"sigma": 1}}, "label": "wide"}]}, "baseline": {"prior": "wide"}})";
  EXPECT_TRUE(plan_of(small(labeled)).cells[1].baseline);
  const char* bare = R"({"matrix": {"prior": ["none", {"violin": {"sigma": 1}}]}, "baseline": {"prior": "violin"}})";
  EXPECT_TRUE(plan_of(small(bare)).cells[1].baseline);
  const char* alias = R"({"matrix": {"prior": ["none", "learned-absolute"]}, "baseline": {"prior": "ape"}})";
  EXPECT_TRUE(plan_of(small(alias)).cells[1].baseline);
}

TEST(Plan, SaysWhichGroupsLackABaseline) {
  const ExperimentPlan plan = plan_of(small(R"({"matrix": {"train.lr": [0.001, 0.003]}, "baseline": {"prior": "none"},
                                                "exclude": [{"prior": "none", "train.lr": 0.003}]})"));
  EXPECT_THAT(plan.warnings, ElementsAre(HasSubstr("1 of 2 comparison groups have no baseline")));
}

TEST(Plan, SaysWhenTwoRowsAreOneTraining) {
  const ExperimentPlan plan = plan_of(small(
      R"({"zip": [{"train.lr": [0.001, 0.003], "train.batch": [32, 64]}], "prior": "none", "matrix": null,
          "include": [{"train.lr": 0.001, "train.batch": 32.0, "model.registers": 0}]})"));
  EXPECT_THAT(plan.warnings, ::testing::Contains(HasSubstr("same training")));
}

TEST(Plan, ProvesTheMatchedProtocol) {
  EXPECT_TRUE(plan_experiment(small(R"({"matched": "prior"})"), test_catalog()).ok());
  EXPECT_TRUE(
      plan_experiment(small(R"({"matched": "prior", "matrix": {"train.lr": [0.001, 0.003]}})"), test_catalog()).ok());
  EXPECT_TRUE(plan_experiment(small(R"({"matched": ["prior", "train.lr"], "zip": [{"train.lr": [0.001, 0.003]}]})"),
                              test_catalog())
                  .ok());
}

TEST(Plan, ReadsTheMatchedProtocolInItsLongForm) {
  EXPECT_EQ(plan_of(small(R"({"matched": {"except": ["prior"]}})")).matched_except, std::vector<std::string>{"prior"});
  EXPECT_EQ(plan_of(small(R"({"matched": {"except": "prior"}})")).matched_except, std::vector<std::string>{"prior"});
}

TEST(Plan, TakesReducersThatHaveStepsToChooseFrom) {
  const auto reduce = [](const std::string& text) {
    return plan_of(small(R"({"metric": {"reports": "validation", "reduce": )" + text + "}}")).metric.reduce;
  };
  EXPECT_EQ(reduce(R"("best")"), "best");
  EXPECT_EQ(reduce(R"({"top": 3})"), "top-3");
  EXPECT_EQ(reduce(R"({"at_step": 300})"), "at-step-300");
}

TEST(Plan, KeepsAndReadsTheBestModelWhereTheContractReportsIt) {
  const ExperimentPlan plan =
      plan_of(small(R"({"metric": {"reduce": "best"}, "stages": [{"evaluate": {"resolution": [28, 42]}}]})"));
  EXPECT_EQ(plan.metric.reduce, "best");
  EXPECT_THAT(plan.warnings, IsEmpty());
  ASSERT_EQ(plan.trials[0].stages.size(), 2u);
  const PlannedStage &train = plan.trials[0].stages[0], &evaluate = plan.trials[0].stages[1];
  EXPECT_EQ(Json::parse(train.config_json)["stage"]["options"], Json({{"keep_best", "top1"}}));
  EXPECT_EQ(Json::parse(evaluate.config_json)["stage"]["options"]["checkpoint"], "best");
  EXPECT_EQ(Json::parse(evaluate.config_json)["inputs"], Json({{"best-checkpoint", train.identity}}));
  EXPECT_THAT(evaluate.inputs, ElementsAre(std::pair<std::string, std::string>("best-checkpoint", train.identity)));
  EXPECT_EQ(plan.evaluation_labels, Json({{"resolution", 28}}));
}

TEST(Plan, OfAnyOtherContractIsTheSameWhetherBestExistsOrNot) {
  const auto train = [](const std::string& metric) {
    return plan_of(small(R"({"metric": )" + metric + "}")).trials[0].stages[0];
  };
  EXPECT_EQ(Json::parse(train("{}").config_json)["stage"]["options"], Json::object());
  EXPECT_EQ(train("{}").identity, train(R"({"reports": "validation", "reduce": "best"})").identity)
      << "that best is read from the curve";
  EXPECT_NE(train("{}").identity, train(R"({"reduce": "best"})").identity) << "the best model is an output";
  EXPECT_NE(train(R"({"name": "loss", "reduce": "best"})").identity, train(R"({"reduce": "best"})").identity);
}

TEST(Plan, TestsTheLastModelBesideTheBestWhereAsked) {
  const ExperimentPlan plan =
      plan_of(small(R"({"metric": {"reduce": "best"}, "stages": [{"evaluate": {"checkpoint": "last"}}]})"));
  ASSERT_EQ(plan.trials[0].stages.size(), 3u);
  EXPECT_EQ(plan.trials[0].stages[1].inputs[0].first, "checkpoint");
  EXPECT_EQ(plan.trials[0].stages[2].inputs[0].first, "best-checkpoint");
  EXPECT_THAT(plan.warnings, ElementsAre(HasSubstr("no listed stage evaluates the best model")));
  const ExperimentPlan other = plan_of(small(R"({"stages": [{"evaluate": {"checkpoint": "best"}}]})"));
  ASSERT_EQ(other.trials[0].stages.size(), 3u);
  EXPECT_EQ(other.trials[0].stages[2].inputs[0].first, "checkpoint") << "the contract reports the last";
}

TEST(Plan, SaysWhenStepsAreComparedByAPartOfTheValidationSplit) {
  const auto warnings = [](const std::string& metric, int images) {
    return plan_of(small(R"({"metric": )" + metric + R"(, "train": {"validation_images": )" + std::to_string(images) +
                         "}}"))
        .warnings;
  };
  EXPECT_THAT(warnings(R"({"reduce": "best"})", 1000), ElementsAre(HasSubstr("the first 1000 of 5000")));
  EXPECT_THAT(warnings(R"({"reports": "validation", "reduce": {"top": 3}})", 1000),
              ElementsAre(HasSubstr("train.validation_images: 0 for all")));
  EXPECT_THAT(warnings(R"({"reduce": "best"})", 0), IsEmpty());
  EXPECT_THAT(warnings("{}", 1000), IsEmpty());
}

TEST(Plan, NamesEveryValueOfAFactorAndWhatHoldsElsewhere) {
  const ExperimentPlan plan = plan_of(small(R"({"matrix": {"train.lr": [0.001, {"value": 0.003, "label": "fast"}]}})"));
  ASSERT_EQ(plan.values.at("train.lr").size(), 2u);
  EXPECT_EQ(plan.values.at("train.lr")[0].label, "0.001");
  EXPECT_EQ(plan.values.at("train.lr")[1].value, "0.003");
  EXPECT_EQ(plan.values.at("train.lr")[1].label, "fast");
  EXPECT_EQ(plan.settings.at("dataset").label, "fashion-mnist");
  EXPECT_TRUE(plan.settings.contains("train.weight_decay")) << "a default counts as a setting";
  EXPECT_FALSE(plan.settings.contains("train.lr"));
  EXPECT_EQ(plan.compared, std::vector<std::string>{"prior"});
}

TEST(Plan, HoldsAsManyTrialsAsTheLimitAllows) {
  Json spec = small(R"({"matrix": {"prior": ["none"], "train.lr": [], "train.weight_decay": []}})");
  for (int i = 1; i <= 100; ++i) {
    spec["matrix"]["train.lr"].push_back(i * 1e-4);
    spec["matrix"]["train.weight_decay"].push_back(i * 1e-3);
  }
  EXPECT_EQ(plan_of(spec).trials.size(), 10000u);
}

}  // namespace
}  // namespace locus
