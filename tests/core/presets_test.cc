// Named sizes of items: what they stand for, who wins over them, and that nothing keeps their names.
#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/experiment/plan/planner.h"
#include "tests/core/testdata.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Json sized_document() {
  Json document = test_catalog_document();
  for (Json& item : document["items"]) {
    if (item["id"] == "vit") {
      item["presets"] = {{"tiny", {{"dim", 32}, {"depth", 2}, {"heads", 2}, {"patch", 14}}},
                         {"small", {{"dim", 64}, {"depth", 4}, {"heads", 4}}}};
    }
    if (item["id"] == "mnist") item["facts"]["defaults"] = {{"model.patch", 4}, {"model.registers", 1}};
  }
  return document;
}

const Catalog& sized_catalog() {
  static const Catalog catalog = catalog_of(sized_document());
  return catalog;
}

Json preset_specification(const std::string& model, const std::string& changes = "{}") {
  Json spec = Json::parse(R"({"version": 1, "name": "sized", "dataset": "fashion-mnist", "prior": "none"})");
  spec["model"] = Json::parse(model);
  spec.merge_patch(Json::parse(changes));
  return spec;
}

ExperimentPlan plan_of(const Json& spec) {
  auto plan = plan_experiment(spec, sized_catalog());
  if (!plan.ok()) throw std::runtime_error(plan.status().ToString());
  return *std::move(plan);
}

Json model_of(const ExperimentPlan& plan, std::size_t trial = 0) {
  return Json::parse(plan.trials.at(trial).stages.at(0).config_json).at("model").at("options");
}

std::string identity_of(const Json& spec) { return plan_of(spec).trials.at(0).stages.at(0).identity; }

absl::Status preset_refusal(const Json& spec) {
  const auto plan = plan_experiment(spec, sized_catalog());
  if (plan.ok()) throw std::runtime_error("it was not refused");
  return plan.status();
}

TEST(Sizes, AreOneStageWithTheirNumbersWrittenOut) {
  const std::string written =
      identity_of(preset_specification(R"({"backbone": "vit", "dim": 32, "depth": 2, "heads": 2, "patch": 14})"));
  EXPECT_EQ(identity_of(preset_specification(R"({"backbone": "vit", "size": "tiny"})")), written);
  EXPECT_EQ(identity_of(preset_specification(R"({"backbone": {"vit": {"size": "tiny"}}})")), written);
  EXPECT_NE(identity_of(preset_specification(R"({"backbone": "vit", "size": "small"})")), written);
}

TEST(Sizes, AreInNoStageConfiguration) {
  const ExperimentPlan plan = plan_of(preset_specification(R"({"backbone": "vit", "size": "tiny"})"));
  for (const PlannedStage& stage : plan.trials.at(0).stages) {
    EXPECT_THAT(stage.config_json, Not(HasSubstr("tiny")));
    EXPECT_FALSE(model_of(plan).contains("size"));
  }
  EXPECT_EQ(plan.settings.at("model.dim").value, "32");
}

TEST(Sizes, YieldToWhatIsWrittenBesideThem) {
  const Json model = model_of(plan_of(preset_specification(R"({"backbone": "vit", "size": "tiny", "depth": 7})")));
  EXPECT_EQ(model.at("depth"), 7);
  EXPECT_EQ(model.at("dim"), 32);
  const Json varied =
      preset_specification(R"({"backbone": "vit", "size": "tiny"})", R"({"matrix": {"model.depth": [5, 6]}})");
  EXPECT_EQ(model_of(plan_of(varied), 1).at("depth"), 6);
  EXPECT_EQ(model_of(plan_of(varied), 1).at("heads"), 2);
}

TEST(Sizes, LeaveOutWhatMeansNothingBesideWhatIsWritten) {
  Json document = sized_document();
  for (Json& item : document["items"]) {
    if (item["id"] != "vit") continue;
    item["options"].push_back({{"name", "spare"},
                               {"type", "boolean"},
                               {"default", false},
                               {"neutral", false},
                               {"help", "h"},
                               {"when", {{"option", "pool"}, {"values", {"mean"}}}}});
    item["presets"]["tiny"]["spare"] = true;
  }
  const Catalog catalog = catalog_of(document);
  const auto spare = [&](const std::string& model) {
    const auto plan = plan_experiment(preset_specification(model), catalog);
    return plan.ok() ? model_of(*plan).value("spare", false) ? "yes" : "no" : "refused";
  };
  EXPECT_STREQ(spare(R"({"backbone": "vit", "size": "tiny"})"), "yes");
  EXPECT_STREQ(spare(R"({"backbone": "vit", "size": "tiny", "pool": "cls"})"), "no");
  EXPECT_STREQ(spare(R"({"backbone": "vit", "size": "tiny", "pool": "cls", "spare": true})"), "refused");
}

