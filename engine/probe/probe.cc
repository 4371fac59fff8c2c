// The probe: names in, names out.
#include "engine/probe/probe.h"

#include <algorithm>

#include "core/base/text.h"

namespace locus::engine {
namespace {

// Whether `name` has a part after `mark` (".layers.") that is not `own`.
bool of_another(std::string_view name, const std::string& mark, std::int64_t own) {
  const std::string wanted = mark + std::to_string(own) + ".";
  const std::size_t at = name.find(mark);
  return at != std::string_view::npos && name.substr(at, wanted.size()) != wanted;
}

// A tensor's name at a level, or none where it has no part there.
std::optional<std::string> name_at(const ProbeRequest& request, const Host& host, const std::string& full) {
  constexpr std::string_view kBackbone = "backbone.";
  if (request.level == ProbeLevel::kModel) return full;
  if (!full.starts_with(kBackbone)) return std::nullopt;
  const std::string name = full.substr(kBackbone.size());
  if (name.starts_with("priors.")) {
    // "priors.<id>.layers.<l>.<name>", or "priors.<id>.stages.<s>.layers.<l>.<name>"
    if (of_another(name, ".layers.", request.layer) ||
        of_another(name, ".stages.", host.layer_info(request.layer).stage) || host.backbone().training_only(name))
      return std::nullopt;
    return name;
  }
  const std::string block = host.block(request.layer).name() + ".";
  if (!name.starts_with(block)) return std::nullopt;
  const std::string within = name.substr(block.size());
  if (request.level == ProbeLevel::kBlock) return within;
  static const std::map<std::string, std::string> kAttention = {{"attention.qkv.weight", "qkv.weight"},
                                                                {"attention.qkv.bias", "qkv.bias"},
                                                                {"attention.out.weight", "proj.weight"},
                                                                {"attention.out.bias", "proj.bias"}};
  const auto found = kAttention.find(within);
  return found == kAttention.end() ? std::nullopt : std::optional(found->second);
}

std::string shape_text(at::IntArrayRef shape) { return Json(shape.vec()).dump(); }

}  // namespace

ProbeLevel parse_probe_level(std::string_view name) {
  if (name == "attention") return ProbeLevel::kAttention;
  if (name == "block") return ProbeLevel::kBlock;
  if (name == "model") return ProbeLevel::kModel;
  throw std::invalid_argument("no level is called '" + std::string(name) + "'; there are attention, block and model");
}

Probe::Probe(const ProbeRequest& request) : request_(request), host_(request.host), random_(request.host.seed) {
  if (request.layer < 0 || request.layer >= request.host.layers) {
    throw std::invalid_argument("layer " + std::to_string(request.layer) + " is not one of " +
                                std::to_string(request.host.layers) + ", counted from 0");
  }
  host_.task().to(request.type);
  const auto sort = [&](const auto& all, NamedTensors& into) {
    for (const auto& entry : all) {
      if (const auto name = name_at(request_, host_, entry.key())) into[*name] = entry.value();
    }
  };
  sort(host_.task().named_parameters(), parameters_);
  sort(host_.task().named_buffers(), buffers_);
}

NamedTensors Probe::initial() const {
  NamedTensors out;
  for (const NamedTensors* all : {&parameters_, &buffers_}) {
    for (const auto& [name, tensor] : *all) out[name] = tensor.detach().clone();
  }
  return out;
}

void Probe::check_names(const NamedTensors& given) const {
  std::vector<std::string> missing, extra;
  if (!given.contains(input_name())) missing.emplace_back(input_name());
  for (const auto& [name, tensor] : parameters_) {
    if (!given.contains(name)) missing.push_back(name);
  }
  for (const auto& [name, tensor] : given) {
    const bool cotangent = name == "cotangent" || (name == "cotangent.logits" && request_.level == ProbeLevel::kModel);
    if (name != input_name() && !cotangent && !parameters_.contains(name) && !buffers_.contains(name))
      extra.push_back(name);
  }
  if (missing.empty() && extra.empty()) return;
  throw std::invalid_argument(
      "the tensors given do not fit:" + (missing.empty() ? "" : " missing " + joined(missing) + ";") +
      (extra.empty() ? "" : " unknown " + joined(extra) + ";") + " --init writes a file with all names");
}

void Probe::load(const NamedTensors& given) {
  const at::NoGradGuard no_grad;
  for (NamedTensors* all : {&parameters_, &buffers_}) {
    for (auto& [name, tensor] : *all) {
      const auto found = given.find(name);
      if (found == given.end()) continue;
      if (found->second.sizes() != tensor.sizes()) {
        throw std::invalid_argument(name + " has the shape " + shape_text(found->second.sizes()) +
                                    ", the model needs " + shape_text(tensor.sizes()));
      }
      tensor.copy_(found->second);
      tensor.mutable_grad() = Tensor();
    }
  }
}

Tensor Probe::input(const NamedTensors& given) const {
  const Tensor& input = given.at(input_name());
  std::vector<std::int64_t> wanted = {input.dim() > 0 ? input.size(0) : 0};
  if (request_.level == ProbeLevel::kModel) {
    wanted.insert(wanted.end(), {host_.channels(), host_.image_extent()[0], host_.image_extent()[1]});
  } else {
    wanted.insert(wanted.end(), {host_.layout(request_.layer).tokens(), host_.layer_info(request_.layer).width});
  }
  if (input.sizes() != at::IntArrayRef(wanted)) {
    throw std::invalid_argument(std::string(input_name()) + " has the shape " + shape_text(input.sizes()) +
                                ", the grid and the model need " + shape_text(wanted));
  }
  return input.to(request_.type).detach().clone().requires_grad_();
}

NamedTensors Probe::run_attention(const Tensor& x) {
  std::vector<AttentionWeights> passes;
  Attention& attention = host_.attention(request_.layer);
  attention.watch([&](const Scores& scores, const AttentionInputs&) {
    const at::NoGradGuard no_grad;
    const AttentionWeights weights = explicit_weights(scores);
    const std::vector<std::int64_t> full = {scores.q.size(0), scores.q.size(1), scores.q.size(2), scores.q.size(2)};
    passes.push_back({weights.logits.expand(full), weights.probabilities.expand(full)});
  });
  const ForwardContext context{.step = 0, .steps = 1, .training = false, .random = random_};
  host_.begin_forward(context);
  NamedTensors out;
  out["output"] = attention.forward(x, host_.layout(request_.layer), context);
  attention.watch({});
  for (std::size_t i = 0; i < passes.size(); ++i) {  // along axes, the last one comes first
    const std::string which = passes.size() == 1 ? "" : ".axis-" + std::to_string(passes.size() - 1 - i);
    out["logits" + which] = passes[i].logits;
    out["probabilities" + which] = passes[i].probabilities;
  }
  return out;
}

NamedTensors Probe::run_block(const Tensor& x) {
  const ForwardContext context{.step = 0, .steps = 1, .training = false, .random = random_};
  host_.begin_forward(context);
  return {{"output", host_.block(request_.layer).forward(x, host_.layout(request_.layer), context)}};
}

NamedTensors Probe::run_model(const Tensor& image) {
  const ForwardContext context{.step = 0, .steps = 1, .training = false, .random = random_};
  const Features features = host_.backbone().forward(image, context);
  NamedTensors out = {{"tokens", features.tokens}, {"logits", host_.head().forward(host_.backbone().pooled(features))}};
  const ForwardContext training{.step = 0, .steps = 1, .training = true, .random = random_};
  for (const AuxLoss& loss : host_.backbone().auxiliary_losses(features, training))
    out["loss." + loss.prior] = loss.value;
  return out;
}

// Sum of products with the cotangents; undefined without any.
Tensor Probe::objective(const NamedTensors& given, const NamedTensors& out) const {
  Tensor sum;
  const auto add = [&](const char* cotangent, const char* of) {
    const auto found = given.find(cotangent);
    if (found == given.end()) return;
    const Tensor& value = out.at(of);
    if (found->second.sizes() != value.sizes()) {
      throw std::invalid_argument(std::string(cotangent) + " has the shape " + shape_text(found->second.sizes()) +
                                  ", " + of + " has " + shape_text(value.sizes()));
    }
    const Tensor part = (value * found->second.to(value.scalar_type())).sum();
    sum = sum.defined() ? sum + part : part;
  };
  add("cotangent", output_name());
  add("cotangent.logits", "logits");
  return sum;
}

NamedTensors Probe::run(const NamedTensors& given) {
  check_names(given);
  load(given);
  const Tensor in = input(given);
  NamedTensors out = request_.level == ProbeLevel::kAttention ? run_attention(in)
                     : request_.level == ProbeLevel::kBlock   ? run_block(in)
                                                              : run_model(in);
  if (const Tensor sum = objective(given, out); sum.defined()) {
    sum.backward();
    const auto gradient = [&](const std::string& name, const Tensor& of) {
      out["grad." + name] = of.grad().defined() ? of.grad().clone() : at::zeros_like(of);
    };
    gradient(input_name(), in);
    for (const auto& [name, parameter] : parameters_) gradient(name, parameter);
  }
  for (auto& [name, tensor] : out) tensor = tensor.detach().contiguous();
  return out;
}

}  // namespace locus::engine
