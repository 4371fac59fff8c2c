// The probe: names in, names out.
#include "engine/probe/probe.h"

#include <algorithm>

#include "core/base/text.h"

namespace locus::engine {
namespace {

constexpr std::string_view kOfDraw = "draws.", kCotangent = "cotangent";
const std::string kPositions = "positions", kValid = "valid";  // of points

// The number behind `mark` (".layers.") in a name, or none.
std::optional<std::int64_t> number_behind(std::string_view name, std::string_view mark) {
  const std::size_t at = name.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = name.substr(at + mark.size());
  return std::stoll(std::string(rest.substr(0, rest.find('.'))));
}

std::string shape_text(at::IntArrayRef shape) { return Json(shape.vec()).dump(); }

}  // namespace

ProbeLevel parse_probe_level(std::string_view name) {
  if (name == "attention") return ProbeLevel::kAttention;
  if (name == "block") return ProbeLevel::kBlock;
  if (name == "stage") return ProbeLevel::kStage;
  if (name == "model") return ProbeLevel::kModel;
  throw std::invalid_argument("no level is called '" + std::string(name) +
                              "'; there are attention, block, stage and model");
}

Probe::Probe(const ProbeRequest& request)
    : request_(request),
      host_(request.host),
      random_(request.host.seed, [this](std::string_view purpose, std::string_view name, const Tensor& own) {
        return drawn(std::string(purpose) + "." + std::string(name), own);
      }) {
  if (whole() && host_.point_axes() > 0) {
    throw std::invalid_argument(
        "level model begins with an image, whose tokens lie on a grid; points take level attention, block or stage");
  }
  const bool stage = request.level == ProbeLevel::kStage;
  const std::int64_t all = host_.backbone_layers();
  if (stage || request.stage) {
    const StageInfo& of = host_.stage(request.stage.value_or(0));
    const auto count = static_cast<std::int64_t>(of.layers.size());
    if (!stage && (request.layer < 0 || request.layer >= count)) {
      throw std::invalid_argument("layer " + std::to_string(request.layer) + " of stage " + std::to_string(of.index) +
                                  " is not one of " + std::to_string(count) + ", counted from 0");
    }
    first_ = of.layers[0].layer + (stage ? 0 : request.layer);
    last_ = stage ? of.layers.back().layer : first_;
    for (const LayerInfo& info : of.layers) {
      if (!stage || info.reference.prefix == of.layers[0].reference.prefix) continue;
      throw std::invalid_argument(
          "prefix tokens join within the stage, so its blocks do not run alone; take level model");
    }
  } else {
    if (request.layer < 0 || request.layer >= all) {
      throw std::invalid_argument("layer " + std::to_string(request.layer) + " is not one of " + std::to_string(all) +
                                  ", counted from 0");
    }
    first_ = last_ = request.layer;
  }
  host_.network().to(request.type);
  const auto sort = [&](const auto& tensors, NamedTensors& into) {
    for (const auto& entry : tensors) {
      if (const auto name = name_of(entry.key())) into[*name] = entry.value();
    }
  };
  sort(host_.network().named_parameters(), parameters_);
  sort(host_.network().named_buffers(), buffers_);
}

std::optional<std::string> Probe::name_of(const std::string& full) const {
  constexpr std::string_view kBackbone = "backbone.";
  if (whole()) return full;
  if (!full.starts_with(kBackbone)) return std::nullopt;
  const std::string name = full.substr(kBackbone.size());
  if (name.starts_with("priors.")) {
    // "priors.<id>.layers.<l>.<name>", or "priors.<id>.stages.<s>.layers.<l>.<name>"
    const auto layer = number_behind(name, ".layers."), stage = number_behind(name, ".stages.");
    if ((layer && (*layer < first_ || *layer > last_)) || (stage && *stage != host_.layer_info(first_).stage) ||
        host_.backbone().training_only(name))
      return std::nullopt;
    return name;
  }
  if (request_.level == ProbeLevel::kStage) {
    for (std::int64_t l = first_; l <= last_; ++l) {
      if (name.starts_with(host_.block(l).name() + ".")) return name;
    }
    return std::nullopt;
  }
  const std::string block = host_.block(first_).name() + ".";
  if (!name.starts_with(block)) return std::nullopt;
  const std::string within = name.substr(block.size());
  if (request_.level == ProbeLevel::kBlock) return within;
  constexpr std::string_view kAttention = "attention.", kOut = "attention.out.";
  if (within.starts_with(kOut)) return "proj." + within.substr(kOut.size());
  return within.starts_with(kAttention) ? std::optional(within.substr(kAttention.size())) : std::nullopt;
}

NamedTensors Probe::initial() const {
  NamedTensors out;
  for (const NamedTensors* all : {&parameters_, &buffers_}) {
    for (const auto& [name, tensor] : *all) out[name] = tensor.detach().clone();
  }
  return out;
}

std::vector<Probe::Input> Probe::asked() const {
  if (!whole()) {
    const std::int64_t width = host_.layer_info(first_).width;
    std::vector<Input> out = {{"x", {host_.layout(first_).tokens(), width}}};
    if (request_.level != ProbeLevel::kAttention && host_.stage(host_.layer_info(first_).stage).condition)
      out.push_back({"condition", {width}});
    return out;
  }
  const std::vector<std::int64_t> image = {host_.channels(), host_.image_extent()[0], host_.image_extent()[1]};
  if (host_.denoiser() == nullptr)
    return {{"image", image}, {"hidden", {host_.stage_layout(0).patches()}, at::kBool, /*optional=*/true}};
  return {{"image", image}, {"time", {}}, {"label", {}, at::kLong}, {"dropped", {}, at::kBool, /*optional=*/true}};
}

void Probe::check_names(const NamedTensors& given) const {
  std::vector<std::string> missing, extra;
  std::set<std::string> known;
  for (const Input& input : asked()) {
    known.insert(input.name);
    if (!input.optional && !given.contains(input.name)) missing.push_back(input.name);
  }
  if (host_.point_axes() > 0) {
    known.insert({kPositions, kValid});
    if (!given.contains(kPositions)) missing.push_back(kPositions);
  }
  for (const auto& [name, tensor] : parameters_) {
    if (!given.contains(name)) missing.push_back(name);
  }
  for (const auto& [name, tensor] : given) {
    const bool checked_later = name == kCotangent || (whole() && name.starts_with("cotangent.")) ||
                               (request_.training && name.starts_with(kOfDraw));
    if (!checked_later && !known.contains(name) && !parameters_.contains(name) && !buffers_.contains(name))
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
      tensor.mutable_grad() = Tensor();
      const auto found = given.find(name);
      if (found == given.end()) continue;
      if (found->second.sizes() != tensor.sizes()) {
        throw std::invalid_argument(name + " has the shape " + shape_text(found->second.sizes()) +
                                    ", the model needs " + shape_text(tensor.sizes()));
      }
      tensor.copy_(found->second);
    }
  }
}

