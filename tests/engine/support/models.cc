// Small models for tests.
#include "tests/engine/support/models.h"

#include <algorithm>
#include <optional>
#include <ostream>

#include "tests/engine/support/names.h"

namespace locus::engine::test {
namespace {

std::optional<std::vector<std::string>>& only_these() {
  static std::optional<std::vector<std::string>> ids;
  return ids;
}

}  // namespace

std::string PriorSetting::name() const {
  std::string text = id;
  for (const auto& [key, value] : options.items()) {
    text += "_" + key + "_" +
            (value.is_string()  ? value.get<std::string>()
             : value.is_array() ? value[0].get<std::string>()
                                : value.dump());
  }
  return fit_for_a_name(text);
}

void PrintTo(const PriorSetting& setting, std::ostream* out) { *out << setting.name(); }

std::vector<PriorSetting> settings_of(const PriorItem& item) {
  std::vector<PriorSetting> settings = {{item.id()}};
  const Json defaults = Options(item.item.json(), Json::object()).json();
  const auto add = [&](const std::string& option, const Json& value) {
    settings.push_back({item.id(), {{option, value}}});
    Json& options = settings.back().options;
    for (const Json& other : item.item.json().at("options")) {
      if (other.at("name") != option || !other.contains("when")) continue;
      const Json& when = other.at("when");
      const auto name = when.at("option").get<std::string>();
      const Json& values = when.at("values");
      if (std::find(values.begin(), values.end(), defaults.at(name)) == values.end()) options[name] = values[0];
    }
  };
  for (const Json& option : item.item.json().at("options")) {
    const auto name = option.at("name").get<std::string>();
    const Json& fallback = option.at("default");
    if (option.at("type") == "boolean") add(name, !fallback.get<bool>());
    if (option.at("type") == "string") {
      for (const Json& choice : option.at("choices")) {
        if (choice != fallback) add(name, choice);
      }
    }
    if (option.at("type") == "list" && option.contains("choices")) {
      add(name, Json::array({option.at("choices").back()}));
    }
  }
  return settings;
}

std::vector<PriorSetting> mixed_settings(const PriorItem& item, int count) {
  std::vector<PriorSetting> settings;
  for (int draw = 0; draw < count; ++draw) {
    const RandomStreams random(static_cast<std::uint64_t>(draw));
    Json options = Options(item.item.json(), Json::object()).json();
    for (const Json& option : item.item.json().at("options")) {
      const auto name = option.at("name").get<std::string>();
      const auto pick = [&](std::size_t most, std::uint64_t index) {
        return static_cast<std::size_t>(
            random.uniform("test", item.id() + name, index, {1}, 0, static_cast<double>(most)).item<double>());
      };
      if (option.at("type") == "boolean") options[name] = pick(2, 0) == 1;
      if (!option.contains("choices")) continue;
      const Json& choices = option.at("choices");
      if (option.at("type") == "string") options[name] = choices[pick(choices.size(), 0)];
      if (option.at("type") != "list") continue;
      Json some = Json::array({choices[pick(choices.size(), 0)]});
      for (std::size_t i = 0; i < choices.size(); ++i) {
        if (choices[i] != some[0] && pick(2, i + 1) == 1) some.push_back(choices[i]);
      }
      options[name] = some;
    }
    for (const Json& option : item.item.json().at("options")) {  // what has no meaning stays at its default
      if (!option.contains("when")) continue;
      const Json &when = option.at("when"), &values = when.at("values");
      const Json& other = options.at(when.at("option").get<std::string>());
      if (std::find(values.begin(), values.end(), other) == values.end())
        options[option.at("name").get<std::string>()] = option.at("default");
    }
    settings.push_back({item.id(), options});
  }
  return settings;
}

bool axial(const PriorSetting& setting) {
  const auto model = small_model({setting}, {.depth = 1});
  const auto& named = model->priors(0).at(0);
  return named.has(Hook::kPattern) && named.prior->pattern({.heads = 4, .reference = {{4, 5}, 0}}) == Pattern::kAxial;
}

ModelShape fitting(const PriorSetting& setting, ModelShape shape) {
  if (axial(setting)) {
    shape.pool = "mean";
    shape.registers = 0;
  }
  return shape;
}

std::vector<PriorItem> tested_priors() {
  std::vector<PriorItem> out;
  for (const PriorItem& item : prior_items()) {
    if (tests_everything() || std::ranges::find(*only_these(), item.id()) != only_these()->end()) out.push_back(item);
  }
  return out;
}

bool tests_everything() { return !only_these().has_value(); }

void test_only(std::vector<std::string> ids) { only_these() = std::move(ids); }

std::vector<PriorSetting> all_settings() {
  std::vector<PriorSetting> all;
  for (const PriorItem& item : tested_priors()) {
    for (const PriorSetting& setting : settings_of(item)) all.push_back(setting);
  }
  return all;
}

Json stage_configuration(const std::vector<PriorSetting>& priors, const ModelShape& shape) {
  Json list = Json::array();
  for (const PriorSetting& prior : priors) list.push_back({{"id", prior.id}, {"options", prior.options}});
  return {{"model",
           {{"id", "vit"},
            {"options",
             {{"dim", shape.dim},
              {"depth", shape.depth},
              {"heads", shape.heads},
              {"patch", 2},
              {"pool", shape.pool},
              {"mlp_ratio", shape.mlp_ratio},
              {"registers", shape.registers}}}}},
          {"priors", list}};
}

std::shared_ptr<Backbone> small_model(const std::vector<PriorSetting>& priors, const ModelShape& shape,
                                      std::uint64_t seed, const std::string& path) {
  return make_backbone(stage_configuration(priors, shape), {kTestChannels, shape.extent}, RandomStreams(seed), path);
}

Tensor test_images(std::int64_t count, std::vector<std::int64_t> extent, std::uint64_t seed) {
  return RandomStreams(seed).normal("test", "images", 0, {count, kTestChannels, extent[0], extent[1]});
}

ForwardContext test_context(bool training, std::int64_t step) {
  static const RandomStreams random(11);
  return {.step = step, .steps = 1000, .training = training, .random = random};
}

std::map<std::string, Tensor> gradients(Backbone& model, const Tensor& images) {
  model.zero_grad();
  const ForwardContext context = test_context(true);
  const Features features = model.forward(images, context);
  const Tensor weight =
      RandomStreams(5).normal("test", "weight", 0, features.tokens.sizes()).to(features.tokens.options());
  Tensor loss = (features.tokens * weight).sum();
  for (const AuxLoss& aux : model.auxiliary_losses(features, context)) loss = loss + aux.value;
  loss.backward();
  std::map<std::string, Tensor> out;
  for (const auto& entry : model.named_parameters())
    out[entry.key()] = entry.value().grad().defined() ? entry.value().grad().clone() : Tensor();
  return out;
}

}  // namespace locus::engine::test
