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

// What the layers share: u and v, and the sines per layout.
struct TransformerXlShared {
  Tensor u, v;  // [H, d], parameters of the prior
  PerLayout<Tensor> sines, index;

  // s of every offset, [R, D]
  const Tensor& sines_of(const Layout& layout, const Tensor& like) {
    return sines.get(layout, like.device(), like.scalar_type(), [&] {
      const std::int64_t bands = like.size(-1) / 4;
      const Tensor frequency = at::pow(10000.0, at::arange(bands, at::kDouble) * (-1.0 / static_cast<double>(bands)));
      const Tensor angle = offsets(layout, at::kDouble).unsqueeze(-1) * frequency;  // [R, 2, K]
      return at::stack({angle.sin(), angle.cos()}, 2).flatten(1).to(like.options());
    });
  }
  const Tensor& index_of(const Layout& layout, at::Device device) {
    return index.get(layout, device, at::kLong, [&] { return offset_index(layout).to(device); });
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
    Tensor sines = shared_->sines_of(inputs.layout, relative_);
    if (inputs.layout.prefix > 0) sines = at::cat({sines, prefix_.unsqueeze(0)});
    const Tensor mapped = at::linear(sines, relative_).unflatten(1, {heads_, -1});  // [R, H, d]
    const Tensor q = (inputs.q + shared_->v.unsqueeze(1)) * scale_;
    return {Depends::kContent,
            Bucketed{{{at::matmul(q, mapped.permute({1, 2, 0})), shared_->index_of(inputs.layout, q.device())}}}};
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
               .paths = {"bucketed", "fused-bias", "explicit"},
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
