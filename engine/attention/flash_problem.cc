// From forms to the numbers of the kernels' problem, and from gathered sums to the gradients of forms.
#include "engine/attention/flash_problem.h"

#include <ATen/Context.h>

#include "engine/base/precision.h"

namespace locus::engine {
namespace {

int flash_type(const Tensor& q) {
  switch (q.scalar_type()) {
    case at::kFloat:
      return at::globalContext().allowTF32CuBLAS() ? LOCUS_TF32 : LOCUS_FLOAT32;
    case at::kBFloat16:
      return LOCUS_BFLOAT16;
    case at::kHalf:
      return LOCUS_FLOAT16;
    default:
      return -1;
  }
}

// Strides of [B|1, H|1, ..] when contiguous: 0 where one value serves all.
locus_values strides_of(const Tensor& t) {
  const std::int64_t of_head = t.numel() / (t.size(0) * t.size(1));
  return {nullptr, t.size(0) > 1 ? t.size(1) * of_head : 0, t.size(1) > 1 ? of_head : 0};
}

locus_rows strided_rows(const Tensor& t) {
  return {const_cast<void*>(t.const_data_ptr()), t.stride(0), t.stride(1), t.stride(2)};
}

float* numbers_of(const Tensor& t) { return t.defined() ? t.mutable_data_ptr<float>() : nullptr; }
const float* numbers_to_read(const Tensor& t) { return t.defined() ? t.const_data_ptr<float>() : nullptr; }

// A lookup of values [B|1, H|1, 1, R] that are the same whoever asks.
RelativeTable as_table(const Bucketed::Lookup& lookup) {
  return {lookup.values.squeeze(2), lookup.by_key ? lookup.index.transposed() : lookup.index};
}

// [B, H, T, numbers] without the rows of the prefix, summed to the tensor's own shape.
Tensor of_tokens(const Tensor& gathered, const Tensor& like) {
  const std::int64_t rows = like.size(2);
  return at::sum_to(gathered.slice(2, gathered.size(2) - rows).flatten(3), like.sizes().vec());
}

}  // namespace

Tensor FlashProblem::aligned(const Tensor& t) {
  const std::int64_t unit = 16 / t.element_size();
  const bool fits = t.stride(3) == 1 && t.stride(0) % unit == 0 && t.stride(1) % unit == 0 && t.stride(2) % unit == 0 &&
                    reinterpret_cast<std::uintptr_t>(t.const_data_ptr()) % 16 == 0;
  return fits ? t : t.clone(at::MemoryFormat::Contiguous);
}

FlashProblem::FlashProblem(const Scores& s) {
  inputs_ = {s.q, s.k, s.v};
  shape_.type = flash_type(s.q);
  shape_.batch = static_cast<std::int32_t>(s.q.size(0));
  shape_.heads = static_cast<std::int32_t>(s.q.size(1));
  shape_.tokens = static_cast<std::int32_t>(s.q.size(2));
  shape_.width = static_cast<std::int32_t>((s.q.size(3) + 7) / 8 * 8);
  shape_.scale = static_cast<float>(s.scale);
  shape_.hidden = static_cast<float>(s.hidden);
  sums_scaled_ = !s.sum_scales.empty();
  if (s.region.defined()) {
    shape_.windows = static_cast<std::int32_t>(s.region.size(0));
    region_ = s.region.to(at::kChar).contiguous();
  }
}

std::optional<FlashProblem> FlashProblem::of(const Scores& s) {
  if (flash_type(s.q) < 0 || s.v.size(3) != s.q.size(3)) return std::nullopt;
  FlashProblem out(s);
  for (const BiasTerm* term : s.scales) {
    if (!out.add(*term, LOCUS_SCALE)) return std::nullopt;
  }
  for (const BiasTerm* term : s.biases) {
    if (!out.add(*term, LOCUS_BIAS)) return std::nullopt;
  }
  for (const BiasTerm* term : s.sum_scales) {
    if (!out.add(*term, LOCUS_SUM_SCALE)) return std::nullopt;
  }
  for (const ProbabilityTerm& term : s.probability_terms) {
    const auto* weighted = std::get_if<Weighted>(&term);
    if (weighted == nullptr || !out.add(weighted->term, LOCUS_WEIGHT)) return std::nullopt;
  }
  return out;
}

bool FlashProblem::add(const BiasTerm& term, int role) {
  const auto* bucketed = std::get_if<Bucketed>(&term.form());
  if (bucketed == nullptr) return add(term.form(), role);
  // A sum of lookups is as many biases; as a factor it is none of the kernels' terms.
  if (role != LOCUS_BIAS && bucketed->lookups.size() > 1) return false;
  for (const Bucketed::Lookup& lookup : bucketed->lookups) {
    const bool by_token = lookup.values.size(2) == shape_.tokens;
    const bool taken = by_token ? add(Bucketed{{lookup}}, role) : add(as_table(lookup), role);
    if (!taken) return false;
  }
  return true;
}

int FlashProblem::input(const Tensor& tensor) {
  inputs_.push_back(tensor);
  return static_cast<int>(inputs_.size()) - 1;
}

bool FlashProblem::add(int form, int role, std::int64_t prefix, std::int64_t count, Source source) {
  if (shape_.terms == LOCUS_TERMS_MOST) return false;
  locus_term& t = shape_.term[shape_.terms++];
  t.form = form;
  t.role = role;
  t.prefix = static_cast<std::int32_t>(prefix);
  t.count = static_cast<std::int32_t>(count);
  source.at_a = input(source.a);
  if (source.b.defined()) source.at_b = input(source.b);
  if (source.c.defined()) source.at_c = input(source.c);
  t.a = strides_of(source.a);
  if (source.b.defined()) t.b = strides_of(source.b);
  if (source.c.defined()) t.c = strides_of(source.c);
  sources_.push_back(std::move(source));
  return true;
}

void FlashProblem::set_index(const PairIndex& index) {
  Source& source = sources_.back();
  locus_term& t = shape_.term[shape_.terms - 1];
  const PairIndex::Rule* rule = index.rule();
  if (rule == nullptr) {
    source.entries = index.dense().contiguous();
    return;
  }
  source.code = rule->code.to(at::kInt).contiguous();
  if (rule->map.defined()) source.map = rule->map.to(at::kInt).contiguous();
  t.prefix = static_cast<std::int32_t>(rule->prefix);
  t.index.shift = static_cast<std::int32_t>(rule->shift);
  t.index.from_prefix = static_cast<std::int32_t>(rule->from_prefix);
  t.index.to_prefix = static_cast<std::int32_t>(rule->to_prefix);
  t.index.among_prefix = static_cast<std::int32_t>(rule->among_prefix);
}

bool FlashProblem::add(const Form& form, int role) {
  // Positions [N, axes], or with a sample in front, beside the other tensors' samples and heads.
  const auto places = [](const Tensor& p) { return p.dim() == 2 ? p.unsqueeze(0).unsqueeze(0) : p.unsqueeze(1); };
  const auto of_heads = [](const Tensor& t) { return t.view({1, -1, 1}); };
  if (const auto* f = std::get_if<Dense>(&form)) return add(LOCUS_DENSE, role, 0, 0, {.a = f->values});
  if (const auto* f = std::get_if<LowRank>(&form)) {
    const bool ignored = role == LOCUS_BIAS && !sums_scaled_;
    return add(LOCUS_LOW_RANK, role, 0, f->query.size(-1),
               {.a = f->query, .b = f->key, .c = ignored ? Tensor() : f->row});
  }
  if (const auto* f = std::get_if<RelativeTable>(&form)) {
    if (!add(LOCUS_RELATIVE_TABLE, role, 0, f->table.size(-1), {.a = f->table})) return false;
    set_index(f->index);
    return true;
  }
  if (const auto* f = std::get_if<Bucketed>(&form)) {
    const Bucketed::Lookup& lookup = f->lookups.front();
    if (f->lookups.size() != 1) return false;
    if (!add(LOCUS_BUCKETED, role, 0, lookup.values.size(-1), {.a = lookup.values})) return false;
    set_index(lookup.index);
    shape_.term[shape_.terms - 1].by_key = lookup.by_key;
    return true;
  }
  if (const auto* f = std::get_if<DistanceDecay>(&form)) {
    return add(LOCUS_DISTANCE_DECAY, role, f->prefix, f->positions.size(-1),
               {.a = of_heads(f->slope), .b = places(f->positions)});
  }
  if (const auto* f = std::get_if<Quadratic>(&form))
    return add(LOCUS_QUADRATIC, role, f->prefix, f->positions.size(-1), {.a = f->numbers, .b = places(f->positions)});
  if (const auto* f = std::get_if<Gated>(&form))
    return add(LOCUS_GATED, role, f->prefix, f->positions.size(-1), {.a = f->gate, .b = places(f->positions)});
  if (const auto* f = std::get_if<Scan>(&form)) {
    if (!add(LOCUS_SCAN, role, f->prefix, 0, {.a = f->place})) return false;
    shape_.term[shape_.terms - 1].causal = f->causal;
    return true;
  }
  const auto* f = std::get_if<CurveDecay>(&form);
  if (f == nullptr) return false;
  const std::int64_t curves = f->rate.size(0);
  if (!add(LOCUS_CURVE_DECAY, role, f->ranks->prefix(), curves, {.a = of_heads(f->alpha), .b = f->rate.unsqueeze(0)}))
    return false;
  locus_term& t = shape_.term[shape_.terms - 1];
  t.b = {nullptr, 0, 1};  // rates [C, H]
  t.plus = static_cast<float>(f->plus);
  sources_.back().code = f->ranks->rank().contiguous();
  return true;
}

std::vector<Tensor> FlashProblem::inputs() const {
  std::vector<Tensor> out;
  const at::ScalarType type = inputs_[0].scalar_type();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& t = inputs_[i];
    if (i >= 3) {
      out.push_back(t.to(at::kFloat).contiguous());
      continue;
    }
    const std::int64_t missing = shape_.width - t.size(3);
    out.push_back(aligned(missing == 0 ? t.to(type) : at::constant_pad_nd(t.to(type), {0, missing})));
  }
  return out;
}

