// Image relative position encoding (iRPE): the offset of a pair falls into a bucket, and a learned vector or
// number of that bucket joins queries, keys or values.
//
//   on keys      L[i, j] += c q_i . T_k[bucket(i, j)]
//   on queries   L[i, j] += c k_j . T_q[bucket(j, i)]
//   on values    O_i += sum_j P_ij T_v[bucket(i, j)]
//   "bias": a number instead of the vector, L[i, j] += T_k[bucket(i, j)] + T_q[bucket(j, i)]
//
//   g(v) = |v| <= a: round(v), else sign(v) min(b, round(a + ln(|v| / a) / ln(c / a) (b - a))), truncated to
//   an integer;   a = ratio, b = 2 ratio, c = 8 ratio product  buckets g(dy) and g(dx) together      cross
//   two tables, one for each, summed euclid   g(round(sqrt(dy^2 + dx^2)))           quant  g(dy^2 + dx^2)
//
// Paper: Wu et al. 2021 (iRPE), arXiv:2107.14222, eqs. 16 to 22. Offsets are query minus key; any pair with a
// prefix token has the one bucket behind the others. Tables start at zero. Far offsets share a bucket, so
// other grids need nothing. The clip of g is at b before the truncation, as in the published code.
#include <cmath>

#include "engine/priors/items.h"
#include "engine/priors/offsets.h"

namespace locus::engine::priors {
namespace {

enum class Method { kProduct, kEuclid, kQuant, kCross };

struct IrpeSettings {
  bool k, q, v, contextual, shared;
  Method method;
  double ratio;

  std::int64_t reach() const { return static_cast<std::int64_t>(2 * ratio); }  // the largest g
  std::int64_t side() const { return 2 * reach() + 1; }
  std::size_t tables() const { return method == Method::kCross ? 2 : 1; }
  std::int64_t patch_buckets() const { return method == Method::kProduct ? side() * side() : side(); }
};

std::int64_t piecewise(std::int64_t value, double ratio) {
  const double v = static_cast<double>(value), size = std::abs(v);
  if (size <= ratio) return value;
  const double spread = std::nearbyint(ratio + std::log(size / ratio) / std::log(8.0) * ratio);
  return static_cast<std::int64_t>(std::copysign(std::min(2 * ratio, spread), v));
}

std::int64_t bucket(const IrpeSettings& s, std::size_t table, std::int64_t dy, std::int64_t dx) {
  const std::int64_t square = dy * dy + dx * dx;
  switch (s.method) {
    case Method::kProduct:
      return (piecewise(dy, s.ratio) + s.reach()) * s.side() + piecewise(dx, s.ratio) + s.reach();
    case Method::kEuclid:
      return piecewise(std::llround(std::sqrt(static_cast<double>(square))), s.ratio) + s.reach();
    case Method::kQuant:
      return piecewise(square, s.ratio) + s.reach();
    case Method::kCross:
      return piecewise(table == 0 ? dy : dx, s.ratio) + s.reach();
  }
  throw std::logic_error("prior irpe: a bucket method without a rule");
}

// bucket(i, j) of every pair for each table; shared by the layers.
struct Buckets {
  IrpeSettings settings;
  PerLayout<std::vector<PairIndex>> kept;

  const std::vector<PairIndex>& get(const Layout& layout, at::Device device) {
    return kept.get(layout, device, at::kInt, [&] {
      std::vector<PairIndex> out;
      for (std::size_t table = 0; table < settings.tables(); ++table) out.push_back(rule(layout, table, device));
      return out;
    });
  }

 private:
  // Each offset has its bucket, and every pair with a prefix token the one behind the others.
  PairIndex::Rule rule(const Layout& layout, std::size_t table, at::Device device) const {
    const Tensor offset = offsets(layout, at::kLong);
    const auto at = offset.accessor<std::int64_t, 2>();
    Tensor map = at::empty({offset.size(0)}, at::kInt);
    auto entry = map.accessor<std::int32_t, 1>();
    for (std::int64_t r = 0; r < offset.size(0); ++r)
      entry[r] = static_cast<std::int32_t>(bucket(settings, table, at[r][0], at[r][1]));
    PairIndex::Rule out = offset_rule(layout, device);
    out.map = map.to(device);
    out.from_prefix = out.to_prefix = out.among_prefix = settings.patch_buckets();
    return out;
  }
};

class IrpeLayer final : public PriorLayer {
 public:
  IrpeLayer(const LayerInfo& info, std::shared_ptr<Buckets> buckets)
      : buckets_(std::move(buckets)), scale_(info.scale) {
    const IrpeSettings& s = buckets_->settings;
    const std::int64_t heads = s.shared ? 1 : info.heads;
    const std::int64_t count = s.patch_buckets() + (info.reference.prefix > 0 ? 1 : 0);
    const std::vector<std::int64_t> plain = {heads, count}, by_channel = {heads, info.head_width(), count},
                                    values = {heads, count, info.head_width()};
    if (s.k) k_ = tables("k", s.contextual ? by_channel : plain);
    if (s.q) q_ = tables("q", s.contextual ? by_channel : plain);
    if (s.v) v_ = tables("v", values);
  }

  BiasTerm bias(const AttentionInputs& inputs, const ForwardContext&) override {
    const IrpeSettings& s = buckets_->settings;
    const auto& index = buckets_->get(inputs.layout, inputs.q.device());
    Bucketed out;
    for (std::size_t t = 0; t < s.tables(); ++t) {
      if (s.k) out.lookups.push_back({rows(inputs.q, k_[t]), index[t], /*by_key=*/false});
      if (s.q) out.lookups.push_back({rows(inputs.k, q_[t]), index[t], /*by_key=*/true});
    }
    return {s.contextual ? Depends::kContent : Depends::kParameters, std::move(out)};
  }

