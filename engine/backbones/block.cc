// The residual block.
#include "engine/backbones/block.h"

#include <ATen/ops/silu.h>

#include "engine/fused/branch.h"

namespace locus::engine {
namespace {

constexpr std::string_view kDropPath = "drop-path", kDropout = "dropout";  // purposes of draws
constexpr std::int64_t kModulations = 6;                                   // shift, factor and gate of two branches

// The factors [B, 1, 1] of samples whose draws [B, 1, 1] are uniform.
Tensor kept_samples(const Tensor& draw, double rate, DropRule rule, at::ScalarType type) {
  if (rule == DropRule::kEach) return draw.ge(rate).to(type).div(1 - rate);
  const std::int64_t batch = draw.size(0);
  const auto kept = std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(batch) * (1 - rate)), 1);
  Tensor factors = at::zeros(draw.sizes(), type);
  factors.index_fill_(0, draw.flatten().argsort().slice(0, 0, kept),
                      static_cast<double>(batch) / static_cast<double>(kept));
  return factors;
}

fused::NormWeights weights_of(const Norm& norm) { return {norm.weight, norm.bias, norm.eps()}; }
fused::LinearWeights weights_of(const Linear& map) { return {map.weight, map.bias}; }

}  // namespace

double linear_drop_path(double rate, std::int64_t layer, std::int64_t layers) {
  return layers == 1 ? 0 : rate * static_cast<double>(layer) / static_cast<double>(layers - 1);
}

Block::Block(const BlockOptions& options, const std::vector<AttachedPrior>& priors, const LinearFactory& linear,
             const std::string& name)
    : name_(name), options_(options), hooks_(priors) {
  const std::int64_t width = options.info.width;
  norm1_ = register_module("norm1", std::make_shared<Norm>(width, options.norm_eps, !options.modulated));
  attention_ = register_module(
      "attention", std::make_shared<Attention>(options.info, priors, linear, name + ".attention", options.attention));
  if (options.layer_scale > 0) scale1_ = register_parameter("scale1", at::empty({width}));
  if (options.modulated)
    modulation_ = register_module("modulation", linear(name + ".modulation", width, kModulations * width, true));
  for (const AttachedPrior& prior : hooks_.of(Hook::kFeedForward)) {
    if (!prior.layer->replaces_mlp()) continue;
    if (options.modulated)
      throw std::invalid_argument(name + ": a prior that replaces the MLP would lose what modulates it");
    return;
  }
  build_mlp(linear);
}

void Block::build_mlp(const LinearFactory& linear) {
  const std::int64_t width = options_.info.width;
  if (options_.layer_scale > 0) scale2_ = register_parameter("scale2", at::empty({width}));
  norm2_ = register_module("norm2", std::make_shared<Norm>(width, options_.norm_eps, !options_.modulated));
  layers_ =
      register_module("mlp", std::make_shared<Mlp>(options_.mlp, width, options_.info.hidden, linear, name_ + ".mlp"));
  mlp_ = {.norm = [this](const Tensor& x) { return read(*norm2_, x, mlp_modulation_); },
          .in = [this](const Tensor& x) { return thinned(layers_->in(x, *layout_), "mlp.in", *context_); },
          .out =
              [this](const Tensor& hidden) {
                const Tensor out = thinned(layers_->out(hidden), "mlp.out", *context_);
                return options_.post_norm ? norm2_->forward(out) : out;
              }};
}

void Block::start_scales() {
  const at::NoGradGuard no_grad;
  for (const Tensor& scale : {scale1_, scale2_}) {
    if (scale.defined()) scale.fill_(options_.layer_scale);
  }
}

// Q K^T and P V are T x T x D products each, N x n x D along an axis of n patches, and in windows of t places t x t x D
// each, places that hold no token included.
std::int64_t Block::flops(const Layout& layout) const {
  const std::int64_t tokens = layout.tokens(), width = options_.info.width;
  const Partition& partition = options_.attention.partition;
  std::int64_t queries = tokens, keys = tokens;
  if (partition.divides()) {
    keys = partition.places();
    queries = partition.count(layout) * keys;
  } else if (options_.attention.pattern == Pattern::kAxial) {
    keys = 0;
    for (const std::int64_t length : layout.extent) keys += length;
  }
  const std::int64_t projections = 8 * tokens * width * width, attention = 4 * queries * keys * width;
  return projections + attention + (layers_ ? layers_->flops(layout) : 0) +
         (modulation_ ? 2 * modulation_->weight.numel() : 0);
}

std::array<Block::Modulation, 2> Block::modulation_of(const Condition& condition) const {
  if (!modulation_) {
    if (!condition.vector.defined()) return {};
    throw std::invalid_argument(name_ + " is given a condition and has nothing that follows one");
  }
  if (!condition.vector.defined())
    throw std::invalid_argument(name_ + " follows a condition, which the task must give and did not");
  const auto parts = modulation_->forward(at::silu(condition.vector)).unsqueeze(1).chunk(kModulations, -1);
  return {Modulation{parts[0], parts[1], parts[2]}, Modulation{parts[3], parts[4], parts[5]}};
}