NamedTensors Probe::inputs(const NamedTensors& given) const {
  NamedTensors out;
  std::int64_t batch = -1;
  for (const Input& input : asked()) {
    const auto found = given.find(input.name);
    if (found == given.end()) continue;
    const Tensor& tensor = found->second;
    if (batch < 0) batch = tensor.dim() > 0 ? tensor.size(0) : 0;
    std::vector<std::int64_t> wanted = {batch};
    wanted.insert(wanted.end(), input.shape.begin(), input.shape.end());
    if (tensor.sizes() != at::IntArrayRef(wanted)) {
      throw std::invalid_argument(input.name + " has the shape " + shape_text(tensor.sizes()) +
                                  ", the grid and the model need " + shape_text(wanted));
    }
    out[input.name] = tensor.to(input.type.value_or(request_.type)).detach().clone();
    if (!input.type) out[input.name].requires_grad_();
  }
  return out;
}

void Probe::place(const NamedTensors& given) {
  const Tensor& x = given.at("x");
  const std::int64_t batch = x.dim() > 0 ? x.size(0) : 0;
  const auto of_every_sample = [&](const std::string& name, const Tensor& tensor, std::int64_t dims) {
    if (tensor.dim() == dims && tensor.size(0) == batch) return tensor.clone();
    if (tensor.dim() != dims - 1) {
      throw std::invalid_argument(name + " has the shape " + shape_text(tensor.sizes()) + "; with x of " +
                                  shape_text(x.sizes()) + " it needs one entry for each of " + std::to_string(batch) +
                                  " samples, or for all of them none");
    }
    std::vector<std::int64_t> shape = {batch};
    for (const std::int64_t size : tensor.sizes()) shape.push_back(size);
    return tensor.expand(shape).clone();
  };
  const Tensor positions = of_every_sample(kPositions, given.at(kPositions).to(at::kDouble), 3);
  const auto found = given.find(kValid);
  host_.place(positions, found == given.end() ? Tensor() : of_every_sample(kValid, found->second.to(at::kBool), 2));
}

// What a pass draws of itself, or what is given in its place.
Tensor Probe::drawn(const std::string& name, const Tensor& own) {
  const std::string full = std::string(kOfDraw) + name;
  Tensor out = own;
  if (const auto found = given_->find(full); found != given_->end()) {
    if (found->second.sizes() != own.sizes()) {
      throw std::invalid_argument(full + " has the shape " + shape_text(found->second.sizes()) + ", the pass draws " +
                                  shape_text(own.sizes()));
    }
    out = found->second.to(own.scalar_type());
  }
  drawn_[full] = out;
  return out.clone();
}

void Probe::check_draws(const NamedTensors& given) const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : drawn_) names.push_back(name);
  for (const auto& [name, tensor] : given) {
    if (!name.starts_with(kOfDraw) || drawn_.contains(name)) continue;
    throw std::invalid_argument("nobody draws " + name + "; the pass draws " +
                                (names.empty() ? "nothing" : joined(names)));
  }
}