std::vector<bool> FlashProblem::wanted() const {
  std::vector<bool> out;
  for (const Tensor& t : inputs_) out.push_back(at::GradMode::is_enabled() && t.requires_grad());
  return out;
}

locus_attention FlashProblem::forward(at::TensorList inputs, const Tensor& o, const Tensor& lse) const {
  locus_attention p = shape_;
  p.q = strided_rows(inputs[0]);
  p.k = strided_rows(inputs[1]);
  p.v = strided_rows(inputs[2]);
  p.o = strided_rows(o);
  p.lse = lse.mutable_data_ptr<float>();
  if (region_.defined()) p.region = region_.const_data_ptr<std::int8_t>();
  for (int m = 0; m < p.terms; ++m) {
    const Source& source = sources_[static_cast<std::size_t>(m)];
    locus_term& t = p.term[m];
    const auto data = [&](int at) { return at < 0 ? nullptr : numbers_to_read(inputs[static_cast<std::size_t>(at)]); };
    t.a.data = data(source.at_a);
    t.b.data = data(source.at_b);
    t.c.data = data(source.at_c);
    if (source.code.defined()) t.index.code = source.code.const_data_ptr<std::int32_t>();
    if (source.map.defined()) t.index.map = source.map.const_data_ptr<std::int32_t>();
    if (source.entries.defined()) t.index.dense = source.entries.const_data_ptr<std::int64_t>();
  }
  return p;
}

