// A depth-wise convolution over patches, one number at a time.
#pragma once

#include "tests/engine/priors/reference/reference_prior.h"

namespace locus::engine::test {

// tokens [B, T, C], weight [C, 1, side, side], bias [C] or empty: out(y, x) = bias + sum over (dy, dx) of
// weight times the patch at (y + dy, x + dx), nothing beyond the border; 0 for prefix tokens.
inline Array convolved(const ReferenceContext& c, const Array& tokens, const Array& weight, const Array& bias) {
  const std::int64_t rows = c.extent[0], columns = c.extent[1], reach = weight.size(2) / 2;
  Array out(tokens.shape());
  for (std::int64_t b = 0; b < tokens.size(0); ++b) {
    for (std::int64_t t = c.prefix; t < c.tokens(); ++t) {
      for (std::int64_t channel = 0; channel < tokens.size(2); ++channel) {
        Real sum = bias.empty() ? Real(0.0) : bias(channel);
        for (std::int64_t dy = -reach; dy <= reach; ++dy) {
          for (std::int64_t dx = -reach; dx <= reach; ++dx) {
            const std::int64_t y = c.row(t) + dy, x = c.column(t) + dx;
            if (y < 0 || y >= rows || x < 0 || x >= columns) continue;
            sum += weight(channel, 0, dy + reach, dx + reach) * tokens(b, c.prefix + y * columns + x, channel);
          }
        }
        out(b, t, channel) = sum;
      }
    }
  }
  return out;
}

}  // namespace locus::engine::test
