// Forms as terms of the kernels, and the division of the work.
#include "engine/attention/flash_plan.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "engine/base/whole_rows.h"

namespace locus::engine {
namespace {

constexpr std::int64_t kUnits = 16;                // at least so many units where the shape allows it
constexpr std::int64_t kShortRows = 256;           // tokens below which heads and samples alone are divided
constexpr std::int64_t kKeptNumbers = 128 * 1024;  // of a tile that samples share: half a megabyte

// Makes the terms of one call.
class Planner {
 public:
  Planner(const Scores& scores, FlashCall& call) : s_(scores), call_(call), tokens_(scores.q.size(2)) {
    call_.plan.type = flash_type(scores);
  }

  void add(const BiasTerm& term, cpu::Role role) {
    std::visit([&](const auto& form) { form_of(form, term, role); }, term.form());
  }
  void add(const Weighted& term) { add(term.term, cpu::Role::kTimes); }
  void add(const Shifted& term) { add(term.term, cpu::Role::kPlus); }
  void add(const Blended& term) {
    add(term.logits, cpu::Role::kBlend);
    call_.plan.parameters.back().back() = {input(term.share.view({1, -1, 1}))};
    call_.plan.terms.back().blend_prefix = term.prefix;
  }
  void add(const ValueTable& table) {
    cpu::Table out;
    out.size = table.table.size(2);
    out.index = index_of(table.index);
    call_.plan.tables.push_back(out);
    call_.plan.table_parameters.push_back({input(table.table.flatten(2))});
  }

 private:
  // [B|1, H|1, ...] as an input.
  std::int64_t input(const Tensor& values) {
    call_.inputs.push_back(values.to(call_.plan.type).contiguous());
    return static_cast<std::int64_t>(call_.inputs.size()) - 1;
  }
  const Tensor& keep(Tensor tensor) { return call_.plan.kept.emplace_back(std::move(tensor)); }

  cpu::Term& begin(cpu::Kind kind, cpu::Role role, std::initializer_list<PlannedParameter> parameters) {
    call_.plan.terms.push_back({.kind = kind, .role = role});
    std::copy(parameters.begin(), parameters.end(), call_.plan.parameters.emplace_back().begin());
    return call_.plan.terms.back();
  }
  void dense(const BiasTerm& term, cpu::Role role) {
    begin(cpu::Kind::kDense, role, {{input(term.dense().expand({-1, -1, tokens_, tokens_}).flatten(2)), true}});
  }

  cpu::Index index_of(const PairIndex& index) {
    cpu::Index out;
    const PairIndex::Rule* rule = index.rule();
    if (rule == nullptr) {
      out.dense = keep(index.dense().contiguous()).const_data_ptr<std::int64_t>();
      return out;
    }
    out.code = keep(rule->code.contiguous()).const_data_ptr<std::int32_t>();
    if (rule->map.defined()) out.map = keep(rule->map.contiguous()).const_data_ptr<std::int32_t>();
    out.shift = rule->shift, out.prefix = rule->prefix;
    out.from_prefix = rule->from_prefix, out.to_prefix = rule->to_prefix, out.among_prefix = rule->among_prefix;
    return out;
  }

  // Positions [N, axes] or with a batch in front, without a gradient.
  void place(cpu::Term& term, const Tensor& positions, std::int64_t prefix) {
    const Tensor& at = keep(positions.detach().to(call_.plan.type).contiguous());
    term.positions = at.const_data_ptr();
    term.positions_batch = at.dim() == 3 && at.size(0) > 1 ? at.size(1) * at.size(2) : 0;
    term.size = at.size(-1), term.prefix = prefix;
  }

  void form_of(const Dense&, const BiasTerm& term, cpu::Role role) { dense(term, role); }
  void form_of(const LowRank& f, const BiasTerm&, cpu::Role role) {
    std::vector<PlannedParameter> parts = {{input(f.query.flatten(2)), true}, {input(f.key.flatten(2))}};
    PlannedParameter row;
    // A constant of a row is nothing to the softmax, unless a factor on the sum makes it another.
    if (f.row.defined() && (role != cpu::Role::kBias || !s_.sum_scales.empty())) row = {input(f.row.flatten(2)), true};
    begin(cpu::Kind::kLowRank, role, {parts[0], parts[1], row}).size = f.query.size(3);
  }
  void form_of(const RelativeTable& f, const BiasTerm&, cpu::Role role) {
    cpu::Term& term = begin(cpu::Kind::kTable, role, {{input(f.table)}});
    term.size = f.table.size(2);
    term.index = index_of(f.index);
  }
  void form_of(const Bucketed& f, const BiasTerm& whole, cpu::Role role) {
    // Sums of lookups are sums of biases; as a factor they are one.
    if (role != cpu::Role::kBias && f.lookups.size() > 1) return dense(whole, role);
    for (const Bucketed::Lookup& lookup : f.lookups) {
      const bool rows = lookup.values.size(2) > 1 || tokens_ == 1;
      cpu::Term& term = begin(rows ? cpu::Kind::kLookup : cpu::Kind::kTable, role,
                              {{input(lookup.values.flatten(2)), rows && !lookup.by_key}});
      term.size = lookup.values.size(3);
      term.by_key = lookup.by_key;
      term.index = index_of(lookup.index);
    }
  }
  void form_of(const DistanceDecay& f, const BiasTerm& whole, cpu::Role role) {
    if (f.positions.size(-1) > cpu::kAxesMost) return dense(whole, role);
    const Tensor positions = f.positions.dim() == 3 ? f.positions : f.positions.unsqueeze(0);
    cpu::Term& term = begin(cpu::Kind::kDistance, role,
                            {{input(positions.unsqueeze(1).flatten(2))}, {input(f.slope.view({1, -1, 1}))}});
    term.size = f.positions.size(-1), term.prefix = f.prefix;
  }
  void form_of(const Quadratic& f, const BiasTerm& whole, cpu::Role role) {
    if (f.positions.size(-1) > cpu::kAxesMost) return dense(whole, role);
    place(begin(cpu::Kind::kQuadratic, role, {{input(f.numbers.flatten(2)), true}}), f.positions, f.prefix);
  }
  void form_of(const Gated& f, const BiasTerm&, cpu::Role role) {
    place(begin(cpu::Kind::kGated, role, {{input(f.gate)}}), f.positions, f.prefix);
  }
  void form_of(const Scan& f, const BiasTerm&, cpu::Role role) {
    cpu::Term& term = begin(cpu::Kind::kScan, role, {{input(f.place)}});
    term.prefix = f.prefix, term.causal = f.causal;
  }
  void form_of(const CurveDecay& f, const BiasTerm&, cpu::Role role) {
    cpu::Term& term =
        begin(cpu::Kind::kCurves, role, {{input(f.rate.t().unsqueeze(0))}, {input(f.alpha.view({1, -1, 1}))}});
    term.size = f.rate.size(0), term.prefix = f.ranks->prefix(), term.plus = f.plus;
    term.ranks = keep(f.ranks->rank().contiguous()).const_data_ptr<std::int32_t>();
  }