namespace {

// Which gradients of a term the kernels gather for the inputs that want one.
struct GatheredSides {
  bool query = false, key = false, row = false, shared = false;
};

GatheredSides gathered_sides(const locus_term& t, bool a, bool b, bool c) {
  switch (t.form) {
    case LOCUS_LOW_RANK:
      return {.query = a, .key = b, .row = c};
    case LOCUS_BUCKETED:
      return {.query = a && !t.by_key, .key = a && t.by_key};
    case LOCUS_QUADRATIC:
      return {.query = a};
    case LOCUS_GATED:
    case LOCUS_SCAN:
      return {.query = a, .key = a};
    case LOCUS_DISTANCE_DECAY:
      return {.query = b, .key = b, .shared = a};
    case LOCUS_CURVE_DECAY:
      return {.shared = a || b};
    default:
      return {.shared = a};
  }
}

// Numbers a token of what a term gathers.
std::int64_t gathered_numbers(const locus_term& t) {
  if (t.form == LOCUS_QUADRATIC) return t.count * (t.count + 1) / 2 + t.count;
  return t.form == LOCUS_GATED || t.form == LOCUS_SCAN ? 1 : t.count;
}

std::vector<std::int64_t> shared_sizes(const locus_attention& p, const locus_term& t) {
  const std::int64_t samples = t.a.batch != 0 ? p.batch : 1, heads = p.heads, tokens = p.tokens;
  if (t.form == LOCUS_DENSE) return {samples, heads, tokens, tokens};
  if (t.form == LOCUS_RELATIVE_TABLE) return {samples, heads, t.count};
  if (t.form == LOCUS_CURVE_DECAY) return {heads, 1 + t.count};
  return {heads};
}

}  // namespace

