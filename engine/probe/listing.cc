// The probe's table of contents.
#include "engine/probe/probe.h"

namespace locus::engine {
namespace {

constexpr std::int64_t kRows = 4, kColumns = 4, kPrefix = 1, kLayers = 2;

Json default_model() { return {{"id", "vit"}, {"options", {{"dim", 64}, {"heads", 4}, {"patch", 2}}}}; }

HostRequest host_of(const Json& model, const Json& priors, std::int64_t prefix, const std::string& path) {
  return {.specification = {{"model", model}, {"priors", priors}, {"channels", 1}},
          .grid = {kRows, kColumns},
          .prefix = prefix,
          .path = path,
          .seed = 0,
          .least_layers = kLayers};
}

Json shapes(const Host& host, bool buffers) {
  Json out = Json::array();
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    if (name.starts_with("priors.")) out.push_back({{"name", name}, {"shape", tensor.sizes().vec()}});
  };
  if (buffers) {
    for (const auto& entry : host.backbone().named_buffers()) add(entry.key(), entry.value());
  } else {
    for (const auto& entry : host.backbone().named_parameters()) add(entry.key(), entry.value());
  }
  return out;
}

// The paths that run the prior: each is asked for, training and evaluating, and what was taken is read back.
Json paths(const Json& model, const Json& priors, std::int64_t prefix) {
  Json out = Json::array();
  const RandomStreams random(0);
  for (const ExecutionPath& path : execution_paths()) {
    const Host host(host_of(model, priors, prefix, std::string(path.name)));
    const Tensor image = at::zeros({1, host.channels(), host.image_extent()[0], host.image_extent()[1]});
    const auto run = [&](bool training) {
      const ForwardContext context{.step = 0, .steps = 1, .training = training, .random = random};
      if (host.denoiser() == nullptr) {
        host.backbone().forward(image, context);
      } else {
        host.denoiser()->forward({.image = image, .time = at::zeros({1}), .label = at::zeros({1}, at::kLong)}, context);
      }
    };
    run(/*training=*/true);
    {
      const at::NoGradGuard no_grad;
      run(/*training=*/false);
    }
    const std::string taken = "+" + host.backbone().path() + "+";
    if (taken.find("+" + std::string(path.name) + "+") != std::string::npos) out.push_back(path.name);
  }
  return out;
}

Json entry(const PriorItem& item, const Json& model, const Json& options) {
  const Json priors = Json::array({{{"id", item.id()}, {"options", options}}});
  Json out = {{"id", item.id()},
              {"revision", item.item.json().at("revision")},
              {"hooks", item.item.json().at("hooks")},
              {"options", item.item.json().at("options")}};
  std::int64_t prefix = kPrefix;
  std::optional<Host> host;
  try {
    host.emplace(host_of(model, priors, prefix, "auto"));
    out["paths"] = paths(model, priors, prefix);
  } catch (const std::invalid_argument&) {  // a prior without a place for prefix tokens
    prefix = 0;
    host.emplace(host_of(model, priors, prefix, "auto"));
    out["paths"] = paths(model, priors, prefix);
  }
  out["parameters"] = shapes(*host, /*buffers=*/false);
  out["buffers"] = shapes(*host, /*buffers=*/true);
  return out;
}

}  // namespace

Json probe_listing(const Json& specification) {
  const Json model = specification.value("model", default_model());
  Json out = {{"model", model},
              {"grid", {kRows, kColumns}},
              {"prefix", kPrefix},
              {"layers", kLayers},
              {"priors", Json::array()}};
  if (specification.contains("priors")) {
    for (const Json& prior : specification.at("priors")) {
      out["priors"].push_back(
          entry(prior_item(prior.at("id").get<std::string>()), model, prior.value("options", Json::object())));
    }
    return out;
  }
  for (const PriorItem& item : prior_items()) out["priors"].push_back(entry(item, model, Json::object()));
  return out;
}

}  // namespace locus::engine