  std::optional<std::vector<ValueTable>> value_tables(const AttentionInputs& inputs, const ForwardContext&) override {
    const auto& index = buckets_->get(inputs.layout, inputs.q.device());
    std::vector<ValueTable> out;
    for (std::size_t t = 0; t < v_.size(); ++t) out.push_back({v_[t].unsqueeze(0), index[t]});
    return out;
  }

  void initialize() {
    for (const Tensor& table : parameters()) table.detach().zero_();
  }

 private:
  std::vector<Tensor> tables(const std::string& name, const std::vector<std::int64_t>& shape) {
    if (buckets_->settings.tables() == 1) return {register_parameter(name, at::empty(shape))};
    return {register_parameter(name + "_rows", at::empty(shape)),
            register_parameter(name + "_columns", at::empty(shape))};
  }

  // What each token looks up, [B, H, T, buckets], or [1, 1|H, 1, buckets] without content.
  Tensor rows(const Tensor& side, const Tensor& table) const {
    if (buckets_->settings.contextual) return lookup_rows(side, table * scale_);
    return table.unsqueeze(0).unsqueeze(2);
  }

  std::shared_ptr<Buckets> buckets_;
  double scale_;
  std::vector<Tensor> k_, q_,
      v_;  // k, q [1|H, d, buckets] ([1|H, buckets] without content), v [1|H, buckets, d]
};

class Irpe final : public Prior {
 public:
  explicit Irpe(const IrpeSettings& settings) : buckets_(std::make_shared<Buckets>()) { buckets_->settings = settings; }
  std::shared_ptr<PriorLayer> layer(const LayerInfo& info) override {
    return std::make_shared<IrpeLayer>(info, buckets_);
  }
  void initialize(const Initializer&) override {
    for (const auto& layer : layers()) static_cast<IrpeLayer&>(*layer).initialize();
  }
  bool uses(Hook hook) const override {
    const IrpeSettings& s = buckets_->settings;
    return hook == Hook::kFromProbabilities ? s.v : s.k || s.q;
  }

 private:
  std::shared_ptr<Buckets> buckets_;
};

Method method_of(const std::string& name) {
  if (name == "product") return Method::kProduct;
  if (name == "euclid") return Method::kEuclid;
  return name == "quant" ? Method::kQuant : Method::kCross;
}

double ratio_of(Method method) {
  if (method == Method::kProduct) return 1.9;
  return method == Method::kQuant ? 33 : 20;
}

}  // namespace

PriorItem irpe() {
  Item item = prior_entry("irpe", 1, "Learned vectors for buckets of offsets join queries, keys and values",
                          "Wu et al. 2021 (iRPE), arXiv:2107.14222",
                          "L = c q k^T + c q . T_k[b(i, j)] + c k . T_q[b(j, i)]; O = (P + T_v) V",
                          {"bias", "from-probabilities"}, {2});
  weigh(
      item,
      {.parameters = "d times the buckets (50) a layer, for each of keys, queries, values",
       .counts = {{"reach",
                   "floor(2 * (ratio + zero(ratio) * (method.product * 1.9 + 20 * method.euclid + 20 * method.cross + "
                   "33 * method.quant)))"},
                  {"side", "2 * reach + 1"},
                  {"entries", "(1 + method.cross) * (depth * side ^ (1 + method.product) + prefixed)"},
                  {"logits", "on.k + on.q + 2 * on.qk + 2 * on.qkv"},
                  {"numbers", "content.bias + content.contextual * dim / heads"},
                  {"parameters",
                   "heads ^ (1 - shared) * entries * (logits * numbers + (on.v + on.qkv) * dim / heads)"}},
       .base = 38400,
       .paths = {"flash", "sdpa", "explicit"},
       .cost = "q times the buckets and a lookup of B H T^2 numbers a layer; values: P summed into buckets"});
  item.option(
      Option::text("on", "k", "what the tables join: keys, queries, values").choices({"k", "q", "v", "qk", "qkv"}));
  item.option(Option::text("content", "contextual", "vectors that meet the content, or plain numbers (bias)")
                  .choices({"contextual", "bias"})
                  .when("on", {"k", "q", "qk"}));
  item.option(Option::text("method", "product", "how an offset finds its bucket")
                  .choices({"product", "euclid", "quant", "cross"}));
  item.option(Option::number("ratio", 0.0,
                             "offsets up to here have buckets of their own; 0: product 1.9, euclid and cross 20, "
                             "quant 33")
                  .minimum(0.0)
                  .maximum(1000.0)
                  .neutral(0.0));
  item.option(Option::boolean("shared", true, "one table for all heads of a layer"));
  return {item, [](const PriorContext&, const Options& o) -> std::shared_ptr<Prior> {
            const std::string on = o.text("on");
            const auto has = [&](char side) { return on.find(side) != std::string::npos; };
            const Method method = method_of(o.text("method"));
            const double ratio = o.number("ratio") > 0 ? o.number("ratio") : ratio_of(method);
            return std::make_shared<Irpe>(IrpeSettings{has('k'), has('q'), has('v'), o.text("content") == "contextual",
                                                       o.boolean("shared"), method, ratio});
          }};
}

}  // namespace locus::engine::priors
