// Parameters and operations of every backbone of several stages under every setting of every prior, and under priors that
// are set otherwise in some stages. Planning, which has no torch, is held against the same table (tests/core/stages_cost_test.cc).
#include <gtest/gtest.h>

#include <optional>

#include "tests/engine/golden/golden_table.h"
#include "tests/engine/golden/small_lists.h"
#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

constexpr std::int64_t kPixels = 56;  // of a side

// A network without a head; nothing where it is refused.
std::optional<Json> staged_row(const BackboneItem& item, const Json& options, const Json& priors,
                               const Json& adapter = {}) {
  try {
    Json configuration = {{"model", {{"id", item.id()}, {"options", options}}}, {"priors", priors}};
    if (!adapter.is_null()) configuration["adapter"] = adapter;
    const auto model = make_backbone(configuration, {test::kTestChannels, {kPixels, kPixels}}, RandomStreams(0));
    std::int64_t whole = 0, own = 0, training = 0;
    for (const auto& entry : model->named_parameters()) {
      const std::int64_t size = entry.value().numel();
      (model->training_only(entry.key()) ? training : whole) += size;
      if (entry.key().starts_with("priors.") && !model->training_only(entry.key())) own += size;
    }
    Json out = {{"backbone", item.id()},
                {"options", options},
                {"priors", priors},
                {"extent", {kPixels, kPixels}},
                {"channels", test::kTestChannels},
                {"parameters", whole},
                {"prior_parameters", own},
                {"training_parameters", training},
                {"pooled", model->pooled_width()},
                {"flops", model->flops(kPixels, kPixels)}};
    if (!adapter.is_null()) out["adapter"] = adapter;
    return out;
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

// The priors to try: every setting in all stages, and where there are several, two in turn with a stage left out.
std::vector<Json> prior_lists(std::size_t stages) {
  std::vector<Json> out = {Json::array()};
  for (const PriorItem& item : prior_items()) {
    const std::vector<test::PriorSetting> settings = test::settings_of(item);
    for (const test::PriorSetting& setting : settings)
      out.push_back(Json::array({{{"id", setting.id}, {"options", setting.options}}}));
    for (std::size_t i = 1; i < settings.size(); ++i) {
      Json differs = Json::array({Json()});
      for (std::size_t s = 1; s < stages; ++s) differs.push_back(s % 2 == 1 ? settings[i].options : Json::object());
      out.push_back(Json::array({{{"id", item.id()}, {"options", Json::object()}, {"stages", differs}}}));
    }
  }
  return out;
}

Json staged_networks() {
  Json out = Json::array();
  for (const BackboneItem& item : backbone_items()) {
    const Json facts = item.item.json().value("facts", Json::object());
    if (!facts.contains("stages") || !facts.at("stages").is_object()) continue;
    const Json defaults = Options(item.item.json(), Json::object()).json();
    Json options = test::small_lists(defaults);
    if (defaults.contains("patch")) options["patch"] = 4;
    std::size_t taken = 0;
    const std::size_t stages = defaults.at(facts.at("stages").at("option").get<std::string>()).size();
    for (const Json& priors : prior_lists(stages)) {
      if (auto one = staged_row(item, options, priors)) {
        out.push_back(*std::move(one));
        ++taken;
      }
    }
    for (const AdapterItem& adapter : adapter_items()) {
      if (adapter.make == nullptr) continue;
      for (const Json& targets : {Json::array({"*"}), Json::array({"stages.1.*.mlp.*"})})
        out.push_back(
            *staged_row(item, options, Json::array(), {{"id", adapter.id()}, {"options", {{"targets", targets}}}}));
    }
    EXPECT_GT(taken, prior_items().size()) << "backbone " << item.id() << " refuses most priors";
  }
  return out;
}

TEST(GoldenStages, OfEveryBackboneOfStagesAreThoseThatPlanningIsHeldAgainst) {
  test::expect_golden("stages.json", staged_networks());
}

}  // namespace
}  // namespace locus::engine
