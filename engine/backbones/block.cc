// Layer norm and the pre-norm residual block.
#include "engine/backbones/block.h"

namespace locus::engine {
namespace {

constexpr std::string_view kDropPath = "drop-path", kDropout = "dropout";  // purposes of draws
constexpr double kNormEps = 1e-6;

}  // namespace

Norm::Norm(std::int64_t width) {
  weight = register_parameter("weight", at::empty({width}));
  bias = register_parameter("bias", at::empty({width}));
}

Tensor Norm::forward(const Tensor& x) { return at::layer_norm(x, weight.sizes(), weight, bias, kNormEps); }

void Norm::initialize() {
  const at::NoGradGuard no_grad;
  weight.fill_(1);
  bias.zero_();
}

Block::Block(const BlockOptions& options, const std::vector<AttachedPrior>& priors, const LinearFactory& linear,
             const std::string& name)
    : name_(name), options_(options), hooks_(priors) {
  const std::int64_t width = options.info.width;
  norm1_ = register_module("norm1", std::make_shared<Norm>(width));
  attention_ = register_module(
      "attention", std::make_shared<Attention>(options.info, priors, linear, name + ".attention", options.attention));
  if (options.layer_scale > 0) scale1_ = register_parameter("scale1", at::empty({width}));
  for (const AttachedPrior& prior : hooks_.of(Hook::kFeedForward)) {
    if (prior.layer->replaces_mlp()) return;
  }
  if (options.layer_scale > 0) scale2_ = register_parameter("scale2", at::empty({width}));
  norm2_ = register_module("norm2", std::make_shared<Norm>(width));
  const auto container = register_module("mlp", std::make_shared<Module>());
  in_ = container->register_module("in", linear(name + ".mlp.in", width, options.info.hidden, true));
  out_ = container->register_module("out", linear(name + ".mlp.out", options.info.hidden, width, true));
  mlp_ = {.norm = [this](const Tensor& x) { return norm2_->forward(x); },
          .in = [this](const Tensor& x) { return thinned(at::gelu(in_->forward(x)), "mlp.in", *context_); },
          .out = [this](const Tensor& x) { return thinned(out_->forward(x), "mlp.out", *context_); }};
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
  return projections + attention + (mlp_.in ? 4 * tokens * width * options_.info.hidden : 0);
}

Tensor Block::thinned(const Tensor& x, std::string_view which, const ForwardContext& context) const {
  if (!context.training || options_.dropout == 0) return x;
  const std::int64_t first = context.first_sample, end = first + x.size(0);
  const Tensor draw = context.random
                          .uniform(kDropout, name_ + "." + std::string(which), static_cast<std::uint64_t>(context.step),
                                   {end, x.size(1), x.size(2)})
                          .slice(0, first);
  const Tensor factor = draw.ge(options_.dropout).to(x.scalar_type()).div(1 - options_.dropout);
  return x * factor.to(x.device(), /*non_blocking=*/true);
}

Tensor Block::dropped(const Tensor& branch, std::string_view which, const ForwardContext& context) const {
  if (!context.training || options_.drop_path == 0) return branch;
  // A sample's draw is its place's in the whole batch, however that is split.
  const std::int64_t first = context.first_sample, end = first + branch.size(0);
  const Tensor draw =
      context.random
          .uniform(kDropPath, name_ + "." + std::string(which), static_cast<std::uint64_t>(context.step), {end, 1, 1})
          .slice(0, first);
  const Tensor factor = draw.ge(options_.drop_path).to(branch.scalar_type()).div(1 - options_.drop_path);
  return branch * factor.to(branch.device(), /*non_blocking=*/true);
}

Tensor Block::fed_forward(const Tensor& x, const Layout& layout, const ForwardContext& context) {
  const auto scaled = [this](const Tensor& branch) { return scale2_.defined() ? branch * scale2_ : branch; };
  if (!hooks_.any(Hook::kFeedForward)) return dropped(scaled(mlp_(x)), "mlp", context);
  const AttachedPrior& prior = hooks_.of(Hook::kFeedForward).front();  // the catalog allows one
  const Tensor added = prior.layer->feed_forward(x, mlp_, layout, context);
  return prior.layer->replaces_mlp() ? added : dropped(scaled(added), "mlp", context);
}

Tensor Block::forward(Tensor x, const Layout& layout, const ForwardContext& context, const Condition& condition) {
  if (condition.vector.defined())
    throw std::invalid_argument(name_ + " is given a condition and has nothing that follows one");
  context_ = &context;
  for (const AttachedPrior& prior : hooks_.of(Hook::kBlockEmbed))
    x = prior.layer->embed(Site::kBlockStart, x, layout, context);
  Tensor attended = thinned(attention_->forward(norm1_->forward(x), layout, context), "attention", context);
  if (scale1_.defined()) attended = attended * scale1_;
  x = x + dropped(attended, "attention", context);
  x = x + fed_forward(x, layout, context);
  for (const AttachedPrior& prior : hooks_.of(Hook::kBlockEmbed))
    x = prior.layer->embed(Site::kBlockEnd, x, layout, context);
  return x;
}

}  // namespace locus::engine
