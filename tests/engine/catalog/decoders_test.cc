// Every decoder on every backbone: what the planner counts is what is built, and what it takes trains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/catalog/catalog.h"
#include "core/experiment/plan/planner.h"
#include "engine/catalog/catalog.h"
#include "engine/decoders/decoder.h"
#include "engine/tasks/task.h"
#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

constexpr std::int64_t kMapSide = 28;
const Json kMapFacts = {{"channels", 1}, {"extent", {kMapSide, kMapSide}}, {"classes", 10}};

// A dataset of labels that brings masks and depths, too.
const Catalog& catalog_of_maps() {
  static const Catalog parsed = [] {
    Json document = catalog_json();
    for (Json& item : document["items"]) {
      if (item.at("id") == "fashion-mnist") item["facts"]["targets"] = {"label", "mask", "depth"};
    }
    return *Catalog::parse(document);
  }();
  return parsed;
}

Json specification(const std::string& backbone, const std::string& task, const std::string& decoder) {
  return {{"version", 1},       {"name", "maps"},
          {"task", task},       {"dataset", "fashion-mnist"},
          {"decoder", decoder}, {"model", {{"backbone", backbone}, {"size", "mini"}}},
          {"prior", "none"}};
}

TEST(PlannedDecoders, CostWhatIsBuilt) {
  int taken = 0;
  for (const BackboneItem& backbone : backbone_items()) {
    for (const char* task : {"segmentation", "depth"}) {
      for (const DecoderItem& decoder : decoder_items()) {
        SCOPED_TRACE(backbone.id() + " " + task + " " + decoder.id());
        const auto plan = plan_experiment(specification(backbone.id(), task, decoder.id()), catalog_of_maps());
        if (!plan.ok()) {
          EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument) << plan.status();
          continue;
        }
        ++taken;
        const Json configuration = Json::parse(plan->trials.at(0).stages.at(0).config_json);
        const RandomStreams random(1);
        const auto built = make_task({configuration, kMapFacts, random});
        double kept = 0, training = 0;
        for (const auto& item : built->named_parameters())
          (built->training_only(item.key()) ? training : kept) += static_cast<double>(item.value().numel());
        const CellCost& cost = plan->cells.at(0).cost;
        EXPECT_EQ(cost.parameters, kept);
        EXPECT_EQ(cost.training_parameters, training);
        EXPECT_EQ(cost.flops, static_cast<double>(built->flops(kMapSide, kMapSide)));
        EXPECT_GT(cost.memory_bytes, 0);
      }
    }
  }
  EXPECT_GT(taken, 8);
}

TEST(PlannedDecoders, AreRefusedWithTheReason) {
  const auto refused = [](Json document) {
    const auto plan = plan_experiment(document, catalog_of_maps());
    return plan.ok() ? std::string("taken") : std::string(plan.status().message());
  };
  Json shallow = specification("vit", "segmentation", "dpt");
  shallow["model"] = {{"depth", 2}, {"dim", 8}, {"heads", 2}, {"patch", 7}};
  EXPECT_THAT(refused(shallow), testing::HasSubstr("maps = 2 is less than 4"));
  shallow["decoder"] = {{"token-pyramid", {{"taps", {0, 1}}}}};
  EXPECT_EQ(refused(shallow), "taken");
  shallow["decoder"] = {{"token-pyramid", {{"taps", {0, 2}}}}};
  EXPECT_THAT(refused(shallow), testing::HasSubstr("last_block"));
  Json one = specification("vit", "segmentation", "upernet");
  one["model"] = {{"depth", 4}, {"dim", 8}, {"heads", 2}, {"patch", 7}};
  one["train"] = {{"batch", 1}};
  EXPECT_THAT(refused(one), testing::HasSubstr("raise train.batch"));
  EXPECT_THAT(refused(specification("vit", "classification", "dpt")), testing::HasSubstr("serves segmentation"));
  const auto plain = plan_experiment(specification("vit", "depth", "linear"), *Catalog::parse(catalog_json()));
  ASSERT_FALSE(plain.ok());
  EXPECT_THAT(std::string(plain.status().message()), testing::HasSubstr("learns from a depth"));
  Json views = specification("vit", "classification", "linear");
  views["stages"] = {{{"evaluate", {{"view", {"mirrored"}}}}}};
  EXPECT_THAT(refused(views), testing::HasSubstr("makes none"));
}

}  // namespace
}  // namespace locus::engine
