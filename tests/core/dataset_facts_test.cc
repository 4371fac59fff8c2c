// What plans know of a dataset: variants of its facts, and images that are not square.
#include <gmock/gmock.h>

#include "core/catalog/facts.h"
#include "core/experiment/plan/planner.h"
#include "tests/core/testdata.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

Catalog catalog_with_extent(const Json& extent = Json()) {
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
  const Catalog catalog = catalog_with_extent();
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

// Photographs, of which a specification says which copy it means.
Catalog catalog_with_photos() {
  Json document = read_json(LOCUS_SOURCE_ROOT "/engine/catalog.json");
  const auto option = [](const char* name, std::int64_t published, const char* fact) {
    return Json{{"name", name},         {"type", "integer"}, {"default", published},
                {"neutral", published}, {"fact", fact},      {"help", ""}};
  };
  document["items"].push_back(
      {{"kind", "dataset"},
       {"id", "photos"},
       {"revision", 1},
       {"options",
        {option("classes", 100, "classes"),
         option("train", 5000, "splits.train"),
         option("validation", 0, "splits.validation"),
         option("test", 50, "splits.test"),
         {{"name", "protocol"}, {"type", "string"}, {"default", "select"}, {"neutral", "select"}, {"help", ""}},
         {{"name", "manifest"}, {"type", "string"}, {"default", ""}, {"neutral", ""}, {"help", ""}}}},
       {"facts",
        {{"digest", "00"},
         {"rank", 2},
         {"channels", 3},
         {"extent", {28, 28}},
         {"classes", 100},
         {"splits", {{"train", 5000}, {"validation", 0}, {"test", 50}}},
         {"variants",
          Json::array(
              {{{"when", {{"option", "protocol"}, {"values", {"final"}}}},
                {"facts", {{"splits", {{"train", 7000}, {"validation", 0}, {"test", 50}}}, {"rank", 2}}}}})}}}});
  return catalog_of(document);
}

TEST(DatasetFacts, AreReplacedByTheOptionsThatSaySo) {
  const Catalog catalog = catalog_with_photos();
  const CatalogItem& photos = *catalog.find("dataset", "photos");
  EXPECT_EQ(dataset_facts(photos, Json::object()), [&] {
    Json facts = photos.facts;
    return facts;
  }());
  const Json options = {{"classes", 3}, {"train", 60}, {"validation", 7}};
  const Json facts = dataset_facts(photos, options);
  EXPECT_EQ(facts.at("classes"), 3);
  EXPECT_EQ(facts.at("splits"), (Json{{"train", 60}, {"validation", 7}, {"test", 50}}));
  for (const char* split : {"train", "validation", "test"})
    EXPECT_EQ(images_of_split(photos, options, split), facts.at("splits").at(split)) << split;
  EXPECT_EQ(images_of_split(photos, options, "other"), 0);
  const CatalogItem& cifar = *catalog.find("dataset", "cifar-100");
  EXPECT_EQ(images_of_split(cifar, {{"labels", "coarse"}}, "train"), 45000);
  const CellCost whole = cost_of_labels(catalog, "photos"), part = cost_of_labels(catalog, {{"photos", options}});
  EXPECT_EQ(whole.parameters - part.parameters, 97 * (64 + 1)) << "the head is smaller";
  EXPECT_EQ(part.data_bytes, 60.0 * (28 * 28 * 3 + 8));
}

TEST(DatasetFacts, RefuseAStageThatScoresASplitWithoutImages) {
  const Catalog catalog = catalog_with_photos();
  Json specified = specification("photos", 4);
  EXPECT_TRUE(plan_experiment(specified, catalog).ok()) << "training needs no validation split";
  specified["stages"] = {{{"evaluate", {{"split", "validation"}}}}};
  EXPECT_THAT(std::string(plan_experiment(specified, catalog).status().message()),
              HasSubstr("'photos' as it is specified has no validation images"));
  specified["dataset"] = {{"photos", {{"validation", 7}}}};
  EXPECT_TRUE(plan_experiment(specified, catalog).ok());
}

TEST(DatasetFacts, NameACopyThatStagesAskOfWorkersAndThatIsPartOfTheirIdentity) {
  const Catalog catalog = catalog_with_photos();
  const auto stage_of = [&](const Json& dataset) {
    return plan_experiment(specification(dataset, 4), catalog)->trials.at(0).stages.at(0);
  };
  const PlannedStage any = stage_of("photos"), one = stage_of({{"photos", {{"manifest", "f00d"}}}});
  EXPECT_NE(any.identity, one.identity);
  EXPECT_EQ(any.identity, stage_of({{"photos", {{"manifest", ""}, {"train", 5000}}}}).identity) << "the published one";
  EXPECT_FALSE(any.requirements->revisions.contains("dataset/photos@f00d"));
  EXPECT_EQ(one.requirements->revisions.at("dataset/photos@f00d"), kCopyRevision);
  EXPECT_EQ(one.requirements->revisions.at("dataset/photos"), 1);
  const Json configuration = Json::parse(one.config_json);
  EXPECT_EQ(configuration.at("dataset").at("options"), (Json{{"manifest", "f00d"}}));
  EXPECT_FALSE(configuration.at("revisions").contains("dataset/photos@f00d")) << "it is no item of the catalog";
}

TEST(DatasetFacts, OfImagesThatAreNotSquareTakeTheShorterSideForResolution) {
  for (const Json extent : {Json{28, 42}, Json{42, 28}}) {
    const Catalog catalog = catalog_with_extent(extent);
    EXPECT_EQ(native_resolution(dataset_extent(*catalog.find("dataset", "fashion-mnist"), Json::object())), 28);
    const auto plan = plan_experiment(specification("fashion-mnist", 14), catalog);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->labels.at("resolution"), std::set<std::string>{"28"});
    EXPECT_EQ(plan->cells.at(0).cost.data_bytes, 55000.0 * (28 * 42 + 8));
  }
}

TEST(DatasetFacts, HoldPatchesToBothSidesOfAnEvaluation) {
  const Catalog catalog = catalog_with_extent({28, 42});
  EXPECT_EQ(longer_side(dataset_extent(*catalog.find("dataset", "fashion-mnist"), Json::object()), 42), 63);
  Json specified = specification("fashion-mnist", 14);
  specified["stages"] = {{{"evaluate", {{"resolution", {56}}}}}};
  EXPECT_TRUE(plan_experiment(specified, catalog).ok()) << "56 x 84";
  specified["stages"] = {{{"evaluate", {{"resolution", {42}}}}}};
  EXPECT_THAT(std::string(plan_experiment(specified, catalog).status().message()),
              HasSubstr("patch = 14 does not divide resolution = 63"));
}

}  // namespace
}  // namespace locus
