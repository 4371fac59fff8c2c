// A prior that is set otherwise in single stages of a backbone, or left out of some.
#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/experiment/plan/planner.h"
#include "tests/core/testdata.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// With a backbone of as many stages as `dims` lists.
const Catalog& staged_catalog() {
  static const Catalog catalog = [] {
    Json document = test_catalog_document();
    const std::map<std::string, const char*> costs = {
        {"violin", R"json({"parameters": "curves * depth * heads + 100 * blocks_before"})json"},
        {"learned-absolute", R"json({"parameters": "dim"})json"},
        {"guidance", R"json({"parameters": "0", "training_only": "dim"})json"},
        {"alibi-2d", R"json({"parameters": "0", "axial": "1"})json"}};
    for (Json& item : document["items"]) {
      const auto found = costs.find(item["id"]);
      if (found != costs.end()) item["facts"]["costs"] = Json::parse(found->second);
    }
    document["items"].push_back(Json::parse(R"json({"kind": "backbone", "id": "pyramid", "revision": 1, "options": [
        {"name": "dims", "type": "list", "element": "integer", "default": [32, 64], "min_items": 1},
        {"name": "depths", "type": "list", "element": "integer", "default": [1, 2], "min_items": 1},
        {"name": "heads", "type": "list", "element": "integer", "default": [2, 4], "min_items": 1}],
      "facts": {"stages": {"option": "dims", "each": {"dim": "dims", "depth": "depths", "heads": "heads"}},
                "costs": {"parameters": "sum_stages(depth * block) + dims[stages - 1]", "block": "dim * heads",
                          "activations": "sum_stages(rows * dim * (1 + axial))",
                          "rows": "ceil(height / 2 ^ (stage + 2))"}}})json"));
    return catalog_of(document);
  }();
  return catalog;
}

Json staged_specification(const std::string& prior, const std::string& model = R"({"backbone": "pyramid"})") {
  Json spec = Json::parse(R"({"version": 1, "name": "staged", "dataset": "fashion-mnist"})");
  spec["model"] = Json::parse(model);
  spec["prior"] = Json::parse(prior);
  return spec;
}

ExperimentPlan staged_plan(const Json& spec) {
  auto plan = plan_experiment(spec, staged_catalog());
  if (!plan.ok()) throw std::runtime_error(plan.status().ToString());
  return *std::move(plan);
}

Json priors_of(const Json& spec) { return Json::parse(staged_plan(spec).trials[0].stages[0].config_json).at("priors"); }

absl::Status staged_refusal(const Json& spec) {
  const auto plan = plan_experiment(spec, staged_catalog());
  if (plan.ok()) throw std::runtime_error("it was not refused");
  return plan.status();
}

std::string field_of(const absl::Status& status) { return error_detail(status).value().field; }

TEST(PriorStages, AreInTheConfigurationBesideTheOptions) {
  const Json prior =
      priors_of(staged_specification(R"({"violin": {"sigma": 0.1, "stages": [{"sigma": 0.5}, {}]}})")).at(0);
  EXPECT_EQ(prior.at("options").at("sigma"), 0.1);
  EXPECT_EQ(prior.at("stages"), Json::parse(R"([{"sigma": 0.5}, {}])"));
  EXPECT_FALSE(prior.at("options").contains("stages"));
}

TEST(PriorStages, SayWhereAPriorIsLeftOut) {
  EXPECT_EQ(priors_of(staged_specification(R"({"alibi-2d": {"stages": [null, {}]}})")).at(0).at("stages"),
            Json::parse("[null, {}]"));
}

TEST(PriorStages, WithinWindowsTakeNoPriorThatAsksForNone) {
  for (const bool windows : {false, true}) {
    Json document = test_catalog_document();
    for (Json& item : document["items"]) {
      if (item["id"] != "violin") continue;
      item["requires"] = Json::parse(R"([{"rule": "none", "value": "windows", "help": "lines leave windows"}])");
    }
    document["items"].push_back(
        {{"kind", "backbone"}, {"id", "paned"}, {"revision", 1}, {"facts", {{"windows", windows}}}});
    const auto plan =
        plan_experiment(staged_specification(R"("violin")", R"({"backbone": "paned"})"), catalog_of(document));
    ASSERT_EQ(plan.ok(), !windows) << plan.status();
    if (!windows) continue;
    EXPECT_THAT(std::string(plan.status().message()), HasSubstr("lines leave windows"));
  }
}