TEST(Sizes, WinOverWhatADatasetBrings) {
  const auto on_mnist = [](const std::string& model) {
    return model_of(plan_of(preset_specification(model, R"({"dataset": "mnist"})")));
  };
  EXPECT_EQ(on_mnist(R"({"backbone": "vit"})").at("patch"), 4);
  EXPECT_EQ(on_mnist(R"({"backbone": "vit", "size": "tiny"})").at("patch"), 14);
  EXPECT_EQ(on_mnist(R"({"backbone": "vit", "size": "tiny"})").at("registers"), 1) << "the size says nothing of them";
  EXPECT_EQ(on_mnist(R"({"backbone": "vit", "size": "small"})").at("patch"), 4) << "the size says nothing of it";
}

TEST(Sizes, AreFactorsWhoseLabelsShowThem) {
  const ExperimentPlan plan =
      plan_of(preset_specification(R"({"backbone": "vit"})", R"({"matrix": {"model.size": ["tiny", "small"]}})"));
  ASSERT_EQ(plan.cells.size(), 2U);
  EXPECT_THAT(plan.cells[0].label, HasSubstr("size=tiny"));
  EXPECT_THAT(plan.cells[1].label, HasSubstr("size=small"));
  EXPECT_EQ(model_of(plan, 0).at("dim"), 32);
  EXPECT_EQ(model_of(plan, 1).at("dim"), 64);
  const ExperimentPlan zipped = plan_of(preset_specification(
      R"({"backbone": "vit"})", R"({"zip": [{"model.size": ["tiny", "small"], "train.lr": [0.001, 0.002]}]})"));
  EXPECT_EQ(model_of(zipped, 1).at("depth"), 4);
}

TEST(Sizes, OfABackboneAsAFactorStandInItsText) {
  const ExperimentPlan plan = plan_of(
      preset_specification("{}", R"({"matrix": {"model.backbone": [{"vit": {"size": "tiny"}}, {"vit": {"size": "small",
                              "registers": 2}}]}})"));
  EXPECT_THAT(plan.cells.at(0).label, HasSubstr("vit (size=tiny)"));
  EXPECT_THAT(plan.cells.at(1).label, HasSubstr("vit (size=small, registers=2)"));
}

TEST(Sizes, CanBeSetByOverrides) {
  const ExperimentPlan plan = plan_of(preset_specification(R"({"backbone": "vit", "size": "tiny"})",
                                                           R"({"prior": null, "matrix": {"prior": ["none", "violin"]},
          "overrides": [{"where": {"prior": "violin"}, "set": {"model.size": "small"}}]})"));
  EXPECT_EQ(model_of(plan, 0).at("dim"), 32);
  EXPECT_EQ(model_of(plan, 1).at("dim"), 64);
}

// The options that a size gives differ with it; nothing else may.
TEST(Sizes, AloneMayDifferWhereTheyAreMatched) {
  const char* sizes = R"({"prior": null, "matrix": {"prior": ["none", "violin"], "model.size": ["tiny", "small"]},
                          "matched": {"except": ["prior", "model.size"]}})";
  const auto plan = plan_experiment(preset_specification(R"({"backbone": "vit"})", sizes), sized_catalog());
  EXPECT_TRUE(plan.ok()) << plan.status();
}

TEST(Sizes, ThatNobodyKnowsAreRefusedWithThoseThereAre) {
  const absl::Status unknown = preset_refusal(preset_specification(R"({"backbone": "vit", "size": "tinny"})"));
  EXPECT_TRUE(has_reason(unknown, ErrorReason::kOptionOutOfRange)) << unknown;
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("did you mean 'tiny'?"));
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("small, tiny"));
  EXPECT_EQ(error_detail(unknown).value().field, "model.size");
  const absl::Status factor = preset_refusal(
      preset_specification(R"({"backbone": "vit"})", R"({"matrix": {"model.size": ["tiny", "enormous"]}})"));
  EXPECT_EQ(error_detail(factor).value().field, "matrix.model.size[1]");
  EXPECT_TRUE(
      has_reason(preset_refusal(preset_specification(R"({"backbone": "vit", "size": 3})")), ErrorReason::kWrongType));
}

TEST(Sizes, AreNoKeyOfItemsThatHaveNone) {
  const auto plan = plan_experiment(preset_specification(R"({"backbone": "vit", "size": "tiny"})"), test_catalog());
  EXPECT_TRUE(has_reason(plan.status(), ErrorReason::kUnknownKey)) << plan.status();
}

TEST(Sizes, OfACatalogGiveOptionsThatTheItemHas) {
  const auto broken = [](auto change) {
    Json document = sized_document();
    for (Json& item : document["items"]) {
      if (item["id"] == "vit") change(item);
    }
    return std::string(Catalog::parse(document).status().message());
  };
  EXPECT_THAT(broken([](Json& item) { item["presets"]["tiny"]["window"] = 7; }), HasSubstr("no option 'window'"));
  EXPECT_THAT(broken([](Json& item) { item["presets"]["tiny"]["dim"] = "wide"; }), HasSubstr("dim must be an integer"));
  EXPECT_THAT(broken([](Json& item) {
                item["options"].push_back({{"name", "size"}, {"type", "integer"}, {"default", 1}, {"help", "h"}});
              }),
              HasSubstr("the key that names a preset"));
}

}  // namespace
}  // namespace locus
