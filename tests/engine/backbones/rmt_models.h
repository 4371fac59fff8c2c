// Small networks of RMT and SDT-H for tests.
#pragma once

#include "tests/engine/backbones/rmt_definition.h"
#include "tests/engine/support/models.h"

namespace locus::engine::test {

inline const Json& rmt_entry() { return backbone_item("rmt").item.json(); }

// Priors as a specification writes them, [{"cpe": {..}}, ..], as a stage configuration lists them.
inline Json as_listed(const Json& written) {
  Json out = Json::array();
  for (const Json& one : written) {
    for (const auto& [id, options] : one.items()) {
      Json prior = {{"id", id}, {"options", options}};
      if (options.contains("stages")) prior["stages"] = options.at("stages");
      prior["options"].erase("stages");
      out.push_back(prior);
    }
  }
  return out;
}
inline Json priors_of_size(const std::string& size) {
  return as_listed(rmt_entry().at("facts").at("own_priors").at(size));
}
inline Json priors_of_sdt() { return as_listed(rmt_entry().at("facts").at("other_networks").at("sdt-h")); }

inline std::shared_ptr<Backbone> rmt(const Json& options, std::vector<std::int64_t> extent, const Json& priors,
                                     std::int64_t channels = kTestChannels) {
  return make_backbone({{"model", {{"id", "rmt"}, {"options", options}}}, {"priors", priors}},
                       {channels, std::move(extent)}, RandomStreams(3));
}

inline Json small_rmt(const Json& more = Json::object()) {
  Json options = {{"dims", {8, 16, 16, 24}},
                  {"depths", {1, 2, 1, 1}},
                  {"heads", {2, 4, 2, 2}},
                  {"hidden", {12, 20, 24, 16}},
                  {"pool_width", 10}};
  options.update(more);
  return options;
}

// What small_rmt is under the priors of a published size, or under those of SDT-H.
inline RmtPlain small_plain(std::vector<bool> lines) {
  return {.depths = {1, 2, 1, 1}, .heads = {2, 4, 2, 2}, .lines = std::move(lines), .range = {4, 4, 6, 6}};
}

// In double precision, everything moved away from where it starts; running variances stay positive.
inline std::shared_ptr<Backbone> random_rmt(const Json& options, std::vector<std::int64_t> extent, const Json& priors) {
  auto model = rmt(options, std::move(extent), priors);
  model->to(at::kDouble);
  const at::NoGradGuard no_grad;
  for (const auto& tensors : {model->named_parameters(), model->named_buffers()}) {
    for (const auto& entry : tensors) {
      Tensor value = entry.value();
      value.copy_(RandomStreams(9).normal("test", entry.key(), 0, value.sizes(), 0, 0.3));
      if (entry.key().ends_with("running_var")) value.abs_().add_(0.5);
      if (entry.key().find("norm") != std::string::npos && entry.key().ends_with(".weight")) value.add_(1);
    }
  }
  return model;
}

// Parameters and buffers as they are now, the parameters with gradients of their own.
inline RmtTensors copies(const Backbone& model) {
  RmtTensors out;
  for (const auto& entry : model.named_buffers()) out.emplace(entry.key(), entry.value().clone());
  for (const auto& entry : model.named_parameters())
    out.emplace(entry.key(), entry.value().detach().clone().requires_grad_());
  return out;
}

}  // namespace locus::engine::test
