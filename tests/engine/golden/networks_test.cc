// Parameters and operations of every backbone with every choice of its options. Planning, which has no torch, is held
// against the same table (tests/core/cost_test.cc).
#include <gtest/gtest.h>

#include <optional>

#include "engine/adapters/adapter.h"
#include "tests/engine/golden/golden_table.h"
#include "tests/engine/golden/small_lists.h"
#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

constexpr std::int64_t kRows = 32, kColumns = 64;  // pixels

// What makes a network small whose options have these names.
Json small_options(const Json& item) {
  const Json small = {{"dim", 32}, {"depth", 2}, {"heads", 4}, {"patch", 8}, {"registers", 1}};
  Json out = Json::object();
  for (const Json& option : item.at("options")) {
    const auto name = option.at("name").get<std::string>();
    if (small.contains(name)) out[name] = small.at(name);
  }
  out.update(test::small_lists(Options(item, Json::object()).json()));
  return out;
}

// A network without a head; nothing where the backbone refuses it. `adapter`: {"id", "options"}, or null.
std::optional<Json> row(const BackboneItem& item, const Json& options, const Json& adapter = Json()) {
  try {
    Json configuration = {{"model", {{"id", item.id()}, {"options", options}}}, {"priors", Json::array()}};
    if (!adapter.is_null()) configuration["adapter"] = adapter;
    const auto backbone = make_backbone(configuration, {test::kTestChannels, {kRows, kColumns}}, RandomStreams(0));
    std::int64_t parameters = 0, training = 0;
    for (const auto& entry : backbone->named_parameters())
      (backbone->training_only(entry.key()) ? training : parameters) += entry.value().numel();
    Json out = {{"backbone", item.id()},
                {"options", options},
                {"extent", {kRows, kColumns}},
                {"channels", test::kTestChannels},
                {"parameters", parameters},
                {"pooled", backbone->pooled_width()},
                {"flops", backbone->flops(kRows, kColumns)}};
    if (adapter.is_null()) return out;
    out["adapter"] = adapter;
    out["training_parameters"] = training;
    return out;
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

// The reduced network, then with each option at every other choice, and each size with what it says beyond the shape.
std::vector<Json> settings_of(const Json& item) {
  const Json small = small_options(item);
  std::vector<Json> out = {small};
  const auto add = [&](const std::string& name, const Json& value) {
    out.push_back(small);
    out.back()[name] = value;
  };
  for (const Json& option : item.at("options")) {
    const auto name = option.at("name").get<std::string>();
    if (option.at("type") == "boolean") add(name, !option.at("default").get<bool>());
    if (option.at("type") != "string" || !option.contains("choices")) continue;
    for (const Json& choice : option.at("choices")) {
      if (choice != option.at("default")) add(name, choice);
    }
  }
  const Json presets = item.value("presets", Json::object());
  for (const auto& [size, options] : presets.items()) {
    out.push_back(options);
    out.back().update(small);
    out.back().update(test::small_lists(options));
  }
  return out;
}

Json networks() {
  Json out = Json::array();
  for (const BackboneItem& item : backbone_items()) {
    bool any = false;
    for (const Json& options : settings_of(item.item.json())) {
      if (auto one = row(item, options)) {
        out.push_back(*std::move(one));
        any = true;
      }
    }
    // Every linear map of the network, as the catalog lists them.
    for (const AdapterItem& adapter : adapter_items()) {
      if (adapter.make == nullptr) continue;
      const Json everywhere = {{"id", adapter.id()}, {"options", {{"targets", {"*"}}}}};
      out.push_back(row(item, small_options(item.item.json()), everywhere).value());
    }
    EXPECT_TRUE(any) << "no network of backbone " << item.id() << " could be built";
  }
  return out;
}

TEST(GoldenNetworks, OfEveryBackboneAreThoseThatPlanningIsHeldAgainst) {
  test::expect_golden("networks.json", networks());
}

}  // namespace
}  // namespace locus::engine
