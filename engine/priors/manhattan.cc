// Manhattan distance as inner products.
#include "engine/priors/manhattan.h"

#include <cmath>

namespace locus::engine {

Tensor manhattan_code(const Layout& layout, at::TensorOptions options) {
  const Tensor position = grid_positions(layout, options);
  std::vector<Tensor> digits;
  for (std::size_t axis = 0; axis < layout.extent.size(); ++axis) {
    const Tensor boundary = at::arange(layout.extent[axis] - 1, options);
    const Tensor beyond = position.select(1, static_cast<std::int64_t>(axis)).unsqueeze(1) > boundary;
    digits.push_back(beyond.to(options.dtype()) - 0.5);
  }
  return at::cat(digits, 1);
}

Tensor behind_prefix(const Tensor& features, std::int64_t prefix) {
  return prefix == 0 ? features : at::constant_pad_nd(features, {0, 0, prefix, 0}, 0);
}

namespace {

// Adds the row constant [.., N, 1] of patch rows. Columns of prefix tokens must not see it: there one more
// channel takes it off again.
LowRank with_row(const Tensor& query, const Tensor& key, const Tensor& row, std::int64_t prefix) {
  LowRank out{behind_prefix(query, prefix), behind_prefix(key, prefix), behind_prefix(row, prefix)};
  if (prefix == 0) return out;
  std::vector<std::int64_t> leading = key.sizes().vec();
  leading[leading.size() - 2] += prefix;
  leading.back() = 1;
  Tensor minus = at::zeros(leading, key.options());
  minus.narrow(-2, 0, prefix).fill_(-1);
  std::vector<std::int64_t> like_query = out.query.sizes().vec();
  like_query.back() = 1;
  out.query = at::cat({out.query, out.row.expand(like_query)}, -1);
  out.key = at::cat({out.key, minus}, -1);
  return out;
}

}  // namespace

LowRank manhattan_bias(const Layout& layout, const Tensor& slope) {
  const Tensor code = manhattan_code(layout, slope.options()).unsqueeze(0).unsqueeze(0);
  const Tensor factor = slope.view({1, -1, 1, 1});
  const double half = 0.5 * static_cast<double>(code.size(-1));
  return with_row(factor * -2 * code, code, (factor * half).expand({1, -1, layout.patches(), 1}), layout.prefix);
}

LowRank gated_manhattan_bias(const Layout& layout, const Tensor& gate) {
  const Tensor code = manhattan_code(layout, gate.options()).unsqueeze(0).unsqueeze(0);
  const double half = 0.5 * static_cast<double>(code.size(-1));
  const Tensor g = gate.unsqueeze(-1), gated = g * code;  // [B, H, N, 1], [B, H, N, R]
  const Tensor plain = code.expand_as(gated);
  const Tensor query = at::cat({-gated, -plain, at::full_like(g, 0.5)}, -1);
  const Tensor key = at::cat({plain, gated, g * half}, -1);
  return with_row(query, key, g * (0.5 * half), layout.prefix);
}

std::vector<double> manhattan_log_decays(std::int64_t heads, double initial, double range) {
  std::vector<double> decays;
  for (std::int64_t n = 0; n < heads; ++n) {
    const double exponent = -initial - range * static_cast<double>(n) / static_cast<double>(heads);
    decays.push_back(std::log1p(-std::exp2(exponent)));
  }
  return decays;
}

}  // namespace locus::engine
