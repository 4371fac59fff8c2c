// The cases, and how they are run.
#include "tests/engine/kernels/form_cases.h"

#include <cmath>
#include <deque>
#include <limits>

#include "engine/base/random.h"

namespace locus::engine::test {
namespace {

constexpr std::int64_t kPrefix = 1, kGridRows = 5, kGridColumns = 13, kPatches = kGridRows * kGridColumns;

// [N, 2], rows and columns of the grid.
Tensor grid_places() {
  const Tensor at = at::arange(kPatches, at::kDouble);
  return at::stack({at.div(kGridColumns, "floor"), at.remainder(kGridColumns)}, 1);
}

// Tells every offset of the grid apart.
PairIndex offsets_index(at::Device device, const Tensor& map = {}) {
  const Tensor at = at::arange(kPatches, at::kInt);
  const std::int64_t stride = 2 * kGridColumns - 1;
  const Tensor code = at.div(kGridColumns, "floor") * stride + at.remainder(kGridColumns);
  const std::int64_t shift = (kGridRows - 1) * stride + kGridColumns - 1, entries = 2 * shift + 1;
  const std::int64_t first = map.defined() ? 7 : entries;
  PairIndex::Rule rule{.code = code.to(at::kInt).to(device),
                       .shift = shift,
                       .prefix = kPrefix,
                       .from_prefix = first,
                       .to_prefix = first + 1,
                       .among_prefix = first + 2};
  if (map.defined()) rule.map = map.to(device);
  return PairIndex(std::move(rule));
}
constexpr std::int64_t kOffsets = 2 * ((kGridRows - 1) * (2 * kGridColumns - 1) + kGridColumns - 1) + 1;

PairIndex mapped_index(at::Device device) {
  return offsets_index(device, at::arange(kOffsets, at::kInt).remainder(7).to(at::kInt));
}

PairIndex entries_index(at::Device device, std::int64_t tokens, std::int64_t buckets) {
  return PairIndex(
      at::arange(tokens * tokens, at::kLong).mul(7919).remainder(buckets).view({tokens, tokens}).to(device));
}

std::shared_ptr<const CurveRanks> two_curves(at::Device device) {
  const Tensor at = at::arange(kPatches, at::kInt);
  const Tensor other =
      at::arange(kPatches, at::kLong).mul(7).remainder(kPatches).to(at::kInt);  // 7 and 65 share no factor
  return std::make_shared<const CurveRanks>(at::stack({at, other}).to(device), kPrefix);
}

using C = const AttentionCase&;

CurveDecay curves(CaseBuilder& b, C c, double plus) {
  return {two_curves(b.device()), b.positive_leaf("rate", {2, c.heads}, 0.01, 0.3), b.leaf("alpha", {c.heads}), plus};
}

// In the reference with the gradient that the form's formula has not where two tokens are in one place: 0.
Form distances(const CaseBuilder& b, const Tensor& positions, const Tensor& slope, std::int64_t prefix) {
  if (!b.is_reference()) return DistanceDecay{positions, slope, prefix};
  const Tensor square = (positions.unsqueeze(-2) - positions.unsqueeze(-3)).square().sum(-1);
  const Tensor same = square.detach().eq(0).to(at::kDouble);
  const Tensor distance = (square + same).sqrt() - same;
  const Tensor decay = -distance.unsqueeze(-3) * slope.view({-1, 1, 1});
  return Dense{at::constant_pad_nd(decay.dim() == 3 ? decay.unsqueeze(0) : decay, {prefix, 0, prefix, 0})};
}

// One or more cases for each form as a bias, in the order of Form.
std::vector<std::vector<AttentionCase>> bias_cases() {
  const auto bias = [](std::string name, std::function<Form(CaseBuilder&, C)> form) {
    return AttentionCase{.name = std::move(name), .terms = [form](CaseBuilder& b, C c) { b.bias(form(b, c)); }};
  };
  return {
      {bias("dense, shared",
            [](auto& b, C c) {
              return Dense{b.leaf("values", {1, c.heads, c.tokens, c.tokens})};
            }),
       bias("dense, by sample",
            [](auto& b, C c) {
              return Dense{b.leaf("values", {c.batch, 1, c.tokens, c.tokens})};
            })},
      {bias("low-rank",
            [](auto& b, C c) {
              return LowRank{b.leaf("query", {c.batch, c.heads, c.tokens, 5}, 0.5),
                             b.leaf("key", {1, c.heads, c.tokens, 5}), b.leaf("row", {c.batch, 1, c.tokens, 1})};
            })},
      {bias("relative-table, by rule",
            [](auto& b, C c) {
              return RelativeTable{b.leaf("table", {1, c.heads, kOffsets + 3}), offsets_index(b.device())};
            }),
       bias("relative-table, by rule and map, by sample",
            [](auto& b, C c) {
              return RelativeTable{b.leaf("table", {c.batch, 1, 10}), mapped_index(b.device())};
            }),
       bias("relative-table, by entries",
            [](auto& b, C c) {
              return RelativeTable{b.leaf("table", {1, 1, 19}), entries_index(b.device(), c.tokens, 19)};
            })},
      {bias("bucketed, by query and by key",
            [](auto& b, C c) {
              return Bucketed{
                  {{b.leaf("queries", {c.batch, c.heads, c.tokens, 10}), mapped_index(b.device())},
                   {b.leaf("keys", {1, c.heads, c.tokens, 6}), entries_index(b.device(), c.tokens, 6), true}}};
            }),
       bias("bucketed, the same for every token",
            [](auto& b, C c) {
              return Bucketed{{{b.leaf("rule", {1, c.heads, 1, kOffsets + 3}), offsets_index(b.device()), true},
                               {b.leaf("queries", {c.batch, 1, 1, 10}), mapped_index(b.device())},
                               {b.leaf("keys", {1, 1, 1, 7}), entries_index(b.device(), c.tokens, 7), true}}};
            })},
      {bias("distance-decay",
            [](auto& b, C c) {
              return distances(b, b.leaf("positions", {kPatches, 2}), b.leaf("slope", {c.heads}), kPrefix);
            }),
       bias("distance-decay, positions by sample",
            [](auto& b, C c) {
              return distances(b, b.leaf("positions", {c.batch, c.tokens, 3}), b.leaf("slope", {c.heads}), 0);
            })},
      {bias(
           "quadratic",
           [](auto& b, C c) {
             return Quadratic{b.leaf("numbers", {c.batch, c.heads, kPatches, 5}, 0.1), b.fixed(grid_places()), kPrefix};
           }),
       bias("quadratic along a line, shared",
            [](auto& b, C c) {
              const Tensor line = at::arange(c.tokens, at::kDouble).div(c.tokens).unsqueeze(1);
              return Quadratic{b.leaf("numbers", {1, 1, c.tokens, 2}), b.fixed(line), 0};
            })},
      {bias("gated",
            [](auto& b, C c) {
              return Gated{b.leaf("gate", {c.batch, c.heads, kPatches}, 0.1), b.fixed(grid_places()), kPrefix};
            })},
      {bias("scan",
            [](auto& b, C c) {
              return Scan{b.leaf("place", {c.batch, c.heads, kPatches}), kPrefix};
            }),
       bias("scan, causal",
            [](auto& b, C c) {
              return Scan{b.leaf("place", {c.batch, 1, kPatches}), kPrefix, true};
            })},
      {bias("curve-decay", [](auto& b, C c) { return curves(b, c, 0); })},
  };
}

void add_roles(std::vector<AttentionCase>& out) {
  out.push_back({.name = "curve-decay as a scale", .terms = [](auto& b, C c) { b.scale(curves(b, c, 1)); }});
  out.push_back({.name = "curve-decay as a scale of the sum", .terms = [](auto& b, C c) {
                   b.bias(RelativeTable{b.leaf("table", {1, c.heads, kOffsets + 3}), offsets_index(b.device())});
                   b.sum_scale(curves(b, c, 0.5));
                 }});
  out.push_back(
      {.name = "scales of the content and of the sum, two of each", .terms = [](auto& b, C c) {
         b.scale(curves(b, c, 1));
         b.scale(LowRank{b.leaf("scale query", {1, c.heads, c.tokens, 2}), b.leaf("scale key", {1, 1, c.tokens, 2})});
         b.bias(Gated{b.leaf("gate", {1, c.heads, kPatches}, 0.1), b.fixed(grid_places()), kPrefix});
         b.bias(LowRank{b.leaf("query", {1, c.heads, c.tokens, 1}), b.leaf("key", {1, 1, c.tokens, 1}),
                        b.leaf("row", {1, c.heads, c.tokens, 1})});
         b.sum_scale(RelativeTable{b.leaf("table", {1, 1, 10}), mapped_index(b.device())});
         b.sum_scale(Dense{b.leaf("values", {1, 1, c.tokens, c.tokens})});
       }});
}

void add_weights(std::vector<AttentionCase>& out) {
  out.push_back(
      {.name = "weights of P, two, and a bias", .terms = [](auto& b, C c) {
         b.bias(Gated{b.leaf("gate", {c.batch, c.heads, kPatches}, 0.1), b.fixed(grid_places()), kPrefix});
         b.weigh(curves(b, c, 0.2));
         b.weigh(LowRank{b.leaf("query", {c.batch, c.heads, c.tokens, 2}), b.leaf("key", {1, 1, c.tokens, 2})});
       }});
}

// The logits and the share of a place that is blended in.
void blend_place(CaseBuilder& b, C c, const std::string& name) {
  b.blend(RelativeTable{b.leaf(name + " logits", {1, c.heads, kOffsets + 3}), offsets_index(b.device())},
          b.positive_leaf(name + " share", {c.heads}, 0.2, 0.8), kPrefix);
}

void add_sums(std::vector<AttentionCase>& out) {
  out.push_back({.name = "added to P, then weighted", .terms = [](auto& b, C c) {
                   b.scale(curves(b, c, 1));
                   b.shift(Dense{b.leaf("added", {1, c.heads, c.tokens, c.tokens}, 0.1)});
                   b.weigh(LowRank{b.leaf("query", {1, c.heads, c.tokens, 2}), b.leaf("key", {1, 1, c.tokens, 2})});
                 }});
  out.push_back({.name = "blended with a place", .terms = [](auto& b, C c) { blend_place(b, c, "place"); }});
  out.push_back(
      {.name = "blended with two places, by patches alone", .terms = [](auto& b, C c) {
         b.bias(Gated{b.leaf("gate", {c.batch, c.heads, kPatches}, 0.1), b.fixed(grid_places()), kPrefix});
         blend_place(b, c, "first");
         b.blend(Scan{b.leaf("place", {1, c.heads, c.tokens})}, b.positive_leaf("share", {c.heads}, 0.2, 0.8), 0);
       }});
  out.push_back({.name = "tables of values", .terms = [](auto& b, C c) {
                   b.bias(Scan{b.leaf("place", {c.batch, c.heads, kPatches}), kPrefix});
                   b.values(b.leaf("rows", {1, c.heads, 10, c.width}), mapped_index(b.device()));
                   b.values(b.leaf("entries", {c.batch, 1, 6, c.width}), entries_index(b.device(), c.tokens, 6));
                 }});
  out.push_back(
      {.name = "everything done to P, between regions", .batch = 1, .heads = 1, .terms = [](auto& b, C c) {
         const Tensor at = at::arange(c.batch * c.tokens, at::kLong);
         b.hide(at.div(9, "floor").remainder(3).to(at::kChar).view({c.batch, c.tokens}).to(b.device()), kHidden);
         b.weigh(curves(b, c, 0.2));
         blend_place(b, c, "blended");
         b.shift(RelativeTable{b.leaf("added", {1, 1, 10}, 0.1), mapped_index(b.device())});
         b.values(b.leaf("rows", {1, 1, 10, c.width}), mapped_index(b.device()));
       }});
}

void add_regions(std::vector<AttentionCase>& out) {
  for (const double hidden : {kHidden, -std::numeric_limits<double>::infinity()}) {
    out.push_back(
        {.name = "regions, hidden " + std::to_string(hidden), .terms = [hidden](auto& b, C c) {
           b.bias(RelativeTable{b.leaf("table", {1, c.heads, kOffsets + 3}), offsets_index(b.device())});
           const Tensor at = at::arange(c.batch * c.tokens, at::kLong);
           b.hide(at.div(9, "floor").remainder(3).to(at::kChar).view({c.batch, c.tokens}).to(b.device()), hidden);
         }});
  }
}

}  // namespace

const std::vector<AttentionCase>& attention_cases() {
  static const std::vector<AttentionCase> cases = [] {
    std::vector<AttentionCase> out = {{.name = "no term"}};
    const auto by_form = bias_cases();
    if (by_form.size() != std::variant_size_v<Form>) throw std::logic_error("a form has no case");
    for (const auto& of_form : by_form) out.insert(out.end(), of_form.begin(), of_form.end());
    add_roles(out);
    add_weights(out);
    add_sums(out);
    add_regions(out);
    return out;
  }();
  return cases;
}

CaseBuilder::CaseBuilder(at::Device device, at::ScalarType type, at::ScalarType rounded)
    : device_(device), type_(type), rounded_(rounded) {}

Tensor CaseBuilder::made(const std::string& name, Tensor numbers, at::ScalarType type, at::ScalarType rounded) {
  names_.push_back(name);
  leaves_.push_back(numbers.to(rounded).to(type).to(device_).requires_grad_());
  return leaves_.back();
}

Tensor CaseBuilder::leaf(const std::string& name, at::IntArrayRef sizes, double deviation) {
  const at::ScalarType type = type_ == at::kDouble ? at::kDouble : at::kFloat;
  return made(name, RandomStreams(5).normal("test", name, 0, sizes, 0, deviation), type, at::kFloat);
}
Tensor CaseBuilder::positive_leaf(const std::string& name, at::IntArrayRef sizes, double low, double high) {
  const at::ScalarType type = type_ == at::kDouble ? at::kDouble : at::kFloat;
  return made(name, RandomStreams(5).uniform("test", name, 0, sizes, low, high), type, at::kFloat);
}
Tensor CaseBuilder::fixed(const Tensor& numbers) const {
  return numbers.to(at::kFloat).to(type_ == at::kDouble ? at::kDouble : at::kFloat).to(device_);
}

struct CaseRun {
  static CaseResult of(const AttentionCase& c, CaseBuilder& b, const std::function<Tensor(const Scores&)>& attend) {
    const std::vector<std::int64_t> sizes = {c.batch, c.heads, c.tokens, c.width};
    std::vector<Tensor> qkv;
    for (const char* name : {"q", "k", "v"})
      qkv.push_back(b.made(name, RandomStreams(5).normal("test", name, 0, sizes), b.type_, b.rounded_));
    if (c.terms) c.terms(b, c);
    Scores scores{.q = qkv[0],
                  .k = qkv[1],
                  .v = qkv[2],
                  .scale = 1 / std::sqrt(static_cast<double>(c.width)),
                  .scales = {},
                  .biases = {},
                  .probabilities = {},
                  .from_probabilities = {}};
    for (const BiasTerm& term : b.scales_) scores.scales.push_back(&term);
    for (const BiasTerm& term : b.biases_) scores.biases.push_back(&term);
    for (const BiasTerm& term : b.sum_scales_) scores.sum_scales.push_back(&term);
    scores.probability_terms = b.terms_;
    scores.value_tables = b.tables_;
    scores.region = b.region_;
    scores.hidden = b.hidden_;
    const Tensor o = attend(scores);
    const Tensor weight = RandomStreams(5).normal("test", "weight", 0, sizes).to(b.rounded_).to(o.scalar_type());
    (o * weight.to(o.device())).sum().backward();
    CaseResult out;
    const auto add = [&](const std::string& name, const Tensor& value) {
      out.names.push_back(name);
      out.values.push_back(value.detach().to(at::kCPU, at::kDouble));
    };
    add("o", o);
    // Paths may leave what softmax ignores without a gradient: its gradient is 0.
    for (std::size_t i = 0; i < b.leaves_.size(); ++i) {
      const Tensor& leaf = b.leaves_[i];
      add(b.names_[i], leaf.grad().defined() ? leaf.grad() : at::zeros_like(leaf));
    }
    return out;
  }
};

CaseResult expected_result(const AttentionCase& c, at::ScalarType rounded) {
  CaseBuilder builder(at::kCPU, at::kDouble, rounded);
  return CaseRun::of(c, builder, [](const Scores& s) { return choose_path("explicit", s).run(s); });
}

CaseResult result_of(const AttentionCase& c, at::Device device, at::ScalarType type,
                     const std::function<Tensor(const Scores&)>& attend) {
  CaseBuilder builder(device, type, type);
  return CaseRun::of(c, builder, attend);
}

std::string difference(const CaseResult& found, const CaseResult& expected, double tolerance) {
  std::string out;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const double largest = std::max(1e-6, expected.values[i].abs().max().item<double>());
    const double error = (found.values[i] - expected.values[i]).abs().max().item<double>() / largest;
    if (!(error <= tolerance)) out += expected.names[i] + " is off by " + std::to_string(error) + "; ";
  }
  return out;
}

}  // namespace locus::engine::test
