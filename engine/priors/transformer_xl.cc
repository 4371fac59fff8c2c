// Relative attention of Transformer-XL on a grid: queries meet the offset of a pair, written in sines,
// through a learned map.
//
//   L[i, j] = c [(q_i + u_n) . k_j + (q_i + v_n) . (W_R s_{i-j})_n]
//   s_{dy, dx} = [sin(dy w), cos(dy w), sin(dx w), cos(dx w)],   w_k = 10000^(-k / K),  k = 0 .. K - 1,  K =
//   D / 4
//
// Paper: Dai et al. 2019, arXiv:1901.02860, section 3.3; for images as quoted in the Violin paper, which
// publishes no adaptation. The choices here: offsets are query minus key; W_R has no bias and starts
// truncated normal (0.02); u and v, shared by the layers, start at zero or normal (0.02); one learned vector
// s_p a layer, which stands for s in every pair with a prefix token, starts at zero. On a grid of one row
// this is XLNet's relative attention.
#include "engine/priors/items.h"
#include "engine/priors/offsets.h"

namespace locus::engine::priors {
namespace {

constexpr double kDeviation = 0.02;

// The waves of one axis, and which of them every pair reads.
struct AxisWaves {
  Tensor waves;  // [2 extent - 1, D / 2]: sine and cosine of every offset
  PairIndex index;
};

// What the layers share: u and v, and the waves per layout.
struct TransformerXlShared {
  Tensor u, v;  // [H, d], parameters of the prior
  PerLayout<std::vector<AxisWaves>> kept;

  // Of rows and of columns.
  const std::vector<AxisWaves>& waves_of(const Layout& layout, const Tensor& like) {
    return kept.get(layout, like.device(), like.scalar_type(), [&] {
      const std::int64_t bands = like.size(-1) / 4;
      const Tensor frequency = at::pow(10000.0, at::arange(bands, at::kDouble) * (-1.0 / static_cast<double>(bands)));
      std::vector<AxisWaves> out;
      for (std::size_t axis = 0; axis < 2; ++axis) {
        const std::int64_t last = layout.extent.at(axis) - 1;
        const Tensor angle = at::arange(-last, last + 1, at::kDouble).unsqueeze(1) * frequency;
        out.push_back(
            {at::cat({angle.sin(), angle.cos()}, 1).to(like.options()), axis_rule(layout, axis, like.device())});
      }
      return out;
    });
  }
};

class TransformerXlLayer final : public PriorLayer {
 public:
  TransformerXlLayer(const LayerInfo& info, std::shared_ptr<TransformerXlShared> shared)
      : shared_(std::move(shared)), heads_(info.heads), scale_(info.scale) {
    relative_ = register_parameter("relative", at::empty({info.width, info.width}));
    if (info.reference.prefix > 0) prefix_ = register_parameter("prefix", at::empty({info.width}));
  }

  std::pair<Tensor, Tensor> transform_qk(const Tensor& q, const Tensor& k, const AttentionInputs&,
                                         const ForwardContext&) override {
    return {q + shared_->u.unsqueeze(1), k};
  }

  BiasTerm bias(const AttentionInputs& inputs, const ForwardContext&) override {
    const auto& axes = shared_->waves_of(inputs.layout, relative_);
    const bool prefixed = inputs.layout.prefix > 0;
    Bucketed out;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      const Tensor weight = relative_.chunk(2, 1)[axis];  // [D, D / 2]
      Tensor mapped = at::linear(axes[axis].waves, weight);
      // s_p stands for the waves of both axes: one lookup has it, the other nothing.
      if (prefixed && axis == 0) mapped = at::cat({mapped, at::linear(prefix_, relative_).unsqueeze(0)});
      if (prefixed && axis == 1) mapped = at::constant_pad_nd(mapped, {0, 0, 0, 1}, 0);
      const Tensor by_head = (mapped * scale_).unflatten(1, {heads_, -1}).permute({1, 2, 0});  // [H, d, R]
      const Tensor of_place = at::matmul(shared_->v.unsqueeze(1), by_head);  // the same for every query
      out.lookups.push_back({lookup_rows(inputs.q, by_head) + of_place, axes[axis].index});
    }
    return {Depends::kContent, std::move(out)};
  }

  void initialize(const Initializer& initializer) {
    initializer.truncated_normal(relative_.detach(), "relative", kDeviation);
    if (prefix_.defined()) prefix_.detach().zero_();
  }

 private:
  std::shared_ptr<TransformerXlShared> shared_;
  std::int64_t heads_;
  double scale_;
  Tensor relative_;  // W_R [D, D]
  Tensor prefix_;    // s_p [D], where there are prefix tokens
};

class TransformerXl final : public Prior {
 public:
  TransformerXl(const LayerInfo& info, bool normal)
      : normal_(normal), shared_(std::make_shared<TransformerXlShared>()) {
    shared_->u = register_parameter("u", at::empty({info.heads, info.head_width()}));
    shared_->v = register_parameter("v", at::empty({info.heads, info.head_width()}));
  }

  std::shared_ptr<PriorLayer> layer(const LayerInfo& info) override {
    return std::make_shared<TransformerXlLayer>(info, shared_);
  }
  void initialize(const Initializer& initializer) override {
    for (const auto& [name, tensor] : {std::pair<const char*, Tensor>{"u", shared_->u}, {"v", shared_->v}}) {
      tensor.detach().zero_();
      if (normal_) initializer.normal(tensor.detach(), name, 0, kDeviation);
    }
    for (std::size_t l = 0; l < layers().size(); ++l) {
      static_cast<TransformerXlLayer&>(*layers()[l]).initialize(initializer.within("layers." + std::to_string(l)));
    }
  }

 private:
  bool normal_;
  std::shared_ptr<TransformerXlShared> shared_;
};

}  // namespace

PriorItem transformer_xl() {
  Item item = prior_entry("transformer-xl", 1, "Queries meet the offset of a pair through a learned map",
                          "Dai et al. 2019 (Transformer-XL), arXiv:1901.02860",
                          "L = c [(q_i + u) . k_j + (q_i + v) . W_R s(i - j)]", {"transform-qk", "bias"}, {2});
  weigh(item, {.parameters = "D^2 + D a layer and 2 D once a model",
               .counts = {{"parameters", "2 * dim + depth * dim ^ 2 + prefixed * dim"}},
               .base = 7088640,
               .paths = {"flash", "sdpa", "explicit"},
               .cost = "q times (2 rows - 1) (2 columns - 1) offsets of width d and a lookup of B H T^2 "
                       "numbers a layer"});
  item.set("requires", Json::array({{{"rule", "multiple-of"},
                                     {"value", "dim"},
                                     {"factor", 4},
                                     {"help", "sine and cosine for each of two axes"}}}));
  item.option(Option::text("init", "zero", "u and v start at zero, or normal (0.02)")
                  .choices({"zero", "normal"})
                  .neutral("zero"));
  return {item, [](const PriorContext& context, const Options& o) -> std::shared_ptr<Prior> {
            return std::make_shared<TransformerXl>(context.layers.at(0), o.text("init") == "normal");
          }};
}

}  // namespace locus::engine::priors