Tensor Block::read(const Norm& norm, const Tensor& x, const Modulation& modulation) const {
  if (options_.post_norm) return x;
  const Tensor normed = norm.forward(x);
  return modulation.shift.defined() ? normed * (1 + modulation.factor) + modulation.shift : normed;
}

Tensor Block::scaled(const Tensor& branch, const Tensor& scale, const Modulation& modulation) const {
  const Tensor out = scale.defined() ? branch * scale : branch;
  return modulation.gate.defined() ? modulation.gate * out : out;
}

Tensor Block::thinned(const Tensor& x, std::string_view which, const ForwardContext& context) const {
  if (!context.training || options_.dropout == 0) return x;
  const std::int64_t first = context.first_sample, end = first + x.size(0);
  const Tensor draw =
      context.random
          .uniform(kDropout, name_ + "." + std::string(which), context.step.draw(), {end, x.size(1), x.size(2)})
          .slice(0, first);
  const Tensor factor = draw.ge(options_.dropout).to(x.scalar_type()).div(1 - options_.dropout);
  return x * factor.to(x.device(), /*non_blocking=*/true);
}

Tensor Block::dropped(const Tensor& branch, std::string_view which, const ForwardContext& context) const {
  const Tensor factors = kept(branch, which, context);
  return factors.defined() ? branch * factors : branch;
}

Tensor Block::kept(const Tensor& x, std::string_view which, const ForwardContext& context) const {
  if (!context.training || options_.drop_path == 0) return {};
  // A sample's draw is its place's in the whole batch, however that is split.
  const std::int64_t first = context.first_sample, end = first + x.size(0);
  const Tensor draw =
      context.random.uniform(kDropPath, name_ + "." + std::string(which), context.step.draw(), {end, 1, 1})
          .slice(0, first);
  return kept_samples(draw, options_.drop_path, options_.drop_rule, x.scalar_type())
      .to(x.device(), /*non_blocking=*/true);
}

bool Block::fuses(const Tensor& x, const ForwardContext& context) const {
  return !options_.post_norm && !options_.modulated && (options_.dropout == 0 || !context.training) && fused::fits(x) &&
         norm1_->weight.scalar_type() == x.scalar_type();
}

Tensor Block::with_attention(const Tensor& x, const Layout& layout, const ForwardContext& context,
                             const Modulation& modulation) {
  if (!fuses(x, context) || !attention_->out().plain()) {
    const Tensor read_from_stream = read(*norm1_, x, modulation);
    Tensor attended = thinned(attention_->forward(read_from_stream, layout, context), "attention", context);
    if (options_.post_norm) attended = norm1_->forward(attended);
    return x + dropped(scaled(attended, scale1_, modulation), "attention", context);
  }
  const auto [stream, normed] = fused::fork_norm(x, weights_of(*norm1_));
  const Tensor mixed = attention_->mixed(normed, layout, context);
  return fused::add_projected(stream, mixed, weights_of(attention_->out()), {scale1_, kept(x, "attention", context)});
}

Tensor Block::with_mlp(const Tensor& x, const Layout& layout, const ForwardContext& context) {
  if (hooks_.any(Hook::kFeedForward) || !fuses(x, context) || !layers_->plain())
    return x + fed_forward(x, layout, context);
  return fused::add_mlp(x, weights_of(*norm2_), weights_of(layers_->first()), weights_of(layers_->last()),
                        {scale2_, kept(x, "mlp", context)});
}

Tensor Block::fed_forward(const Tensor& x, const Layout& layout, const ForwardContext& context) {
  const auto taken = [&](const Tensor& branch) {
    return dropped(scaled(branch, scale2_, mlp_modulation_), "mlp", context);
  };
  if (!hooks_.any(Hook::kFeedForward)) return taken(mlp_(x));
  const AttachedPrior& prior = hooks_.of(Hook::kFeedForward).front();  // the catalog allows one
  const Tensor added = prior.layer->feed_forward(x, mlp_, layout, context);
  return prior.layer->replaces_mlp() ? added : taken(added);
}

Tensor Block::forward(Tensor x, const Layout& layout, const ForwardContext& context, const Condition& condition) {
  auto [of_attention, of_mlp] = modulation_of(condition);
  context_ = &context;
  layout_ = &layout;
  mlp_modulation_ = std::move(of_mlp);
  for (const AttachedPrior& prior : hooks_.of(Hook::kBlockEmbed))
    x = prior.layer->embed(Site::kBlockStart, x, layout, context);
  x = with_attention(fused::stream_of(x), layout, context, of_attention);
  x = with_mlp(x, layout, context);
  mlp_modulation_ = {};  // no graph outlives its forward here
  for (const AttachedPrior& prior : hooks_.of(Hook::kBlockEmbed))
    x = prior.layer->embed(Site::kBlockEnd, x, layout, context);
  return x;
}

}  // namespace locus::engine