NamedTensors Probe::run_attention(const Tensor& x, const ForwardContext& context) {
  std::vector<AttentionWeights> passes;
  Attention& attention = host_.attention(first_);
  attention.watch([&](const Scores& scores, const AttentionInputs&) {
    const at::NoGradGuard no_grad;
    const AttentionWeights weights = explicit_weights(scores);
    const std::vector<std::int64_t> full = {scores.q.size(0), scores.q.size(1), scores.q.size(2), scores.q.size(2)};
    passes.push_back({weights.logits.expand(full), weights.probabilities.expand(full)});
  });
  NamedTensors out;
  out["output"] = attention.forward(x, host_.layout(first_), context);
  attention.watch({});
  for (std::size_t i = 0; i < passes.size(); ++i) {  // along axes, the last one comes first
    const std::string which = passes.size() == 1 ? "" : ".axis-" + std::to_string(passes.size() - 1 - i);
    out["logits" + which] = passes[i].logits;
    out["probabilities" + which] = passes[i].probabilities;
  }
  return out;
}

NamedTensors Probe::run_blocks(const NamedTensors& in, const ForwardContext& context) {
  Condition condition;
  if (const auto found = in.find("condition"); found != in.end()) condition.vector = found->second;
  Layout layout = host_.layout(first_);
  Tensor x = in.at("x");
  for (std::int64_t l = first_; l <= last_; ++l) x = host_.block(l).forward(x, layout, context, condition);
  return {{"output", x}};
}

NamedTensors Probe::run_model(const NamedTensors& in, const ForwardContext& context) {
  Inputs inputs(in.at("image"));
  if (const auto found = in.find("hidden"); found != in.end()) inputs.hidden = found->second;
  const Features features = host_.backbone().forward(inputs, context);
  NamedTensors out = {{"tokens", features.tokens}, {"logits", host_.head().forward(host_.backbone().pooled(features))}};
  ForwardContext training = context;
  training.training = true;
  for (const AuxLoss& loss : host_.backbone().auxiliary_losses(features, training))
    out["loss." + loss.prior] = loss.value;
  return out;
}

NamedTensors Probe::run_denoiser(const NamedTensors& in, const ForwardContext& context) {
  const Denoiser& denoiser = *host_.denoiser();
  Denoiser::Given given{.image = in.at("image"), .time = in.at("time"), .label = in.at("label")};
  if (const auto found = in.find("dropped"); found != in.end()) given.dropped = found->second;
  const Tensor condition = denoiser.condition(given, context);
  const Features features = denoiser.features(given, condition, context);
  return {{"condition", condition}, {"tokens", features.tokens}, {"output", denoiser.out(features, condition)}};
}

// Sum of products with the cotangents; undefined without any.
Tensor Probe::objective(const NamedTensors& given, const NamedTensors& out) const {
  Tensor sum;
  for (const auto& [cotangent, tensor] : given) {
    if (!cotangent.starts_with(kCotangent) || parameters_.contains(cotangent)) continue;
    const std::string of = cotangent == kCotangent ? output_name() : cotangent.substr(kCotangent.size() + 1);
    const auto found = out.find(of);
    if (found == out.end()) {
      std::vector<std::string> names;
      for (const auto& [name, value] : out) names.push_back(name);
      throw std::invalid_argument(cotangent + " belongs to no output; there are " + joined(names));
    }
    const Tensor& value = found->second;
    if (tensor.sizes() != value.sizes()) {
      throw std::invalid_argument(cotangent + " has the shape " + shape_text(tensor.sizes()) + ", " + of + " has " +
                                  shape_text(value.sizes()));
    }
    const Tensor part = (value * tensor.to(value.scalar_type())).sum();
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

NamedTensors Probe::run(const NamedTensors& given) {
  check_names(given);
  load(given);
  if (host_.point_axes() > 0) place(given);
  given_ = &given;
  drawn_.clear();
  NamedTensors in = inputs(given), before;
  for (const auto& [name, buffer] : buffers_) before[name] = buffer.clone();
  const ForwardContext context{
      .step = request_.step, .steps = request_.step + 1, .training = request_.training, .random = random_};
  if (!whole()) host_.begin_forward(context);
  NamedTensors out = request_.level == ProbeLevel::kAttention ? run_attention(in.at("x"), context)
                     : !whole()                               ? run_blocks(in, context)
                     : host_.denoiser() != nullptr            ? run_denoiser(in, context)
                                                              : run_model(in, context);
  check_draws(given);
  if (const Tensor sum = objective(given, out); sum.defined()) {
    sum.backward();
    const auto gradient = [&](const std::string& name, const Tensor& of) {
      out["grad." + name] = of.grad().defined() ? of.grad().clone() : at::zeros_like(of);
    };
    for (const auto& [name, tensor] : in) {
      if (tensor.requires_grad()) gradient(name, tensor);
    }
    for (const auto& [name, parameter] : parameters_) gradient(name, parameter);
  }
  const at::NoGradGuard no_grad;
  for (auto& [name, buffer] : buffers_) {
    if (at::equal(buffer, before.at(name))) continue;
    out["after." + name] = buffer.clone();
    buffer.copy_(before.at(name));
  }
  if (request_.training) out.insert(drawn_.begin(), drawn_.end());
  for (auto& [name, tensor] : out) tensor = tensor.detach().contiguous();
  return out;
}

}  // namespace locus::engine
