// Forms that follow coordinates and places, entry by entry.
#include "tests/engine/support/reference_forms.h"

#include <cmath>
#include <limits>

namespace locus::engine::test {
namespace {

// Coordinates of patch i of sample b.
std::vector<double> place_of(const Tensor& positions, std::int64_t b, std::int64_t i) {
  const Tensor of = positions.detach().dim() == 2 ? positions.detach() : positions.detach().select(0, b);
  std::vector<double> out;
  for (std::int64_t axis = 0; axis < of.size(1); ++axis) out.push_back(of[i][axis].item<double>());
  return out;
}

// Calls pair(b, h, i, j) for all patches, counted without the prefix.
template <typename Pair>
void each_pair(std::int64_t batch, std::int64_t heads, std::int64_t patches, Pair pair) {
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < patches; ++i) {
        for (std::int64_t j = 0; j < patches; ++j) pair(b, h, i, j);
      }
    }
  }
}

struct Size {
  std::int64_t batch, heads, patches, prefix;
  Tensor zeros() const { return at::zeros({batch, heads, prefix + patches, prefix + patches}, at::kDouble); }
};

Size size_of(const Tensor& member, const Tensor& positions, std::int64_t prefix) {
  const std::int64_t samples = positions.defined() && positions.dim() == 3 ? positions.size(0) : 1;
  return {std::max(samples, member.size(0)), member.size(1), member.size(2), prefix};
}

// Index along an axis that may be shared.
std::int64_t own(const Tensor& member, std::int64_t axis, std::int64_t i) { return member.size(axis) == 1 ? 0 : i; }

// Products of the offset's coordinates, then the coordinates.
std::vector<double> monomials(const std::vector<double>& from, const std::vector<double>& to) {
  std::vector<double> out;
  for (std::size_t a = 0; a < from.size(); ++a) {
    for (std::size_t b = a; b < from.size(); ++b) out.push_back((to[a] - from[a]) * (to[b] - from[b]));
  }
  for (std::size_t a = 0; a < from.size(); ++a) out.push_back(to[a] - from[a]);
  return out;
}

double city_blocks(const std::vector<double>& from, const std::vector<double>& to) {
  double sum = 0;
  for (std::size_t a = 0; a < from.size(); ++a) sum += std::abs(to[a] - from[a]);
  return sum;
}

double entry(const Tensor& t, std::int64_t b, std::int64_t h, std::int64_t i) { return t[b][h][i].item<double>(); }

}  // namespace

Tensor reference_value(const Quadratic& form) {
  const Tensor numbers = form.numbers.detach();
  const Size size = size_of(numbers, form.positions, form.prefix);
  Tensor out = size.zeros();
  each_pair(size.batch, size.heads, size.patches, [&](auto b, auto h, auto i, auto j) {
    const auto terms = monomials(place_of(form.positions, b, i), place_of(form.positions, b, j));
    double sum = 0;
    for (std::size_t n = 0; n < terms.size(); ++n)
      sum += numbers[own(numbers, 0, b)][h][i][static_cast<std::int64_t>(n)].template item<double>() * terms[n];
    out[b][h][form.prefix + i][form.prefix + j] = sum;
  });
  return out;
}

Tensor reference_gradient(const Quadratic& form, const Tensor& full) {
  Tensor out = at::zeros_like(form.numbers.detach(), at::MemoryFormat::Contiguous);
  const Size size = size_of(out, form.positions, form.prefix);
  each_pair(size.batch, size.heads, size.patches, [&](auto b, auto h, auto i, auto j) {
    const auto terms = monomials(place_of(form.positions, b, i), place_of(form.positions, b, j));
    const double d = full[b][h][form.prefix + i][form.prefix + j].template item<double>();
    for (std::size_t n = 0; n < terms.size(); ++n)
      out[own(out, 0, b)][h][i][static_cast<std::int64_t>(n)] += d * terms[n];
  });
  return out;
}

Tensor reference_value(const Gated& form) {
  const Tensor gate = form.gate.detach();
  const Size size = size_of(gate, form.positions, form.prefix);
  Tensor out = size.zeros();
  each_pair(size.batch, size.heads, size.patches, [&](auto b, auto h, auto i, auto j) {
    const std::int64_t s = own(gate, 0, b);
    out[b][h][form.prefix + i][form.prefix + j] =
        (entry(gate, s, h, i) + entry(gate, s, h, j)) *
        city_blocks(place_of(form.positions, b, i), place_of(form.positions, b, j));
  });
  return out;
}

Tensor reference_gradient(const Gated& form, const Tensor& full) {
  Tensor out = at::zeros_like(form.gate.detach(), at::MemoryFormat::Contiguous);
  const Size size = size_of(out, form.positions, form.prefix);
  each_pair(size.batch, size.heads, size.patches, [&](auto b, auto h, auto i, auto j) {
    const double d = full[b][h][form.prefix + i][form.prefix + j].template item<double>() *
                     city_blocks(place_of(form.positions, b, i), place_of(form.positions, b, j));
    for (const std::int64_t end : {std::int64_t{i}, std::int64_t{j}}) out[own(out, 0, b)][h][end] += d;
  });
  return out;
}

Tensor reference_value(const Scan& form) {
  const Tensor place = form.place.detach();
  const Size size = size_of(place, {}, form.prefix);
  Tensor out = size.zeros();
  each_pair(size.batch, size.heads, size.patches, [&](auto b, auto h, auto i, auto j) {
    out[b][h][form.prefix + i][form.prefix + j] = form.causal && j > i
                                                      ? -std::numeric_limits<double>::infinity()
                                                      : -std::abs(entry(place, b, h, i) - entry(place, b, h, j));
  });
  return out;
}

Tensor reference_gradient(const Scan& form, const Tensor& full) {
  const Tensor place = form.place.detach();
  Tensor out = at::zeros_like(place, at::MemoryFormat::Contiguous);
  const Size size = size_of(place, {}, form.prefix);
  each_pair(size.batch, size.heads, size.patches, [&](auto b, auto h, auto i, auto j) {
    if (form.causal && j > i) return;
    const double apart = entry(place, b, h, i) - entry(place, b, h, j);
    const double d = full[b][h][form.prefix + i][form.prefix + j].template item<double>();
    const double slope = apart > 0 ? -d : apart < 0 ? d : 0;
    out[b][h][i] += slope;
    out[b][h][j] -= slope;
  });
  return out;
}

Tensor reference_entries(const PairIndex::Rule& rule) {
  const std::int64_t patches = rule.code.size(0), tokens = rule.prefix + patches;
  Tensor out = at::empty({tokens, tokens}, at::kLong);
  for (std::int64_t i = 0; i < tokens; ++i) {
    for (std::int64_t j = 0; j < tokens; ++j) {
      const bool from = i < rule.prefix, to = j < rule.prefix;
      if (from || to) {
        out[i][j] = from && to ? rule.among_prefix : from ? rule.from_prefix : rule.to_prefix;
        continue;
      }
      const std::int64_t apart = rule.code[i - rule.prefix].item<std::int64_t>() -
                                 rule.code[j - rule.prefix].item<std::int64_t>() + rule.shift;
      out[i][j] = rule.map.defined() ? rule.map[apart].item<std::int64_t>() : apart;
    }
  }
  return out;
}

}  // namespace locus::engine::test
