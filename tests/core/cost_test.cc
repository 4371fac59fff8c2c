// What a plan says a cell's model weighs is what the engine builds.
#include <gmock/gmock.h>

#include "core/experiment/plan/planner.h"
#include "tests/core/plans.h"

namespace locus {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kClasses = 10;

const Json& engine_catalog() {
  static const Json document = read_json(LOCUS_SOURCE_ROOT "/engine/catalog.json");
  return document;
}

// The engine's catalog, its first dataset of this shape.
Catalog with_images(const Json& extent, const Json& channels) {
  Json document = engine_catalog();
  for (Json& item : document["items"]) {
    if (item["id"] != "fashion-mnist") continue;
    item["facts"]["extent"] = extent;
    item["facts"]["channels"] = channels;
    item["facts"]["classes"] = kClasses;
  }
  return catalog_of(document);
}

Json specification(const Json& model, const Json& prior) {
  return {{"version", 1}, {"name", "counted"}, {"dataset", "fashion-mnist"}, {"model", model}, {"prior", prior}};
}

TEST(Cost, CountsTheParametersOfEverySettingAsTheEngineBuildsThem) {
  std::map<std::string, Catalog> catalogs;
  std::set<std::string> seen, adapters = {"none"};
  for (const Json& row : read_json(LOCUS_SOURCE_ROOT "/tests/engine/golden/parameters.json")) {
    const std::string shape = row["extent"].dump();
    auto catalog = catalogs.find(shape);
    if (catalog == catalogs.end()) catalog = catalogs.emplace(shape, with_images(row["extent"], row["channels"])).first;
    Json priors = Json::array();
    for (const Json& prior : row["priors"]) {
      priors.push_back({{prior["id"].get<std::string>(), prior["options"]}});
      seen.insert(prior["id"]);
    }
    Json asked = specification(row["model"], priors);
    if (row.contains("adapter")) {
      asked["adapter"] = {{row["adapter"]["id"].get<std::string>(), row["adapter"]["options"]}};
      adapters.insert(row["adapter"]["id"]);
    }
    const CellCost cost = plan_of(asked, catalog->second).cells.at(0).cost;
    const double head = (row["model"]["dim"].get<double>() + 1) * kClasses;
    ASSERT_EQ(cost.parameters, row["parameters"].get<double>() + head) << row;
    ASSERT_EQ(cost.prior_parameters, row["prior_parameters"].get<double>()) << row;
    ASSERT_EQ(cost.training_parameters, row["training_parameters"].get<double>()) << row;
    ASSERT_THAT(cost.uncounted, ElementsAre()) << row;
  }
  for (const Json& item : engine_catalog()["items"]) {
    if (item["kind"] == "prior") {
      EXPECT_TRUE(seen.contains(item["id"])) << item["id"];
    }
    if (item["kind"] == "adapter") {
      EXPECT_TRUE(adapters.contains(item["id"])) << item["id"];
    }
  }
}

// With their own priors, of images of 224 pixels; published counts are of a thousand classes.
TEST(Cost, OfSwinTransformersIsWhatIsPublished) {
  const Catalog catalog = with_images({224, 224}, 3);
  const Json base = {{"backbone", "swin"},
                     {"patch", 4},
                     {"dims", {128, 256, 512, 1024}},
                     {"depths", {2, 2, 18, 2}},
                     {"heads", {4, 8, 16, 32}}},
             second = {{"backbone", "swin"}, {"patch", 4}, {"version", 2}};
  const struct {
    Json model, prior;
    double width, parameters;
  } cases[] = {{{{"backbone", "swin"}, {"patch", 4}}, {{"relative-bias", {{"decay", false}}}}, 768, 28288354},
               {base, {{"relative-bias", {{"decay", false}}}}, 1024, 87768224},
               {second, {{"log-cpb", {{"attention", "cosine"}}}}, 768, 28347154}};
  for (const auto& [model, prior, width, parameters] : cases) {
    const CellCost cost = plan_of(specification(model, prior), catalog).cells.at(0).cost;
    EXPECT_EQ(cost.parameters, parameters - (1000 - kClasses) * (width + 1)) << model;
    EXPECT_THAT(cost.uncounted, ElementsAre()) << model;
  }
}

// 4 bytes x (4 x parameters + batch x activations) and the training images.
TEST(Cost, EstimatesMemoryWithWhatPriorsAddAndTheDataThatStays) {
  const Catalog catalog = with_images({28, 28}, 1);
  const Json model = {{"dim", 64}, {"depth", 2}, {"heads", 4}, {"patch", 7}};
  const CellCost bare = plan_of(specification(model, "none"), catalog).cells.at(0).cost;
  const CellCost learned = plan_of(specification(model, "learned-absolute"), catalog).cells.at(0).cost;
  const CellCost guided = plan_of(specification(model, "guidance"), catalog).cells.at(0).cost;
  EXPECT_EQ(learned.prior_parameters, 16 * 64);
  EXPECT_EQ(learned.parameters, bare.parameters + 16 * 64);
  EXPECT_EQ(learned.memory_bytes, bare.memory_bytes + 16.0 * learned.prior_parameters);
  EXPECT_EQ(guided.parameters, bare.parameters) << "it keeps nothing";
  EXPECT_EQ(guided.training_parameters, 2 * (256 * 66 + 1));
  EXPECT_EQ(guided.memory_bytes, bare.memory_bytes + 16.0 * guided.training_parameters);
  EXPECT_EQ(bare.data_bytes, 55000.0 * (28 * 28 + 8));
  const double tokens = 16, activations = 2 * tokens * (8 * 64 + 2 * 256 + 2 * 4 * tokens);
  EXPECT_EQ(bare.memory_bytes, 4 * (4 * bare.parameters + 128 * activations) + bare.data_bytes);
}

TEST(Cost, LeavesOutTheImagesOfADatasetThatReadsThemAsTheyAreNeeded) {
  const auto plan_with = [](bool resident) {
    Json document = engine_catalog();
    for (Json& item : document["items"]) {
      if (item["id"] == "fashion-mnist") item["facts"]["resident"] = resident;
    }
    return plan_of(specification({{"dim", 64}, {"heads", 4}}, "none"), catalog_of(document)).cells.at(0).cost;
  };
  const CellCost streamed = plan_with(false), resident = plan_with(true);
  EXPECT_EQ(streamed.data_bytes, 0);
  EXPECT_GT(resident.data_bytes, 0);
  EXPECT_EQ(streamed.memory_bytes, resident.memory_bytes - resident.data_bytes);
}

TEST(Cost, NamesAPriorWhoseParametersTheCatalogDoesNotCount) {
  Json document = engine_catalog();
  for (Json& item : document["items"]) {
    if (item["id"] == "violin") item["facts"].erase("costs");
  }
  const Catalog catalog = catalog_of(document);
  const Json model = {{"dim", 64}, {"depth", 2}, {"heads", 4}};
  const CellCost cost =
      plan_of(specification(model, Json::array({"learned-absolute", "violin"})), catalog).cells.at(0).cost;
  EXPECT_THAT(cost.uncounted, ElementsAre("violin"));
  EXPECT_EQ(cost.prior_parameters, -1);
  EXPECT_EQ(cost.parameters, plan_of(specification(model, "learned-absolute"), catalog).cells.at(0).cost.parameters);
}

// 12 blocks of 768 channels, 147,456 numbers a rank (tests/engine/adapters/network_test.cc, Counts).
TEST(Cost, AddsWhatAnAdapterHasBesideEachOfItsLinearMaps) {
  const Catalog catalog = with_images({224, 224}, 3);
  const auto parameters = [&](const Json& adapter) {
    Json asked = specification({{"dim", 768}, {"depth", 12}, {"heads", 12}, {"patch", 16}}, "violin");
    asked["adapter"] = adapter;
    return plan_of(asked, catalog).cells.at(0).cost.parameters;
  };
  const double whole = parameters("none");
  EXPECT_EQ(parameters({{"lora", {{"rank", 4}}}}), whole + 4 * 147'456);
  EXPECT_EQ(parameters({{"lora", {{"rank", 4}, {"split_qkv", true}}}}), whole + 4 * 165'888);
  EXPECT_EQ(parameters({{"dora", {{"rank", 4}}}}), whole + 4 * 147'456 + 82'944);
  EXPECT_EQ(parameters({{"dora", {{"rank", 4}, {"norm", "columns"}}}}), whole + 4 * 147'456 + 64'512);
  EXPECT_EQ(parameters({{"lora", {{"rank", 4}, {"targets", {"blocks.0.mlp.*", "blocks.11.mlp.in"}}}}}),
            whole + 4 * 3 * (768 + 3072));
}

TEST(Cost, NamesAnAdapterBesideMapsThatTheCatalogDoesNotTell) {
  Json document = engine_catalog();
  for (Json& item : document["items"]) {
    if (item["kind"] == "backbone") item["facts"].erase("linear_maps");
  }
  Json asked = specification({{"dim", 64}, {"depth", 2}, {"heads", 4}}, "violin");
  const double bare = plan_of(asked, catalog_of(document)).cells.at(0).cost.parameters;
  asked["adapter"] = "lora";
  const CellCost cost = plan_of(asked, catalog_of(document)).cells.at(0).cost;
  EXPECT_THAT(cost.uncounted, ElementsAre("lora"));
  EXPECT_EQ(cost.parameters, bare);
  EXPECT_GT(cost.prior_parameters, 0) << "those of priors are known all the same";
  asked["prior"] = {{"local-ffn", {{"mode", "original"}}}};
  EXPECT_THAT(plan_of(asked, catalog_of(engine_catalog())).cells.at(0).cost.uncounted, ElementsAre("lora"))
      << "a prior that takes the MLP away takes its maps away";
}

TEST(Cost, IsUnknownWithoutAFormulaForTheBackbone) {
  const CellCost cost = plan_of(demo_specification(), test_catalog()).cells.at(0).cost;
  EXPECT_EQ(cost.parameters, -1);
  EXPECT_EQ(cost.memory_bytes, -1);
}

}  // namespace
}  // namespace locus
