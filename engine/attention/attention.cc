// The attention layer.
#include "engine/attention/attention.h"

#include <limits>

#include "engine/fused/branch.h"

namespace locus::engine {
namespace {

// The lines of a grid along one axis, as samples of their own.
class Lines {
 public:
  Lines(const Layout& layout, std::int64_t axis) : extent_(layout.extent) {
    order_.push_back(0);
    for (std::int64_t other = 0; other < rank(); ++other) {
      if (other != axis) order_.push_back(2 + other);
    }
    order_.insert(order_.end(), {1, 2 + axis, 2 + rank()});
  }

  // [B, H, N, c] -> [B * lines, H, length, c]
  Tensor apart(const Tensor& t) const { return t.unflatten(2, extent_).permute(order_).flatten(0, rank() - 1); }
  // The way back.
  Tensor together(const Tensor& t) const {
    std::vector<std::int64_t> outer = {-1}, back(order_.size());
    for (std::int64_t i = 1; i < rank(); ++i) outer.push_back(extent_[at(order_[at(i)] - 2)]);
    for (std::size_t i = 0; i < order_.size(); ++i) back[at(order_[i])] = static_cast<std::int64_t>(i);
    return t.unflatten(0, outer).permute(back).flatten(2, 1 + rank());
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::int64_t rank() const { return static_cast<std::int64_t>(extent_.size()); }
  std::vector<std::int64_t> extent_, order_;  // order: the axes of [B, H, extent..., c] when apart
};

// What fills samples up is a region of its own, int8 [B, T]; undefined where nothing does.
Tensor padding_of(const Layout& layout) {
  if (!layout.valid.defined()) return {};
  return at::constant_pad_nd(layout.valid.logical_not().to(at::kChar), {layout.prefix, 0}, 0);
}

}  // namespace

HookTable::HookTable(const std::vector<AttachedPrior>& priors) {
  for (const AttachedPrior& prior : priors) {
    for (const Hook hook : prior.hooks) table_[static_cast<std::size_t>(hook)].push_back(prior);
  }
}

// Changes with every in-place write to the state (optimizer step, checkpoint load); a tensor that moves
// changes its address.
std::uint64_t TermSource::version() const {
  std::uint64_t sum = 0;
  for (const Tensor& tensor : prior_.state) {
    sum = sum * 1000003 + static_cast<std::uint64_t>(tensor._version()) +
          reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr());
  }
  return sum;
}

const BiasTerm& TermSource::get(const AttentionInputs& inputs, const ForwardContext& context) {
  const at::Device device = inputs.q.device();
  const at::ScalarType type = inputs.q.scalar_type();
  const bool gradients = at::GradMode::is_enabled();
  for (const Kept& kept : kept_) {
    if (kept.layout != inputs.layout || kept.axis != inputs.axis || kept.device != device || kept.type != type)
      continue;
    if (kept.term.on() == Depends::kLayout || (!gradients && kept.version == version())) return kept.term;
  }
  BiasTerm term = ((*prior_.layer).*call_)(inputs, context);
  // Points come with their batch: what is made of them is used in it alone.
  if (inputs.layout.points || term.on() == Depends::kContent || (term.on() == Depends::kParameters && gradients)) {
    return current_.emplace(std::move(term));
  }
  if (term.on() == Depends::kLayout && requires_grad(term.form())) {
    throw std::logic_error("a term that is kept per layout must not need a gradient");
  }
  constexpr std::size_t kMost = 8;
  if (kept_.size() == kMost) kept_.pop_front();
  kept_.push_back(Kept{inputs.layout, inputs.axis, device, type, version(), std::move(term)});
  return kept_.back().term;
}

Attention::Attention(const LayerInfo& info, const std::vector<AttachedPrior>& priors, const LinearFactory& linear,
                     const std::string& name, AttentionOptions options)
    : info_(info), options_(std::move(options)), hooks_(priors), priors_(priors) {
  if (options_.partition.divides() && options_.pattern != Pattern::kGlobal)
    throw std::invalid_argument(name + ": attention within windows runs along no axes");
  const bool fused = options_.qkv_bias == QkvBias::kAll || options_.qkv_bias == QkvBias::kMaskedKey;
  qkv_ = register_module("qkv", linear(name + ".qkv", info.width, 3 * info.width, fused));
  if (options_.qkv_bias == QkvBias::kQueryValue) {
    query_bias_ = register_parameter("q_bias", at::empty({info.width}));
    value_bias_ = register_parameter("v_bias", at::empty({info.width}));
  }
  out_ = register_module("out", linear(name + ".out", info.width, info.width, /*with_bias=*/true));
  for (const auto& prior : hooks_.of(Hook::kBias)) biases_.emplace_back(prior, &PriorLayer::bias);
  for (const auto& prior : hooks_.of(Hook::kScale)) {
    // Without a bias the sum is the content.
    auto& of = prior.layer->scales_biases() && !biases_.empty() ? sum_scales_ : scales_;
    of.emplace_back(prior, &PriorLayer::scale);
  }
}

void Attention::start_values() {
  const at::NoGradGuard no_grad;
  for (const Tensor& bias : {query_bias_, value_bias_}) {
    if (bias.defined()) bias.zero_();
  }
  for (const AttachedPrior& prior : priors_)
    prior.layer->start_values(qkv_->weight.narrow(0, 2 * info_.width, info_.width));
}

Tensor Attention::project(const Tensor& x) const {
  const Tensor projected = qkv_->forward(x);
  if (query_bias_.defined()) return projected + at::cat({query_bias_, at::zeros_like(query_bias_), value_bias_});
  if (options_.qkv_bias != QkvBias::kMaskedKey) return projected;
  // The layer adds the whole bias, an adapter in it or not; the keys' part goes away again, to the bit where it is 0.
  const Tensor keys = qkv_->bias.narrow(0, info_.width, info_.width);
  return projected - at::constant_pad_nd(keys, {info_.width, info_.width});
}

std::vector<Tensor> Attention::heads_of(const Tensor& projected) const {
  return projected.view({projected.size(0), projected.size(1), 3, info_.heads, info_.head_width()})
      .permute({2, 0, 3, 1, 4})
      .contiguous()
      .unbind(0);
}

std::vector<Tensor> Attention::heads_from(const Tensor& x) const {
  const bool one_map = options_.qkv_bias == QkvBias::kAll || options_.qkv_bias == QkvBias::kNone;
  if (!one_map || !qkv_->plain() || !fused::fits(x) || qkv_->weight.scalar_type() != x.scalar_type())
    return heads_of(project(x));
  return fused::project_heads(x, {qkv_->weight, qkv_->bias}, info_.heads);
}

Tensor Attention::forward(const Tensor& x, const Layout& layout, const ForwardContext& context) {
  return out_->forward(mixed(x, layout, context));
}

Tensor Attention::mixed(const Tensor& x, const Layout& layout, const ForwardContext& context) {
  const bool whole = !options_.partition.divides();
  if (layout.valid.defined() && (!whole || options_.pattern != Pattern::kGlobal))
    throw std::invalid_argument("attention within windows or along axes takes no samples of several lengths");
  const Tensor projected = whole ? Tensor() : project(x);
  Tensor out = whole ? Tensor() : attend_in_parts(x, projected, layout, context);
  if (whole || hooks_.any(Hook::kAddOutput) || hooks_.any(Hook::kGateOutput)) {
    const std::vector<Tensor> qkv = whole ? heads_from(x) : heads_of(projected);
    const AttentionInputs inputs{x, qkv[0], qkv[1], qkv[2], layout};
    if (whole) out = attend(inputs, context, padding_of(layout)).transpose(1, 2).reshape(x.sizes());
    for (const auto& prior : hooks_.of(Hook::kAddOutput)) out = out + prior.layer->add_output(inputs, context);
    for (const auto& prior : hooks_.of(Hook::kGateOutput)) out = out * prior.layer->gate_output(inputs, context);
  }
  return out;
}

Tensor Attention::attend(const AttentionInputs& inputs, const ForwardContext& context, const Tensor& region) {
  Tensor q = inputs.q, k = inputs.k;
  for (const auto& prior : hooks_.of(Hook::kTransformQk))
    std::tie(q, k) = prior.layer->transform_qk(q, k, inputs, context);
  if (options_.pattern == Pattern::kAxial) return attend_along_axes(q, k, inputs, context);
  return attend_within(q, k, inputs, context, region);
}

Tensor Attention::attend_in_parts(const Tensor& x, const Tensor& projected, const Layout& layout,
                                  const ForwardContext& context) {
  const Parts& parts = parts_.get(layout, x.device(), at::kLong,
                                  [&] { return to_device(parts_of(options_.partition, layout), x.device()); });
  // A place without a token is a token of zeros; its projection is made once, not once for each such place.
  const Tensor nothing = at::zeros({1, 1, info_.width}, x.options());
  const std::vector<Tensor> qkv = heads_of(parts.apart(projected, parts.padding == 0 ? Tensor() : project(nothing)));
  const Tensor inside = parts.apart(x, nothing);
  const Tensor out = attend({inside, qkv[0], qkv[1], qkv[2], parts.part}, context, parts.region);
  return parts.together(out.transpose(1, 2).flatten(2));
}

Tensor Attention::attend_along_axes(const Tensor& q, const Tensor& k, const AttentionInputs& inputs,
                                    const ForwardContext& context) {
  const Layout& layout = inputs.layout;
  if (layout.prefix != 0) throw std::invalid_argument("attention along axes has no place for prefix tokens");
  Tensor out = inputs.v;
  for (std::int64_t axis = static_cast<std::int64_t>(layout.extent.size()) - 1; axis >= 0; --axis) {
    const Lines lines(layout, axis);
    const Layout line{{layout.extent[static_cast<std::size_t>(axis)]}, 0};
    const Tensor x = lines.apart(inputs.x.unsqueeze(1)).squeeze(1), raw_q = lines.apart(inputs.q),
                 raw_k = lines.apart(inputs.k), v = lines.apart(out);
    out = lines.together(attend_within(lines.apart(q), lines.apart(k), {x, raw_q, raw_k, v, line, axis}, context));
  }
  return out;
}

void Attention::add_hooks_on_probabilities(Scores& scores, const AttentionInputs& inputs,
                                           const ForwardContext& context) const {
  // Terms where all priors have one; else functions, since what is done to P has an order.
  bool terms = true;
  for (const auto& prior : hooks_.of(Hook::kProbabilities)) {
    auto term = prior.layer->probability_term(inputs, context);
    terms = terms && term.has_value();
    if (!terms) break;
    scores.probability_terms.push_back(std::move(*term));
  }
  if (!terms) {
    scores.probability_terms.clear();
    scores.probabilities = [&](Tensor p) {
      for (const auto& prior : hooks_.of(Hook::kProbabilities)) p = prior.layer->probabilities(p, inputs, context);
      return p;
    };
  }
  std::vector<AttachedPrior> functions;
  for (const auto& prior : hooks_.of(Hook::kFromProbabilities)) {
    auto tables = prior.layer->value_tables(inputs, context);
    if (!tables) functions.push_back(prior);
    if (tables) std::move(tables->begin(), tables->end(), std::back_inserter(scores.value_tables));
  }
  if (functions.empty()) return;
  scores.from_probabilities = [functions, &inputs, &context](const Tensor& p) {
    Tensor sum;
    for (const auto& prior : functions) {
      const Tensor part = prior.layer->from_probabilities(p, inputs, context);
      sum = sum.defined() ? sum + part : part;
    }
    return sum;
  };
}

Tensor Attention::attend_within(const Tensor& q, const Tensor& k, const AttentionInputs& inputs,
                                const ForwardContext& context, const Tensor& region) {
  Scores scores{.q = q,
                .k = k,
                .v = inputs.v,
                .scale = info_.scale,
                .scales = {},
                .biases = {},
                .sum_scales = {},
                .probabilities = {},
                .from_probabilities = {},
                .region = region};
  if (inputs.layout.valid.defined()) scores.hidden = -std::numeric_limits<double>::infinity();
  for (TermSource& source : scales_) scores.scales.push_back(&source.get(inputs, context));
  for (TermSource& source : sum_scales_) scores.sum_scales.push_back(&source.get(inputs, context));
  for (TermSource& source : biases_) scores.biases.push_back(&source.get(inputs, context));
  add_hooks_on_probabilities(scores, inputs, context);
  if (watcher_) watcher_(scores, inputs);
  const ExecutionPath& path = choose_path(options_.path, scores);
  if (!paths_.contains(path.name)) paths_.emplace(path.name);
  return path.run(scores);
}

}  // namespace locus::engine
