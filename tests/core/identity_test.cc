// Identity: what the hash of a stage depends on, and what it must not depend on.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "core/base/sha256.h"
#include "core/experiment/plan/planner.h"
#include "tests/core/testdata.h"

namespace locus {
namespace {

using Identities = std::vector<std::string>;

Identities identities(const Json& specification, const Json& catalog_document = test_catalog_document()) {
  const Catalog catalog = catalog_of(catalog_document);
  const auto plan = plan_experiment(specification, catalog);
  if (!plan.ok()) throw std::runtime_error(plan.status().ToString());
  Identities out;
  for (const PlannedTrial& trial : plan->trials) {
    for (const PlannedStage& stage : trial.stages) out.push_back(stage.identity);
  }
  return out;
}

Json& item(Json& catalog, const std::string& kind, const std::string& id) {
  for (Json& one : catalog["items"]) {
    if (one["kind"] == kind && one["id"] == id) return one;
  }
  throw std::runtime_error("no " + kind + " " + id);
}

TEST(Identity, IsTheSha256OfTheConfiguration) {
  const auto plan = plan_experiment(demo_specification(), test_catalog());
  ASSERT_TRUE(plan.ok());
  for (const PlannedStage& stage : plan->trials[7].stages) EXPECT_EQ(stage.identity, sha256_hex(stage.config_json));
}

// Computed by an independent program from docs/formats/catalog.md. Fixed for ever: if this moves, every
// stored result is orphaned.
TEST(Identity, OfAKnownSpecificationStaysWhatItIs) {
  const auto plan = plan_experiment(demo_specification(), test_catalog());
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->trials[0].stages[0].identity, "774ff154bb0be271b3ef74bef28c94858ac6fa98250c715c1360ffb652bc445c");
  EXPECT_EQ(plan->trials[29].stages[1].identity, "b1a4b2a62ade3771b1053ed0cb273a71bf64c93e909017b6cdd548190aa676e0");
}

Json catalog_with_measure() {
  Json document = test_catalog_document();
  Json measure = item(document, "stage", "evaluate");
  measure["id"] = "measure";
  measure["facts"] = {
      {"inputs", Json::array()}, {"outputs", Json::array()}, {"exclusive", true}, {"independent_of", {"recipe"}}};
  document["items"].push_back(measure);
  return document;
}

// The stages of that role, by trial.
std::vector<PlannedStage> measures(const Json& specification) {
  const Catalog catalog = catalog_of(catalog_with_measure());
  const auto plan = plan_experiment(specification, catalog);
  if (!plan.ok()) throw std::runtime_error(plan.status().ToString());
  std::vector<PlannedStage> out;
  for (const PlannedTrial& trial : plan->trials) {
    for (const PlannedStage& stage : trial.stages) {
      if (stage.role == "measure") out.push_back(stage);
    }
  }
  return out;
}

Json measuring() {
  Json spec = demo_specification();
  spec["stages"].push_back({{"measure", {{"resolution", {28}}}}});
  return spec;
}

TEST(Identity, CarriesThatAStageRunsAloneAndNothingItIsIndependentOf) {
  for (const PlannedStage& stage : measures(measuring())) {
    const Json config = Json::parse(stage.config_json);
    EXPECT_EQ(config.at("exclusive"), true);
    EXPECT_TRUE(stage.requirements->exclusive);
    EXPECT_FALSE(config.contains("recipe"));
    EXPECT_FALSE(config.at("revisions").contains("recipe/supervised"));
    EXPECT_TRUE(config.at("inputs").empty());
    EXPECT_EQ(stage.config_json, canonical_json(config));
    EXPECT_EQ(stage.identity, sha256_hex(stage.config_json));
  }
}

TEST(Identity, OfWhatIsIndependentOfTheRecipeIsSharedByRecipesNotBySeedsOrModels) {
  Json other = measuring();
  other["train"]["lr"] = 0.5;
  other["name"] = "other";
  const auto one = measures(measuring()), two = measures(other);
  std::set<std::string> distinct;
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].identity, two[i].identity);
    distinct.insert(one[i].identity);
  }
  EXPECT_EQ(distinct.size(), 6u * 5u) << "every prior, every seed: a seed is a repeat";
}

TEST(Identity, OfOtherStagesIsUntouchedByAMeasurementBesideThem) {
  const auto plan = plan_experiment(measuring(), catalog_of(catalog_with_measure()));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->trials[0].stages[0].identity, identities(demo_specification())[0]);
  EXPECT_FALSE(Json::parse(plan->trials[0].stages[0].config_json).contains("exclusive"));
}

TEST(Identity, DoesNotDependOnKeyOrderNamesOrPriority) {
  Json other = Json::parse(R"({"train": {"limit": 16000, "lr": 3e-3, "batch": 32.0, "epochs": 2},
    "stages": [{"evaluate": {"resolution": [28, 42, 56]}}], "replicates": {"seed": [0, 1, 2, 3, 4]}, "priority": 7, "class": "scavenge", "owner": "ada",
    "placement": {"devices": 4, "require": {"pool": "vision"}, "prefer": {"node/cores": "8"}},
    "description": "another name for the same work", "name": "another-name",
    "model": {"pool": "mean", "patch": 7, "heads": 4, "depth": 3, "dim": 64, "backbone": "vit"},
    "matrix": {"prior": ["none", "ape", "rope-axial", "alibi-2d", ["learned-absolute", "violin"], "guidance"]},
    "dataset": {"fashion-mnist": {}}, "task": "classification", "version": 1})");
  EXPECT_EQ(identities(other), identities(demo_specification()));
}