TEST(PriorStages, InWhichNothingDiffersLeaveTheConfigurationAsItIs) {
  const std::string plain =
      staged_plan(staged_specification(R"({"violin": {"sigma": 0.1}})")).trials[0].stages[0].config_json;
  for (const char* same : {R"({"violin": {"sigma": 0.1, "stages": [{}, {}]}})",
                           R"({"violin": {"sigma": 0.1, "stages": [{"sigma": 0.1}, {"shared": false}]}})"}) {
    EXPECT_EQ(staged_plan(staged_specification(same)).trials[0].stages[0].config_json, plain) << same;
  }
}

TEST(PriorStages, KeepOnlyWhatDiffersSoThatEqualSettingsAreOneTraining) {
  const auto identity = [](const char* prior) {
    return staged_plan(staged_specification(prior)).trials[0].stages[0].identity;
  };
  EXPECT_EQ(identity(R"({"violin": {"stages": [{"sigma": 0.5}, {}]}})"),
            identity(R"({"violin": {"stages": [{"sigma": 0.5, "shared": false}, {"sigma": 0.02}]}})"));
}

TEST(PriorStages, OfAPlainNetworkAreTheOptionsThemselves) {
  const char* vit = R"({"backbone": "vit"})";
  EXPECT_EQ(staged_plan(staged_specification(R"({"violin": {"stages": [{"sigma": 0.5}]}})", vit))
                .trials[0]
                .stages[0]
                .identity,
            staged_plan(staged_specification(R"({"violin": {"sigma": 0.5}})", vit)).trials[0].stages[0].identity);
}

TEST(PriorStages, StandInLabelsAndAssignments) {
  Json spec = staged_specification("null");
  spec.erase("prior");
  spec["matrix"] =
      Json::parse(R"({"prior": ["violin", {"violin": {"stages": [{"sigma": 0.5, "curves": ["snake"]}, null]}},
                                             {"violin": {"stages": [{}, {"sigma": 0.5}]}}]})");
  const ExperimentPlan plan = staged_plan(spec);
  ASSERT_EQ(plan.cells.size(), 3u);
  EXPECT_EQ(plan.cells[0].label, "violin");
  EXPECT_EQ(plan.cells[1].label, "violin (stages=[curves=snake sigma=0.5; left out])");
  EXPECT_EQ(plan.cells[2].label, "violin (stages=[same; sigma=0.5])");
  EXPECT_EQ(plan.cells[2].assignment_json, R"({"prior":[{"violin":{"stages":[{},{"sigma":0.5}]}}]})");
}

TEST(PriorStages, AreAsManyAsTheBackboneHas) {
  const absl::Status status = staged_refusal(staged_specification(R"({"violin": {"stages": [{}, {}, {"sigma": 1}]}})"));
  EXPECT_EQ(field_of(status), "prior.violin.stages");
  EXPECT_THAT(status.message(), HasSubstr("lists 3 stages, but the backbone 'pyramid' has 2"));
  EXPECT_THAT(
      staged_refusal(staged_specification(R"({"violin": {"stages": [{}, null]}})", R"({"backbone": "vit"})")).message(),
      HasSubstr("the backbone 'vit' has 1"));
  EXPECT_EQ(priors_of(staged_specification(R"({"violin": {"stages": [{}, {}, {"sigma": 1}]}})",
                                           R"({"backbone": "pyramid", "dims": [8, 8, 8], "heads": [2, 2, 2]})"))
                .at(0)
                .at("stages")
                .size(),
            3u);
}

TEST(PriorStages, AreRefusedWithTheFieldOfTheStage) {
  EXPECT_EQ(field_of(staged_refusal(staged_specification(R"({"violin": {"stages": [{}, {"sigam": 1}]}})"))),
            "prior.violin.stages[1].sigam");
  EXPECT_EQ(field_of(staged_refusal(staged_specification(R"({"violin": {"stages": [{"sigma": -1}, {}]}})"))),
            "prior.violin.stages[0].sigma");
  EXPECT_EQ(field_of(staged_refusal(staged_specification(R"({"violin": {"stages": ["snake", {}]}})"))),
            "prior.violin.stages[0]");
  EXPECT_EQ(field_of(staged_refusal(staged_specification(R"({"violin": {"stages": {"sigma": 1}}})"))),
            "prior.violin.stages");
  for (const char* nowhere : {R"({"violin": {"stages": [null, null]}})", R"({"violin": {"stages": []}})"}) {
    const absl::Status status = staged_refusal(staged_specification(nowhere));
    EXPECT_EQ(field_of(status), "prior.violin.stages");
    EXPECT_THAT(status.message(), HasSubstr("out of every stage"));
  }
}

