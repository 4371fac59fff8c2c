// Sections that a catalog adds to specifications: what they change, and that they change nothing where they are left out.
#include <gmock/gmock.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/experiment/plan/planner.h"
#include "core/experiment/schema.h"
#include "tests/core/testdata.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Json with_augmentation(Json document = test_catalog_document()) {
  document["sections"] = Json::parse(
      R"([{"key": "augmentation", "kind": "augmentation", "neutral": "none", "help": "what images go through"}])");
  for (const char* item : {R"({"kind": "augmentation", "id": "none", "revision": 1})",
                           R"({"kind": "augmentation", "id": "crop", "revision": 3,
            "options": [{"name": "padding", "type": "integer", "default": 4, "minimum": 1},
                        {"name": "flip", "type": "boolean", "default": false, "neutral": false}],
            "requires": [{"rule": "at-most", "left": "padding", "right": "extent", "help": "it pads an image"}]})"}) {
    document["items"].push_back(Json::parse(item));
  }
  return document;
}

const Catalog& augmented_catalog() {
  static const Catalog catalog = catalog_of(with_augmentation());
  return catalog;
}

ExperimentPlan sectioned_plan(const Json& specification, const Catalog& catalog = augmented_catalog()) {
  auto plan = plan_experiment(specification, catalog);
  if (!plan.ok()) throw std::runtime_error(plan.status().ToString());
  return *std::move(plan);
}

Json augmented(const char* augmentation) {
  Json spec = demo_specification();
  spec["augmentation"] = Json::parse(augmentation);
  return spec;
}

std::vector<std::string> configurations(const ExperimentPlan& plan) {
  std::vector<std::string> out;
  for (const PlannedTrial& trial : plan.trials) {
    for (const PlannedStage& stage : trial.stages) out.push_back(stage.config_json);
  }
  return out;
}

ErrorDetail refusal(const Json& specification) {
  const auto plan = plan_experiment(specification, augmented_catalog());
  if (plan.ok()) throw std::runtime_error("it was not refused");
  return error_detail(plan.status()).value();
}

TEST(Section, ThatIsLeftOutLeavesEveryConfigurationAsItIs) {
  EXPECT_EQ(configurations(sectioned_plan(demo_specification())),
            configurations(sectioned_plan(demo_specification(), test_catalog())));
}

TEST(Section, AtItsNeutralItemIsAsIfItWereLeftOut) {
  EXPECT_EQ(configurations(sectioned_plan(augmented(R"("none")"))),
            configurations(sectioned_plan(demo_specification())));
}

TEST(Section, IsHashedAmongTheOthersWithItsRevision) {
  for (const std::string& text : configurations(sectioned_plan(augmented(R"({"crop": {"padding": 2}})")))) {
    const Json config = Json::parse(text);
    EXPECT_EQ(config.at("augmentation"), Json::parse(R"({"id": "crop", "options": {"padding": 2}})"));
    EXPECT_EQ(config.at("revisions").at("augmentation/crop"), 3);
    EXPECT_EQ(text, canonical_json(config));
  }
}

TEST(Section, IsAFactorWithLabelsWhoseNeutralCellsAreTheTrainingsThereWere) {
  Json spec = demo_specification();
  spec["matrix"] = Json::parse(R"({"prior": ["none"], "augmentation": ["none", "crop", {"crop": {"padding": 2}}]})");
  spec["baseline"] = {{"augmentation", "none"}};
  const ExperimentPlan plan = sectioned_plan(spec);
  ASSERT_EQ(plan.cells.size(), 3u);
  EXPECT_EQ(plan.cells[0].label, "none, augmentation=none");
  EXPECT_EQ(plan.cells[1].label, "none, augmentation=crop");
  EXPECT_EQ(plan.cells[2].label, "none, augmentation=crop (padding=2)");
  EXPECT_TRUE(plan.cells[0].baseline);
  EXPECT_EQ(plan.matched, "the prior is the same; augmentation differs");
  const ExperimentPlan before = sectioned_plan(demo_specification(), test_catalog());
  EXPECT_EQ(plan.trials[0].stages[0].identity, before.trials[0].stages[0].identity);
  EXPECT_NE(plan.trials[5].stages[0].identity, before.trials[0].stages[0].identity);
  EXPECT_EQ(plan.values.at("augmentation").size(), 3u);
}

TEST(Section, HasOptionsThatAreFactors) {
  Json spec = augmented(R"("crop")");
  spec["matrix"] = Json::parse(R"({"prior": ["none"], "augmentation.padding": [1, 2]})");
  spec.erase("baseline");
  const ExperimentPlan plan = sectioned_plan(spec);
  ASSERT_EQ(plan.cells.size(), 2u);
  EXPECT_EQ(plan.cells[1].label, "none, padding=2");
  EXPECT_THAT(plan.trials[0].stages[0].config_json,
              HasSubstr(R"("augmentation":{"id":"crop","options":{"padding":1}})"));
  EXPECT_EQ(plan.settings.at("augmentation").label, "crop");
}

TEST(Section, OfWhichAStageIsIndependentIsNotInItsConfiguration) {
  Json document = with_augmentation();
  for (Json& item : document["items"]) {
    if (item["kind"] == "stage" && item["id"] == "evaluate") item["facts"]["independent_of"] = {"augmentation"};
  }
  const ExperimentPlan plan = sectioned_plan(augmented(R"("crop")"), catalog_of(document));
  EXPECT_TRUE(Json::parse(plan.trials[0].stages[0].config_json).contains("augmentation"));
  const Json evaluation = Json::parse(plan.trials[0].stages[1].config_json);
  EXPECT_FALSE(evaluation.contains("augmentation"));
  EXPECT_FALSE(evaluation.at("revisions").contains("augmentation/crop"));
}

TEST(Section, IsRefusedWithTheFieldAndTheRemedy) {
  EXPECT_EQ(refusal(augmented(R"("crpo")")).field, "augmentation");
  EXPECT_EQ(refusal(augmented(R"("crpo")")).reason, ErrorReason::kUnknownItem);
  EXPECT_EQ(refusal(augmented(R"({"crop": {"pading": 1}})")).field, "augmentation.pading");
  EXPECT_EQ(refusal(augmented(R"({"crop": {"padding": 0}})")).reason, ErrorReason::kOptionOutOfRange);
  EXPECT_EQ(refusal(augmented(R"({"crop": {"padding": 99}})")).reason, ErrorReason::kConstraintViolated);
  Json misplaced = demo_specification();
  misplaced["matrix"]["augmentaton"] = {"none", "crop"};
  EXPECT_EQ(refusal(misplaced).metadata.at("nearest"), "augmentation");
}

TEST(Section, ThatTheCatalogDoesNotDeclareIsAnUnknownKey) {
  const auto plan = plan_experiment(augmented(R"("none")"), test_catalog());
  EXPECT_TRUE(has_reason(plan.status(), ErrorReason::kUnknownKey)) << plan.status();
}

TEST(Section, OfTheEngineHasNoNameThatSpecificationsUseOtherwise) {
  const Catalog catalog = catalog_of(read_json(LOCUS_SOURCE_ROOT "/engine/catalog.json"));
  const auto& keys = top_level_keys();
  for (std::size_t i = 0; i < catalog.sections().size(); ++i) {
    const bool named = std::find(keys.begin(), keys.end(), catalog.sections()[i].key) != keys.end();
    EXPECT_EQ(named, i < kSectionsOfEvery) << catalog.sections()[i].key;
  }
}

}  // namespace
}  // namespace locus
