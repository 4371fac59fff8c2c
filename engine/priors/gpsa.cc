// Gated positional self-attention (ConViT): each head blends attention by content with attention by position.
//
//   P = (1 - sigmoid(g_n)) softmax(c q k^T) + sigmoid(g_n) softmax(R_n)
//   R_n[i, j] = w_n . (dx, dy, dx^2 + dy^2) + b_n,   dx = x_j - x_i, dy = y_j - y_i
//
// Paper: d'Ascoli et al. 2021 (ConViT), arXiv:2103.10697, eqs. 4 to 8. The first `layers` blocks are of this
// kind, the rest plain. The heads n < K^2, K = floor(sqrt(h)), start looking at the K x K neighborhood, w = s
// (2 c2, 2 c1, -1) with c1 = n mod K - (K - 1) / 2 and c2 = floor(n / K) - (K - 1) / 2; further heads start
// truncated normal (0.02 s); b = 0, g = 1.
//
// As published the class token joins behind these blocks ("prefix: late", registers with it; at the latest
// before the last block), the map to values starts as the identity ("values: identity"), and the host has no
// q, k, v biases (an option of the host). By default prefix tokens are there from the first block on: their
// own rows stay attention by content, and position gives their columns nothing.
#include <cmath>

#include "engine/base/precision.h"
#include "engine/priors/items.h"
#include "engine/priors/numbers.h"
#include "engine/priors/offsets.h"

namespace locus::engine::priors {
namespace {

// (dx, dy, dx^2 + dy^2) of every offset, [R, 3], and which of them every pair reads; shared by the layers.
struct Offsets {
  struct Kept {
    Tensor features;
    PairIndex index;
  };
  PerLayout<Kept> kept;
  const Kept& get(const Layout& layout, const Tensor& like) {
    return kept.get(layout, like.device(), like.scalar_type(), [&] {
      const Tensor apart = -offsets(layout, like.options()).flip(-1);  // (dx, dy), key minus query
      return Kept{at::cat({apart, apart.square().sum(-1, /*keepdim=*/true)}, -1), offset_rule(layout, like.device())};
    });
  }
};

class GpsaLayer final : public PriorLayer, public HasHeadNumbers {
 public:
  GpsaLayer(const LayerInfo& info, bool identity, std::shared_ptr<Offsets> offsets)
      : identity_(identity), offsets_(std::move(offsets)) {
    weight_ = register_parameter("weight", at::empty({info.heads, 3}));
    bias_ = register_parameter("bias", at::empty({info.heads}));
    gate_ = register_parameter("gate", at::empty({info.heads}));
  }

  std::optional<ProbabilityTerm> probability_term(const AttentionInputs& inputs, const ForwardContext&) override {
    const at::ScalarType type = inputs.q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const Tensor weight = weight_.to(type);
    const Offsets::Kept& of = offsets_->get(inputs.layout, weight);
    const Autocast off(Precision::kFloat32, weight.device());  // squares of coordinates need their digits
    const Tensor score = at::addmm(bias_.to(type).unsqueeze(1), weight, of.features.t());  // [H, R]
    return Blended{.logits = BiasTerm(Depends::kParameters, offset_bias(score, of.index)),
                   .share = at::sigmoid(gate_.to(type)),
                   .prefix = inputs.layout.prefix};
  }

  // score = -s (|d|^2 - 2 d . center) with s = -w_3
  std::vector<HeadNumbers> head_numbers(const AttentionInputs&) override {
    const Tensor strength = -weight_.select(1, 2);
    const Tensor center = weight_.narrow(1, 0, 2).t().flip(0) / (2 * strength);
    return {{"gate",
             "Share of position",
             "sigmoid(gate): 1 attends by place alone, 0 by content alone",
             "",
             {""},
             at::sigmoid(gate_).unsqueeze(0)},
            {"center",
             "Center of positional attention",
             "where a patch looks by place, from itself",
             "patches",
             {"rows", "columns"},
             center},
            {"width",
             "Width of positional attention",
             "standard deviation; none where nothing pulls it together",
             "patches",
             {""},
             at::rsqrt(2 * strength).unsqueeze(0)}};
  }

