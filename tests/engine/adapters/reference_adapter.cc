// Scalar loops.
#include "tests/engine/adapters/reference_adapter.h"

namespace locus::engine::test {
namespace {

Array direction_of(const ReferenceAdapter& adapter, const AdapterWeights& weights) {
  const std::int64_t out = weights.weight.size(0), in = weights.weight.size(1), rank = weights.b.size(1);
  const std::int64_t rows = out / adapter.parts;
  Array v({out, in});
  for (std::int64_t o = 0; o < out; ++o) {
    for (std::int64_t i = 0; i < in; ++i) {
      Real sum = 0;
      for (std::int64_t r = 0; r < rank; ++r) sum += weights.b(o, r) * weights.a(o / rows * rank + r, i);
      v(o, i) = weights.weight(o, i) + adapter.scaling * sum;
    }
  }
  return v;
}

}  // namespace

Array merged_weight(const ReferenceAdapter& adapter, const AdapterWeights& weights) {
  Array v = direction_of(adapter, weights);
  if (!adapter.direction) return v;
  const std::int64_t out = v.size(0), in = v.size(1), rows = out / adapter.parts;
  Array merged({out, in});
  for (std::int64_t o = 0; o < out; ++o) {
    for (std::int64_t i = 0; i < in; ++i) {
      Real squares = 0;
      if (adapter.columns) {
        const std::int64_t first = o / rows * rows;
        for (std::int64_t other = first; other < first + rows; ++other) squares += v(other, i) * v(other, i);
      } else {
        for (std::int64_t other = 0; other < in; ++other) squares += v(o, other) * v(o, other);
      }
      const Real length = adapter.through ? sqrt(squares) : Real(std::sqrt(squares.value()));
      const Real magnitude = adapter.columns ? weights.magnitude(o / rows, i) : weights.magnitude(o);
      merged(o, i) = magnitude * v(o, i) / length;
    }
  }
  return merged;
}

Array adapted_output(const ReferenceAdapter& adapter, const AdapterWeights& weights, const Array& x,
                     const Array& factor) {
  const Array merged = merged_weight(adapter, weights);
  const std::int64_t out = merged.size(0), in = merged.size(1);
  Array y({x.size(0), out});
  for (std::int64_t n = 0; n < x.size(0); ++n) {
    for (std::int64_t o = 0; o < out; ++o) {
      Real sum = weights.bias.empty() ? Real(0) : weights.bias(o);
      for (std::int64_t i = 0; i < in; ++i) {
        sum += weights.weight(o, i) * x(n, i);
        sum += (merged(o, i) - weights.weight(o, i)) * (factor(n, i) * x(n, i));
      }
      y(n, o) = sum;
    }
  }
  return y;
}

}  // namespace locus::engine::test