TEST(Identity, DoesNotDependOnWhetherADefaultIsWritten) {
  Json spec = demo_specification();
  spec["model"]["mlp_ratio"] = 4;
  spec["model"]["registers"] = 0;
  spec["train"]["weight_decay"] = 0.05;
  spec["train"]["recipe"] = "supervised";
  spec["stages"][0]["evaluate"]["split"] = "test";
  EXPECT_EQ(identities(spec), identities(demo_specification()));
}

TEST(Identity, DependsOnEveryScientificField) {
  const Identities before = identities(demo_specification());
  for (const char* changes :
       {R"({"model": {"dim": 128}})", R"({"train": {"lr": 0.002}})", R"({"train": {"limit": 15000}})",
        R"({"dataset": "mnist"})", R"({"replicates": {"seed": [10, 11, 12, 13, 14]}})",
        R"({"task": {"classification": {"label_smoothing": 0.1}}})"}) {
    Json spec = demo_specification();
    spec.merge_patch(Json::parse(changes));
    const Identities after = identities(spec);
    ASSERT_EQ(after.size(), before.size());
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NE(after[i], before[i]) << changes << " stage " << i;
  }
}

TEST(Identity, OfTrainingDoesNotDependOnTheEvaluation) {
  Json spec = demo_specification();
  spec["stages"][0]["evaluate"]["interpolation"] = "bicubic";
  const Identities before = identities(demo_specification()), after = identities(spec);
  for (std::size_t i = 0; i < before.size(); i += 2) {
    EXPECT_EQ(after[i], before[i]);
    EXPECT_NE(after[i + 1], before[i + 1]);
  }
}

TEST(Identity, IsKeptByANewOptionAtItsNeutralValue) {
  Json catalog = test_catalog_document();
  item(catalog, "recipe", "supervised")["options"].push_back(
      {{"name", "mixup"}, {"type", "number"}, {"default", 0.0}, {"neutral", 0.0}, {"minimum", 0.0}});
  item(catalog, "prior", "none")["options"].push_back(
      {{"name", "x"}, {"type", "boolean"}, {"default", false}, {"neutral", false}});
  EXPECT_EQ(identities(demo_specification(), catalog), identities(demo_specification()));
}

TEST(Identity, OfATrainingWithoutSnapshotsIsThatOfATimeThatKnewNone) {
  const Json now = read_json(LOCUS_SOURCE_ROOT "/engine/catalog.json");
  Json before = now;
  Json& options = item(before, "recipe", "supervised")["options"];
  const auto snapshots =
      std::find_if(options.begin(), options.end(), [](const Json& option) { return option["name"] == "snapshots"; });
  ASSERT_NE(snapshots, options.end());
  options.erase(snapshots);
  const Identities old = identities(demo_specification(), before);
  EXPECT_EQ(identities(demo_specification(), now), old);
  Json spec = demo_specification();
  spec["train"]["snapshots"] = 0;
  EXPECT_EQ(identities(spec, now), old);
  spec["train"]["snapshots"] = 3;
  const Identities kept = identities(spec, now);
  for (std::size_t i = 0; i < old.size(); ++i) EXPECT_NE(kept[i], old[i]);
}

TEST(Identity, MovesWithARevisionOnlyForUsersOfTheItem) {
  Json catalog = test_catalog_document();
  item(catalog, "prior", "violin")["revision"] = 2;
  const Identities before = identities(demo_specification()), after = identities(demo_specification(), catalog);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool violin = i / 10 == 4;  // ten stages a cell; violin is in the fifth
    EXPECT_EQ(after[i] != before[i], violin) << "stage " << i;
  }
}

TEST(Identity, OfAnEvaluationMovesWithTheRevisionOfTraining) {
  Json catalog = test_catalog_document();
  item(catalog, "stage", "train")["revision"] = 2;
  const Identities before = identities(demo_specification()), after = identities(demo_specification(), catalog);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NE(after[i], before[i]);
  catalog = test_catalog_document();
  item(catalog, "stage", "evaluate")["revision"] = 2;
  const Identities only = identities(demo_specification(), catalog);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(only[i] == before[i], i % 2 == 0);
}

TEST(Identity, MovesWithTheDatasetDigest) {
  Json catalog = test_catalog_document();
  item(catalog, "dataset", "fashion-mnist")["facts"]["digest"] = std::string(64, '0');
  const Identities before = identities(demo_specification()), after = identities(demo_specification(), catalog);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NE(after[i], before[i]);
}

TEST(Identity, DependsOnTheOrderOfCombinedPriors) {
  Json spec = demo_specification();
  spec["matrix"]["prior"] = Json::parse(R"([["learned-absolute", "violin"], ["violin", "learned-absolute"]])");
  spec["baseline"]["prior"] = Json::parse(R"(["violin", "learned-absolute"])");
  const Identities ids = identities(spec);
  EXPECT_NE(ids[0], ids[10]);
}

TEST(Identity, IsSharedByExperimentsThatNeedTheSameStage) {
  Json spec = demo_specification();
  spec["name"] = "one-prior";
  spec["matrix"]["prior"] = {"rope-axial", "learned-absolute"};
  spec["replicates"]["seed"] = {3};
  const Identities all = identities(demo_specification()), part = identities(spec);
  EXPECT_EQ(part[0], all[2 * 10 + 3 * 2]);
  EXPECT_EQ(part[3], all[1 * 10 + 3 * 2 + 1]);
}

}  // namespace
}  // namespace locus