TEST(PriorStages, ThatAPriorIsLeftOutOfAskNothingOfTheNetwork) {
  const char* narrow = R"({"backbone": "pyramid", "dims": [12, 64], "heads": [2, 4]})";  // heads of 6 and 16
  EXPECT_THAT(staged_refusal(staged_specification(R"("rope-axial")", narrow)).message(), HasSubstr("head_width"));
  EXPECT_THAT(staged_refusal(staged_specification(R"({"rope-axial": {"stages": [{}, null]}})", narrow)).message(),
              HasSubstr("cannot be used in stage 0"));
  EXPECT_EQ(priors_of(staged_specification(R"({"rope-axial": {"stages": [null, {}]}})", narrow)).size(), 1u);
}

TEST(PriorStages, ThatTwoPriorsShareHoldThemToTheirExclusions) {
  const auto pair = [](const char* first, const char* second) {
    return staged_specification(std::string(R"([{"rope-axial": {"stages": )") + first +
                                R"(}}, {"rope-mixed": {"stages": )" + second + "}}]");
  };
  EXPECT_EQ(priors_of(pair("[{}, null]", "[null, {}]")).size(), 2u);
  EXPECT_TRUE(has_reason(staged_refusal(pair("[{}, null]", "[{}, {}]")), ErrorReason::kConflictingPriors));
}

TEST(PriorStages, AreCountedEachWithItsOptionsAndItsWidth) {
  const auto cost = [](const char* prior) { return staged_plan(staged_specification(prior)).cells[0].cost; };
  constexpr double kBare = 1 * 32 * 2 + 2 * 64 * 4 + 64;
  for (const auto& [prior, own] :
       std::map<const char*, double>{{R"("violin")", 8 * 1 * 2 + 8 * 2 * 4 + 100},
                                     {R"({"violin": {"stages": [{}, {}]}})", 8 * 1 * 2 + 8 * 2 * 4 + 100},
                                     {R"({"violin": {"stages": [null, {}]}})", 8 * 2 * 4 + 100},
                                     {R"({"violin": {"stages": [{"curves": ["snake"]}, null]}})", 1 * 1 * 2}}) {
    EXPECT_THAT(cost(prior).uncounted, ElementsAre()) << prior;
    EXPECT_EQ(cost(prior).prior_parameters, own) << prior;
    EXPECT_EQ(cost(prior).parameters, kBare + own) << prior;
  }
  EXPECT_EQ(cost(R"("learned-absolute")").prior_parameters, 32) << "it embeds at the stem";
  EXPECT_EQ(cost(R"("guidance")").training_parameters, 64) << "its loss reads the last stage";
}

TEST(PriorStages, InWhichAttentionRunsAlongTheAxesKeepOtherActivations) {
  const auto memory = [](const char* prior) {
    return staged_plan(staged_specification(prior)).cells[0].cost.memory_bytes;
  };
  constexpr double kFirst = 7 * 32, kSecond = 4 * 64;
  const double bare = memory(R"({"violin": {"stages": [null, {"curves": ["snake"]}]}})");
  const double counted = 16 * (1 * 2 * 4 + 100);  // weights, gradients and moments of that one
  const double everywhere = memory(R"("alibi-2d")"), last = memory(R"({"alibi-2d": {"stages": [null, {}]}})");
  EXPECT_GT(last, bare - counted);
  EXPECT_DOUBLE_EQ((last - (bare - counted)) * (kFirst + kSecond), (everywhere - (bare - counted)) * kSecond);
}

TEST(PriorStages, AreNoNameOfAnOption) {
  Json document = test_catalog_document();
  for (Json& item : document["items"]) {
    if (item["id"] == "violin")
      item["options"].push_back(Json::parse(R"({"name": "stages", "type": "integer", "default": 1})"));
  }
  EXPECT_THAT(Catalog::parse(document).status().message(), HasSubstr("name it otherwise"));
}

}  // namespace
}  // namespace locus