  const Scores& s_;
  FlashCall& call_;
  std::int64_t tokens_;
};

std::int64_t over(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

at::ScalarType flash_type(const Scores& s) {
  const bool exact =
      s.q.scalar_type() == at::kDouble || s.k.scalar_type() == at::kDouble || s.v.scalar_type() == at::kDouble;
  return exact ? at::kDouble : at::kFloat;
}

FlashCall plan_flash(const Scores& scores) {
  FlashCall call{{with_whole_rows(scores.q), with_whole_rows(scores.k), with_whole_rows(scores.v)}, {}};
  Planner planner(scores, call);
  for (const BiasTerm* term : scores.scales) planner.add(*term, cpu::Role::kScale);
  for (const BiasTerm* term : scores.biases) planner.add(*term, cpu::Role::kBias);
  for (const BiasTerm* term : scores.sum_scales) planner.add(*term, cpu::Role::kSumScale);
  for (const ProbabilityTerm& term : scores.probability_terms)
    std::visit([&](const auto& one) { planner.add(one); }, term);
  for (const ValueTable& table : scores.value_tables) planner.add(table);
  if (scores.region.defined()) call.plan.region = scores.region.contiguous();
  call.plan.scale = scores.scale, call.plan.hidden = scores.hidden;
  return call;
}

void divide_work(cpu::Problem& p, bool dense_gradient) {
  const auto shares = [](const cpu::Term& term) {
    return term.positions_batch == 0 && !term.share.by_sample &&
           std::none_of(std::begin(term.parameter), std::end(term.parameter),
                        [](const cpu::Parameter& one) { return one.by_sample; });
  };
  const bool shared = std::any_of(p.terms, p.terms + p.term_count, shares);
  // Tiles of a block, three of them, fit beside one another in the second cache.
  p.block = p.tokens <= 56 ? p.tokens : p.tokens <= 1280 ? 56 : p.tokens <= 2560 ? 28 : 14;
  const std::int64_t blocks = over(p.tokens, p.block);
  // One evaluation of a shared tile serves a group of samples.
  p.group = !shared                  ? 1
            : dense_gradient         ? p.batch
            : p.tokens >= kShortRows ? std::min<std::int64_t>(p.batch, 8)
                                     : std::clamp<std::int64_t>(over(p.batch * p.heads, kUnits), 1, 8);
  p.groups = over(p.batch, p.group);
  p.ranges = std::clamp<std::int64_t>(over(kUnits, p.heads * p.groups), 1, std::min<std::int64_t>(blocks, 8));
  if (p.tokens < kShortRows && !dense_gradient) p.ranges = 1;
  p.kept_blocks = shared ? std::max<std::int64_t>(kKeptNumbers / (p.block * p.tokens), 1) : blocks;
  p.kept_blocks = std::min(p.kept_blocks, over(blocks, p.ranges));
}

Tensor sum_parts(const Tensor& parts, bool keep_outer, bool keep_heads) {
  const std::int64_t ranges = parts.size(0), outer = parts.size(1), heads = parts.size(2), count = parts.size(3);
  const bool alone = ranges == 1 && (keep_outer || outer == 1) && (keep_heads || heads == 1);
  if (alone) return parts.squeeze(0);
  const std::int64_t out_outer = keep_outer ? outer : 1, out_heads = keep_heads ? heads : 1;
  Tensor out = at::zeros({out_outer, out_heads, count}, parts.options());
  AT_DISPATCH_FLOATING_TYPES(parts.scalar_type(), "sum_parts", [&] {
    const scalar_t* from = parts.const_data_ptr<scalar_t>();
    scalar_t* to = out.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, count, 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = 0; n < ranges * outer * heads; ++n) {
        const std::int64_t o = keep_outer ? n / heads % outer : 0, h = keep_heads ? n % heads : 0;
        scalar_t* sum = to + (o * out_heads + h) * count;
        const scalar_t* part = from + n * count;
        for (std::int64_t i = begin; i < end; ++i) sum[i] += part[i];
      }
    });
  });
  return out;
}

}  // namespace locus::engine
