// What plans know of a dataset: variants of its facts, and images that are not square.
#include <gmock/gmock.h>

#include "core/catalog/facts.h"
#include "core/experiment/plan/planner.h"
#include "tests/core/testdata.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

Catalog engine_catalog(const Json& extent = Json()) {
  Json document = read_json(LOCUS_SOURCE_ROOT "/engine/catalog.json");
  for (Json& item : document["items"]) {
    if (item["id"] == "fashion-mnist" && !extent.is_null()) item["facts"]["extent"] = extent;
  }
  return catalog_of(document);
}

Json specification(const Json& dataset, std::int64_t patch) {
  return {{"version", 1},
          {"name", "x"},
          {"dataset", dataset},
          {"prior", "none"},
          {"model", {{"dim", 64}, {"depth", 2}, {"heads", 4}, {"patch", patch}}}};
}

CellCost cost_of_labels(const Catalog& catalog, const Json& dataset) {
  const auto plan = plan_experiment(specification(dataset, 4), catalog);
  if (!plan.ok()) throw std::runtime_error(plan.status().ToString());
  return plan->cells.at(0).cost;
}

TEST(DatasetFacts, AreThoseOfTheChosenVariant) {
  const Catalog catalog = engine_catalog();
  const CatalogItem& item = *catalog.find("dataset", "cifar-100");
  EXPECT_EQ(dataset_facts(item, Json::object()).at("classes"), 100);
  EXPECT_EQ(dataset_facts(item, {{"labels", "fine"}}).at("classes"), 100);
  EXPECT_EQ(dataset_facts(item, {{"labels", "coarse"}}).at("classes"), 20);
  EXPECT_EQ(dataset_facts(item, {{"labels", "coarse"}}).at("channels"), 3) << "the others stay";
  const CellCost fine = cost_of_labels(catalog, "cifar-100"),
                 coarse = cost_of_labels(catalog, {{"cifar-100", {{"labels", "coarse"}}}});
  EXPECT_EQ(fine.parameters - coarse.parameters, 80 * (64 + 1)) << "the head is smaller";
  EXPECT_EQ(fine.data_bytes, 45000.0 * (32 * 32 * 3 + 8));
}

TEST(DatasetFacts, OfImagesThatAreNotSquareTakeTheShorterSideForResolution) {
  for (const Json extent : {Json{28, 42}, Json{42, 28}}) {
    const Catalog catalog = engine_catalog(extent);
    EXPECT_EQ(native_resolution(*catalog.find("dataset", "fashion-mnist")), 28);
    const auto plan = plan_experiment(specification("fashion-mnist", 14), catalog);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->labels.at("resolution"), std::set<std::string>{"28"});
    EXPECT_EQ(plan->cells.at(0).cost.data_bytes, 55000.0 * (28 * 42 + 8));
  }
}

TEST(DatasetFacts, HoldPatchesToBothSidesOfAnEvaluation) {
  const Catalog catalog = engine_catalog({28, 42});
  EXPECT_EQ(longer_side(*catalog.find("dataset", "fashion-mnist"), 42), 63);
  Json specified = specification("fashion-mnist", 14);
  specified["stages"] = {{{"evaluate", {{"resolution", {56}}}}}};
  EXPECT_TRUE(plan_experiment(specified, catalog).ok()) << "56 x 84";
  specified["stages"] = {{{"evaluate", {{"resolution", {42}}}}}};
  EXPECT_THAT(std::string(plan_experiment(specified, catalog).status().message()),
              HasSubstr("patch = 14 does not divide resolution = 63"));
}

}  // namespace
}  // namespace locus
