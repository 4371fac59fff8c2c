// What a plan says of networks of several stages, whose priors may be set otherwise in each, is what the engine builds.
#include <gmock/gmock.h>

#include "core/experiment/plan/planner.h"
#include "tests/core/plans.h"

namespace locus {
namespace {

using ::testing::ElementsAre;

// The engine's catalog, its first dataset of this shape.
Catalog with_images(const Json& extent, const Json& channels, int classes) {
  Json document = read_json(LOCUS_SOURCE_ROOT "/engine/catalog.json");
  for (Json& item : document["items"]) {
    if (item["id"] != "fashion-mnist") continue;
    item["facts"].update({{"extent", extent}, {"channels", channels}, {"classes", classes}});
  }
  return catalog_of(document);
}

CellCost cost_of_model(const Json& model, const Json& priors, const Catalog& catalog, const Json& adapter = {}) {
  Json asked = {{"version", 1}, {"name", "counted"}, {"dataset", "fashion-mnist"}, {"model", model}, {"prior", priors}};
  if (!adapter.is_null()) asked["adapter"] = {{adapter["id"].get<std::string>(), adapter["options"]}};
  return plan_of(asked, catalog).cells.at(0).cost;
}

TEST(StagesCost, IsThatOfEveryNetworkUnderEverySettingOfEveryPrior) {
  constexpr int kClasses = 10;
  std::map<std::string, Catalog> catalogs;
  std::set<std::string> seen;
  for (const Json& row : read_json(LOCUS_SOURCE_ROOT "/tests/engine/golden/stages.json")) {
    const std::string shape = row["extent"].dump();
    auto catalog = catalogs.find(shape);
    if (catalog == catalogs.end())
      catalog = catalogs.emplace(shape, with_images(row["extent"], row["channels"], kClasses)).first;
    Json priors = Json::array();
    for (const Json& prior : row["priors"]) {
      Json options = prior["options"];
      if (prior.contains("stages")) options["stages"] = prior["stages"];
      priors.push_back({{prior["id"].get<std::string>(), options}});
    }
    if (priors.empty()) priors = "none";
    Json model = row["options"];
    model["backbone"] = row["backbone"];
    const CellCost cost = cost_of_model(model, priors, catalog->second, row.value("adapter", Json()));
    const double head = (row["pooled"].get<double>() + 1) * kClasses;
    ASSERT_EQ(cost.parameters, row["parameters"].get<double>() + head) << row;
    ASSERT_EQ(cost.prior_parameters, row["prior_parameters"].get<double>()) << row;
    ASSERT_EQ(cost.training_parameters, row["training_parameters"].get<double>()) << row;
    ASSERT_THAT(cost.uncounted, ElementsAre()) << row;
    ASSERT_GT(cost.memory_bytes, 0) << row;
    if (cost.flops >= 0) {
      ASSERT_EQ(cost.flops, row["flops"].get<double>()) << row;
    }
    seen.insert(row["backbone"]);
  }
  EXPECT_THAT(seen, ::testing::IsSupersetOf({"rmt", "swin"}));
}

// At 224 x 224 pixels with 1000 classes. Multiply-adds: those of the convolutions of cpe and lepe are taken off.
TEST(StagesCost, OfRmtIsWhatIsPublished) {
  const Json document = read_json(LOCUS_SOURCE_ROOT "/engine/catalog.json");
  Json own;
  for (const Json& item : document["items"]) {
    if (item["kind"] == "backbone" && item["id"] == "rmt") own = item["facts"];
  }
  const Catalog catalog = with_images({224, 224}, 3, 1000);
  const struct {
    const char* size;
    double parameters, multiply_adds;
  } rows[] = {{"tiny", 14334216, 2637220864.0 - 9483264 - 26342400},
              {"small", 26967240, 4776574976.0 - 18063360 - 50176000},
              {"base", 54154896, 10373118208.0 - 33981696 - 94393600},
              {"large", 95464864, 19487964928.0 - 47303424 - 131398400}};
  for (const auto& [size, parameters, multiply_adds] : rows) {
    const CellCost cost = cost_of_model({{"backbone", "rmt"}, {"size", size}}, own["own_priors"][size], catalog);
    EXPECT_EQ(cost.parameters, parameters) << size;
    EXPECT_EQ(cost.flops / 2 + 1024 * 1000, multiply_adds) << size;
  }
  const Json sdt = own["other_networks"]["sdt-h"];
  for (const auto& [size, parameters] :
       std::map<std::string, double>{{"tiny", 14587144}, {"small", 27507400}, {"base", 55182736}})
    EXPECT_EQ(cost_of_model({{"backbone", "rmt"}, {"size", size}}, sdt, catalog).parameters, parameters) << size;
}

}  // namespace
}  // namespace locus
