// Manhattan distance on a grid, shared by the decays that fall with it.
#pragma once

#include "engine/layers/forms.h"
#include "engine/layers/layout.h"

namespace locus::engine {

// ln(1 - 2^(-initial - range n / heads)) for n = 0 .. heads - 1: the decays of RMT (Fan et al. 2024,
// arXiv:2309.11523, section 3.1), float64.
std::vector<double> manhattan_log_decays(std::int64_t heads, double initial, double range);

// ln(gamma_n) |p_i - p_j|_1, and 0 where a prefix token is involved, as a table of the offsets. Shared by the layers,
// whose decays are equal; not thread-safe.
class ManhattanDecays {
 public:
  explicit ManhattanDecays(std::vector<double> log_gamma) : log_gamma_(std::move(log_gamma)) {}
  // On the device of `like`, float32 or better.
  const RelativeTable& get(const Layout& layout, const Tensor& like);

 private:
  std::vector<double> log_gamma_;  // [H]
  PerLayout<RelativeTable> kept_;
};

}  // namespace locus::engine