locus_attention FlashProblem::with_gradients(const std::vector<bool>& wanted) const {
  static float mark;  // never read or written: the kernels' plan looks at which addresses are null
  locus_attention p = shape_;
  for (int m = 0; m < p.terms; ++m) {
    const Source& source = sources_[static_cast<std::size_t>(m)];
    const auto wants = [&](int at) { return at >= 0 && wanted[static_cast<std::size_t>(at)]; };
    locus_term& t = p.term[m];
    const GatheredSides sides = gathered_sides(t, wants(source.at_a), wants(source.at_b), wants(source.at_c));
    t.query_gradient = sides.query ? &mark : nullptr;
    t.key_gradient = sides.key ? &mark : nullptr;
    t.row_gradient = sides.row ? &mark : nullptr;
    t.gradient = sides.shared ? &mark : nullptr;
  }
  return p;
}

locus_attention FlashProblem::backward(locus_attention p, const Tensor& grad, at::TensorList inputs,
                                       const std::vector<bool>& wanted, Buffers& buffers) const {
  const at::TensorOptions numbers = inputs[0].options().dtype(at::kFloat);
  const std::int64_t b = p.batch, h = p.heads, n = p.tokens;
  buffers.q = at::empty({b, h, n, p.width}, inputs[0].options());
  buffers.k = at::empty_like(buffers.q);
  buffers.v = at::empty_like(buffers.q);
  buffers.delta = at::empty({b, h, n}, numbers);
  p.o_gradient = strided_rows(grad);
  p.q_gradient = strided_rows(buffers.q);
  p.k_gradient = strided_rows(buffers.k);
  p.v_gradient = strided_rows(buffers.v);
  p.delta = buffers.delta.mutable_data_ptr<float>();
  const locus_attention marked = with_gradients(wanted);
  for (int m = 0; m < p.terms; ++m) {
    locus_term& t = p.term[m];
    const locus_term& mark = marked.term[m];
    const auto made = [&](const float* want, const std::vector<std::int64_t>& sizes) {
      return want == nullptr ? Tensor() : at::empty(sizes, numbers);
    };
    const std::vector<std::int64_t> tokens = {b, h, n, gathered_numbers(t)};
    Buffers::OfTerm of{made(mark.query_gradient, tokens), made(mark.key_gradient, tokens),
                       made(mark.row_gradient, {b, h, n, 1}), made(mark.gradient, shared_sizes(p, t))};
    t.query_gradient = numbers_of(of.query);
    t.key_gradient = numbers_of(of.key);
    t.row_gradient = numbers_of(of.row);
    t.gradient = numbers_of(of.shared);
    buffers.terms.push_back(std::move(of));
  }
  return p;
}

std::vector<Tensor> FlashProblem::gradients(const Buffers& buffers, at::TensorList inputs,
                                            const std::vector<bool>& wanted) const {
  std::vector<Tensor> out(inputs.size());
  out[0] = buffers.q;
  out[1] = buffers.k;
  out[2] = buffers.v;
  for (std::size_t m = 0; m < sources_.size(); ++m) {
    const Source& source = sources_[m];
    const Buffers::OfTerm& of = buffers.terms[m];
    const locus_term& t = shape_.term[m];
    const auto set = [&](int at, const auto& make) {
      const auto i = static_cast<std::size_t>(at);
      if (at >= 0 && wanted[i]) out[i] = make(inputs[i]);
    };
    const Tensor sides = of.query.defined() && of.key.defined() && t.form != LOCUS_LOW_RANK ? of.query + of.key
                         : of.query.defined()                                               ? of.query
                                                                                            : of.key;
    const auto tokens = [&](const Tensor& gathered) {
      return [gathered](const Tensor& like) {
        // A number a token has no axis of its own.
        if (like.dim() == 3) return of_tokens(gathered, like.unsqueeze(3)).squeeze(3);
        return of_tokens(gathered, like);
      };
    };
    switch (t.form) {
      case LOCUS_LOW_RANK:
        set(source.at_a, tokens(of.query));
        set(source.at_b, tokens(of.key));
        set(source.at_c, tokens(of.row));
        break;
      case LOCUS_DISTANCE_DECAY:
        set(source.at_a, [&](const Tensor& like) { return of.shared.view(like.sizes()); });
        set(source.at_b, tokens(sides));
        break;
      case LOCUS_CURVE_DECAY:
        set(source.at_a, [&](const Tensor& like) { return of.shared.select(1, 0).view(like.sizes()); });
        set(source.at_b, [&](const Tensor& like) { return of.shared.slice(1, 1).t().reshape(like.sizes()); });
        break;
      case LOCUS_DENSE:
      case LOCUS_RELATIVE_TABLE:
        set(source.at_a, [&](const Tensor& like) { return at::sum_to(of.shared, like.sizes().vec()); });
        break;
      default:
        set(source.at_a, tokens(sides));
    }
  }
  return out;
}

}  // namespace locus::engine
