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

// The engine's catalog, its first dataset of this shape. Its tasks give a condition, which networks of denoising follow: so
// far none of those that specifications name does.
Catalog with_images(const Json& extent, const Json& channels) {
  Json document = engine_catalog();
  for (Json& item : document["items"]) {
    if (item["kind"] == "task") item.erase("requires");
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
  int counted = 0;  // whose operations are known
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
    if (cost.flops >= 0) {
      ASSERT_EQ(cost.flops, row["flops"].get<double>()) << row;
    }
    counted += cost.flops >= 0 ? 1 : 0;
  }
  EXPECT_GT(counted, 0);
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

// What a denoising network has beside its backbone: two maps that embed the time, 256 frequencies wide, a row for each
// class and for none, and the last layer, which gives twice the channels.
double beside_denoising(const Json& row) {
  const double dim = row["pooled"], patch = row["options"]["patch"], channels = row["channels"];
  return 256 * dim + dim + dim * dim + dim + (kClasses + 1) * dim + dim * 2 * dim + 2 * dim +
         (dim + 1) * 2 * channels * patch * patch;
}

// Sizes, gates, biases, norms and tokens of the backbones.
TEST(Cost, CountsEveryBackboneAsTheEngineBuildsIt) {
  std::map<std::string, Catalog> catalogs;
  std::set<std::string> seen;
  for (const Json& row : read_json(LOCUS_SOURCE_ROOT "/tests/engine/golden/networks.json")) {
    const std::string shape = row["extent"].dump();
    auto catalog = catalogs.find(shape);
    if (catalog == catalogs.end()) catalog = catalogs.emplace(shape, with_images(row["extent"], row["channels"])).first;
    Json model = row["options"];
    model["backbone"] = row["backbone"];
    const CatalogItem* item = catalog->second.find("backbone", row["backbone"].get<std::string>());
    ASSERT_NE(item, nullptr) << row;
    seen.insert(row["backbone"]);
    const Json costs = item->facts.value("costs", Json::object());
    Json asked = specification(model, "none");
    if (row.contains("adapter"))
      asked["adapter"] = {{row["adapter"]["id"].get<std::string>(), row["adapter"]["options"]}};
    const CellCost cost = plan_of(asked, catalog->second).cells.at(0).cost;
    const double head =
        item->facts.value("condition", false) ? beside_denoising(row) : (row["pooled"].get<double>() + 1) * kClasses;
    ASSERT_THAT(cost.uncounted, ElementsAre()) << row;
    ASSERT_EQ(cost.training_parameters, row.value("training_parameters", 0.0)) << row;
    if (costs.contains("parameters")) {
      ASSERT_EQ(cost.parameters, row["parameters"].get<double>() + head) << row;
    }
    if (costs.contains("flops")) {
      ASSERT_EQ(cost.flops, row["flops"].get<double>()) << row;
    }
  }
  for (const Json& item : engine_catalog()["items"]) {
    if (item["kind"] == "backbone") {
      EXPECT_TRUE(seen.contains(item["id"])) << item["id"];
    }
  }
}

struct Published {
  const char* size;
  bool positions;  // the published number has them in it
  double parameters;
  double multiply_adds;  // the head's in them, priors' left out; 0: not known
};

// At 224 x 224 pixels, by the published code of DeiT, DeiT III, timm and PaPE. Each with 1000 classes, timm's DINOv3 with
// 100; of distilled networks without their second head.
constexpr Published kPublished[] = {{"deit-tiny", true, 5'717'416, 1'253'683'200},
                                    {"deit-small", true, 22'050'664, 4'598'882'304},
                                    {"deit-base", true, 86'567'656, 17'563'828'224},
                                    {"deit-tiny-distilled", true, 5'910'800 - 193'000, 1'261'003'776 - 192'000},
                                    {"deit-small-distilled", true, 22'436'432 - 385'000, 4'624'140'288 - 384'000},
                                    {"deit-base-distilled", true, 87'338'192 - 769'000, 17'656'811'520 - 768'000},
                                    {"vit-base", true, 86'567'656, 17'563'828'224},
                                    {"deit-iii-small", true, 22'059'496, 4'598'882'304},
                                    {"deit-iii-base", true, 86'585'320, 17'563'828'224},
                                    {"deit-iii-large", true, 304'374'760, 61'554'712'576},
                                    {"deit-iii-huge", true, 632'126'440, 167'295'109'120},
                                    {"timm-dinov3-small", false, 21'625'444, 4'698'143'232},
                                    {"timm-dinov3-base", false, 85'718'116, 17'932'219'392},
                                    {"timm-dinov3-small-plus", false, 28'721'764, 6'120'798'720},
                                    {"timm-dinov3-large", false, 303'181'924, 62'840'000'512},
                                    {"timm-dinov3-huge-plus", false, 840'637'540, 172'113'474'560},
                                    {"dinov3-small", false, 21'601'152 + 385'000, 0},
                                    {"dinov3-base", false, 85'669'632 + 769'000, 0},
                                    {"pape-base", false, 86'417'896, 17'563'828'224},
                                    {"pape-small", false, 32'433'128, 6'672'070'656},
                                    {"pape-tiny", false, 4'144'872, 900'875'776},
                                    {"pape-nano", false, 757'992, 162'420'736},
                                    {"convit-tiny", true, 5'710'512, 0},
                                    {"convit-small", true, 27'777'322, 0},
                                    {"convit-base", true, 86'540'040, 0},
                                    {"localvit-tiny", true, 9'376'168, 0},
                                    {"localvit-tiny-narrow", true, 5'908'696, 0},
                                    {"localvit-tiny-relu6", true, 7'655'080, 0},
                                    {"localvit-small", true, 22'433'176, 0}};

TEST(Cost, OfPublishedSizesIsWhatIsPublished) {
  for (const Published& one : kPublished) {
    const int classes = std::string_view(one.size).starts_with("timm-dinov3") ? 100 : 1000;
    Json document = engine_catalog();
    Json own = "none", width;
    for (Json& item : document["items"]) {
      if (item["id"] == "fashion-mnist")
        item["facts"].update({{"extent", {224, 224}}, {"channels", 3}, {"classes", classes}});
      if (item["kind"] != "backbone" || item["id"] != "vit") continue;
      if (one.positions) own = item["facts"]["own_priors"][one.size];
      width = item["presets"][one.size]["dim"];
    }
    const Catalog catalog = catalog_of(document);
    const Json model = {{"backbone", "vit"}, {"size", one.size}};
    EXPECT_EQ(plan_of(specification(model, own), catalog).cells.at(0).cost.parameters, one.parameters) << one.size;
    if (one.multiply_adds == 0) continue;
    const double flops = plan_of(specification(model, "none"), catalog).cells.at(0).cost.flops;
    EXPECT_EQ(flops / 2 + width.get<double>() * classes, one.multiply_adds) << one.size;
  }
}

TEST(Cost, CountsAttentionAlongAxesAndNothingWhereAPriorReplacesTheMlp) {
  const Catalog catalog = with_images({28, 28}, 1);
  const auto flops = [&](const Json& prior) {
    return plan_of(specification({{"dim", 64}, {"heads", 4}}, prior), catalog).cells.at(0).cost.flops;
  };
  EXPECT_GT(flops("none"), 0);
  EXPECT_EQ(flops("alibi-2d"), flops("none"));
  const double tokens = 16, keys = 8;  // of a 4 x 4 grid: a row and a column
  EXPECT_EQ(flops({{"manhattan-decay", {{"form", "decomposed"}}}}),
            flops("none") - 12 * 4 * tokens * 64 * (tokens - keys));
  EXPECT_EQ(flops({{"local-ffn", {{"mode", "original"}}}}), -1);
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