  bool start_values(const Tensor& weight) const override {
    if (identity_) weight.copy_(at::eye(weight.size(0), weight.options()));
    return identity_;
  }

  void initialize(const Initializer& initializer, double strength) {
    const at::NoGradGuard no_grad;
    const auto heads = weight_.size(0);
    const auto side = static_cast<std::int64_t>(std::floor(std::sqrt(static_cast<double>(heads)) + 1e-9));
    initializer.truncated_normal(weight_.detach(), "weight", 0.02 * strength);
    const double middle = static_cast<double>(side - 1) / 2;
    for (std::int64_t n = 0; n < side * side; ++n) {
      const double c1 = static_cast<double>(n % side) - middle, c2 = static_cast<double>(n / side) - middle;
      weight_[n].copy_(at::tensor({2 * c2 * strength, 2 * c1 * strength, -strength}));
    }
    bias_.zero_();
    gate_.fill_(1);
  }

 private:
  bool identity_;
  std::shared_ptr<Offsets> offsets_;
  Tensor weight_, bias_, gate_;  // w [H, 3], b [H], g [H]
};

class Gpsa final : public Prior {
 public:
  Gpsa(std::int64_t layers, double strength, bool identity)
      : count_(layers), strength_(strength), identity_(identity), offsets_(std::make_shared<Offsets>()) {}

  std::shared_ptr<PriorLayer> layer(const LayerInfo& info) override {
    return info.layer < count_ ? std::make_shared<GpsaLayer>(info, identity_, offsets_) : nullptr;
  }
  void initialize(const Initializer& initializer) override {
    for (std::size_t l = 0; l < layers().size(); ++l) {
      if (!layers()[l]) continue;
      static_cast<GpsaLayer&>(*layers()[l]).initialize(initializer.within("layers." + std::to_string(l)), strength_);
    }
  }

 private:
  std::int64_t count_;
  double strength_;
  bool identity_;
  std::shared_ptr<Offsets> offsets_;
};

}  // namespace

PriorItem gpsa() {
  Item item = prior_entry("gpsa", 1, "Heads blend attention by content with attention by position",
                          "d'Ascoli et al. 2021 (ConViT), arXiv:2103.10697",
                          "P = (1 - sigmoid(g)) softmax(c q k^T) + sigmoid(g) softmax(w . (dx, dy, dx^2 + dy^2))",
                          {"probabilities"}, {2});
  weigh(item, {.parameters = "5 H a layer it acts on",
               .counts = {{"parameters", "5 * heads * max(0, min(layers - blocks_before, depth))"},
                          {"prefix_from", "prefix.late * layers"}},
               .base = 600,
               .paths = {"flash", "explicit"},
               .cost = "a second softmax, over positions: H N^2 numbers a layer"});
  adds_probability(item);
  item.option(Option::integer("layers", 10, "how many blocks, from the first on").minimum(1).maximum(512));
  item.option(
      Option::number("strength", 1.0, "how sharply heads look at one neighbor at the start").above(0.0).maximum(100.0));
  item.option(Option::text("prefix", "first",
                           "class and register tokens: there from the first block on, or joining behind these "
                           "blocks, as published (late)")
                  .choices({"first", "late"})
                  .neutral("first"));
  item.option(Option::text("values", "host", "the map to values starts as the host's, or as the identity, as published")
                  .choices({"host", "identity"})
                  .neutral("host"));
  return {item,
          [](const PriorContext&, const Options& o) -> std::shared_ptr<Prior> {
            return std::make_shared<Gpsa>(o.integer("layers"), o.number("strength"), o.text("values") == "identity");
          },
          [](const Options& o) { return o.text("prefix") == "late" ? o.integer("layers") : 0; }};
}

}  // namespace locus::engine::priors
