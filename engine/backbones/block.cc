// Layer norm and the pre-norm residual block.
#include "engine/backbones/block.h"

namespace locus::engine {
namespace {

constexpr std::string_view kDropPath = "drop-path";
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
  for (const AttachedPrior& prior : hooks_.of(Hook::kFeedForward)) {
    if (prior.layer->replaces_mlp()) return;
  }
  norm2_ = register_module("norm2", std::make_shared<Norm>(width));
  const auto container = register_module("mlp", std::make_shared<Module>());
  in_ = container->register_module("in", linear(name + ".mlp.in", width, options.info.hidden, true));
  out_ = container->register_module("out", linear(name + ".mlp.out", options.info.hidden, width, true));
  mlp_ = {.norm = [this](const Tensor& x) { return norm2_->forward(x); },
          .in = [this](const Tensor& x) { return at::gelu(in_->forward(x)); },
          .out = [this](const Tensor& x) { return out_->forward(x); }};
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

Tensor Block::dropped(const Tensor& branch, std::string_view which, const ForwardContext& context) const {
  if (!context.training || options_.drop_path == 0) return branch;
  const Tensor draw = context.random.uniform(kDropPath, name_ + "." + std::string(which),
                                             static_cast<std::uint64_t>(context.step), {branch.size(0), 1, 1});
  const Tensor factor = draw.ge(options_.drop_path).to(branch.scalar_type()).div(1 - options_.drop_path);
  return branch * factor.to(branch.device(), /*non_blocking=*/true);
}

Tensor Block::fed_forward(const Tensor& x, const Layout& layout, const ForwardContext& context) {
  if (!hooks_.any(Hook::kFeedForward)) return dropped(mlp_(x), "mlp", context);
  const AttachedPrior& prior = hooks_.of(Hook::kFeedForward).front();  // the catalog allows one
  const Tensor added = prior.layer->feed_forward(x, mlp_, layout, context);
  return prior.layer->replaces_mlp() ? added : dropped(added, "mlp", context);
}

Tensor Block::forward(Tensor x, const Layout& layout, const ForwardContext& context, const Condition& condition) {
  if (condition.vector.defined())
    throw std::invalid_argument(name_ + " is given a condition and has nothing that follows one");
  for (const AttachedPrior& prior : hooks_.of(Hook::kBlockEmbed))
    x = prior.layer->embed(Site::kBlockStart, x, layout, context);
  x = x + dropped(attention_->forward(norm1_->forward(x), layout, context), "attention", context);
  x = x + fed_forward(x, layout, context);
  for (const AttachedPrior& prior : hooks_.of(Hook::kBlockEmbed))
    x = prior.layer->embed(Site::kBlockEnd, x, layout, context);
  return x;
}

}  // namespace locus::engine
