// How many parameters networks have with every setting of every prior and every adapter, and their operations. Planning,
// which has no torch, is held against the same table (tests/core/cost_test.cc): what it counts by the catalog's formulas is
// what is built.
#include <gtest/gtest.h>

#include "engine/adapters/adapter.h"
#include "tests/engine/golden/golden_table.h"
#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

using test::ModelShape;
using test::PriorSetting;

constexpr int kMixtures = 6;

// One network of the table, without a head. `adapter`: {"id", "options"}, or null.
Json row(const std::vector<PriorSetting>& priors, const ModelShape& shape, const Json& adapter = Json()) {
  Json configuration = test::stage_configuration(priors, shape);
  if (!adapter.is_null()) configuration["adapter"] = adapter;
  const auto model =
      make_backbone(configuration, {test::kTestChannels, shape.extent}, RandomStreams(0), /*path=*/"auto");
  std::int64_t whole = 0, own = 0, training = 0;
  for (const auto& item : model->named_parameters()) {
    const std::int64_t size = item.value().numel();
    (model->training_only(item.key()) ? training : whole) += size;
    if (item.key().starts_with("priors.") && !model->training_only(item.key())) own += size;
  }
  Json out = {{"extent", shape.extent},
              {"channels", test::kTestChannels},
              {"model", configuration.at("model").at("options")},
              {"priors", configuration.at("priors")},
              {"parameters", whole},
              {"prior_parameters", own},
              {"training_parameters", training},
              {"flops", model->flops(shape.extent[0], shape.extent[1])}};
  if (!adapter.is_null()) out["adapter"] = adapter;
  return out;
}

// Every adapter at its defaults, then each option in turn at every other choice or boolean, then beside other maps.
void add_adapted(Json& table, const ModelShape& shape) {
  for (const AdapterItem& item : adapter_items()) {
    if (item.make == nullptr) continue;
    const auto add = [&](const Json& options) {
      table.push_back(row({{"violin"}}, shape, {{"id", item.id()}, {"options", options}}));
    };
    add(Json::object());
    for (const Json& option : item.item.json().at("options")) {
      const auto name = option.at("name").get<std::string>();
      const Json& fallback = option.at("default");
      if (option.at("type") == "boolean") add({{name, !fallback.get<bool>()}});
      if (option.at("type") != "string" || !option.contains("choices")) continue;
      for (const Json& choice : option.at("choices")) {
        if (choice != fallback) add({{name, choice}});
      }
    }
    add({{"targets", {"*.mlp.in", "embed"}}});
    add({{"targets", {"blocks.1.*"}}, {"split_qkv", true}});
  }
}

// Those whose prefix tokens join behind some block, beside every prior that may stand there.
void add_late(Json& table, const ModelShape& shape) {
  for (const PriorItem& late : prior_items()) {
    if (late.prefix_from == nullptr) continue;
    for (const PriorSetting& setting : test::settings_of(late)) {
      if (late.prefix_from(Options(late.item.json(), setting.options)) == 0) continue;
      for (const PriorItem& other : prior_items()) {
        for (const PriorSetting& beside : test::settings_of(other)) {
          try {
            table.push_back(row({setting, beside}, shape));
          } catch (const std::invalid_argument&) {  // a pair that is refused has no parameters
          }
        }
      }
    }
  }
}

Json table() {
  const ModelShape wide{.extent = {8, 10}, .pool = "cls", .registers = 2, .dim = 32, .depth = 3, .heads = 4},
      narrow{.extent = {6, 14}, .dim = 96, .depth = 2, .heads = 8, .mlp_ratio = 2.5};
  Json out = Json::array();
  for (const PriorItem& item : prior_items()) {
    for (const PriorSetting& setting : test::settings_of(item)) {
      for (const ModelShape& shape : {wide, narrow}) out.push_back(row({setting}, test::fitting(setting, shape)));
    }
    for (const PriorSetting& setting : test::mixed_settings(item, kMixtures)) {
      try {
        out.push_back(row({setting}, test::fitting(setting, wide)));
      } catch (const std::invalid_argument&) {  // a mixture that the model refuses
      }
    }
  }
  add_late(out, wide);
  add_adapted(out, wide);
  return out;
}

TEST(GoldenParameters, OfEverySettingAreThoseThatPlanningIsHeldAgainst) {
  test::expect_golden("parameters.json", table());
}

}  // namespace
}  // namespace locus::engine
