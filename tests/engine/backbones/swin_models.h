// Small Swin Transformers for tests.
#pragma once

#include "tests/engine/support/models.h"

namespace locus::engine::test {

inline const Json& swin_entry() { return backbone_item("swin").item.json(); }

// What the published network has, as a stage configuration lists it.
inline Json own_priors(bool second) {
  if (second) return Json::array({{{"id", "log-cpb"}, {"options", {{"attention", "cosine"}}}}});
  return Json::array({{{"id", "relative-bias"}, {"options", {{"decay", false}}}}});
}

inline std::shared_ptr<Backbone> swin(const Json& options, std::vector<std::int64_t> extent, const Json& priors,
                                      std::int64_t channels = kTestChannels) {
  return make_backbone({{"model", {{"id", "swin"}, {"options", options}}}, {"priors", priors}},
                       {channels, std::move(extent)}, RandomStreams(3));
}

inline Json small_swin(Json more = Json::object()) {
  Json options = {{"dims", {8, 16}},  {"depths", {2, 2}}, {"heads", {2, 4}},
                  {"mlp_ratio", 2.0}, {"patch", 2},       {"window", 4}};
  options.update(more);
  return options;
}

// In double precision, everything moved away from where it starts; logit scales below and above their limit.
inline std::shared_ptr<Backbone> random_swin(const Json& options, std::vector<std::int64_t> extent,
                                             const Json& priors) {
  auto model = swin(options, std::move(extent), priors);
  model->to(at::kDouble);
  const at::NoGradGuard no_grad;
  for (const auto& parameter : model->named_parameters()) {
    Tensor value = parameter.value();
    value.copy_(RandomStreams(9).normal("test", parameter.key(), 0, value.sizes(), 0, 0.3));
    if (parameter.key().find("norm") != std::string::npos && parameter.key().ends_with(".weight")) value.add_(1);
    if (parameter.key().ends_with("logit_scale")) value.copy_(at::linspace(2, 6, value.numel()));
  }
  return model;
}

}  // namespace locus::engine::test
