// Small models for tests.
#include "tests/engine/support/models.h"

#include <algorithm>
#include <ostream>

namespace locus::test {

std::string PriorSetting::name() const {
  std::string text = id;
  for (const auto& [key, value] : options.items()) {
    text += "_" + key + "_" +
            (value.is_string()  ? value.get<std::string>()
             : value.is_array() ? value[0].get<std::string>()
                                : value.dump());
  }
  std::replace_if(
      text.begin(), text.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return text;
}

void PrintTo(const PriorSetting& setting, std::ostream* out) { *out << setting.name(); }

std::vector<PriorSetting> settings_of(const PriorItem& item) {
  std::vector<PriorSetting> settings = {{item.id()}};
  const auto add = [&](const std::string& option, const Json& value) {
    settings.push_back({item.id(), {{option, value}}});
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

std::vector<PriorSetting> all_settings() {
  std::vector<PriorSetting> all;
  for (const PriorItem& item : prior_items()) {
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
              {"registers", shape.registers}}}}},
          {"priors", list}};
}

std::shared_ptr<Backbone> small_model(const std::vector<PriorSetting>& priors, const ModelShape& shape,
                                      std::uint64_t seed, const std::string& path) {
  return make_backbone(stage_configuration(priors, shape), {kTestChannels, shape.extent}, RandomStreams(seed),
                       path);
}

Tensor test_images(std::int64_t count, std::vector<std::int64_t> extent, std::uint64_t seed) {
  return RandomStreams(seed).normal("test", "images", 0, {count, kTestChannels, extent[0], extent[1]});
}

Moment test_moment(bool training, std::int64_t step) {
  static const RandomStreams random(11);
  return {.step = step, .steps = 1000, .training = training, .random = random};
}

std::map<std::string, Tensor> gradients(Backbone& model, const Tensor& images) {
  model.zero_grad();
  const Moment moment = test_moment(true);
  const Features features = model.forward(images, moment);
  const Tensor weight =
      RandomStreams(5).normal("test", "weight", 0, features.tokens.sizes()).to(features.tokens.options());
  Tensor loss = (features.tokens * weight).sum();
  for (const AuxLoss& aux : model.auxiliary_losses(features, moment)) loss = loss + aux.value;
  loss.backward();
  std::map<std::string, Tensor> out;
  for (const auto& entry : model.named_parameters())
    out[entry.key()] = entry.value().grad().defined() ? entry.value().grad().clone() : Tensor();
  return out;
}

}  // namespace locus::test
