// Manhattan distance as a function of the offset.
#include "engine/priors/manhattan.h"

#include <cmath>

#include "engine/priors/offsets.h"

namespace locus::engine {

std::vector<double> manhattan_log_decays(std::int64_t heads, double initial, double range) {
  std::vector<double> decays;
  for (std::int64_t n = 0; n < heads; ++n) {
    const double exponent = -initial - range * static_cast<double>(n) / static_cast<double>(heads);
    decays.push_back(std::log1p(-std::exp2(exponent)));
  }
  return decays;
}

const RelativeTable& ManhattanDecays::get(const Layout& layout, const Tensor& like) {
  const at::ScalarType type = like.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return kept_.get(layout, like.device(), type, [&] {
    const Tensor distance = offsets(layout, at::kDouble).abs().sum(1);
    const Tensor values = at::tensor(log_gamma_, at::kDouble).unsqueeze(1) * distance;
    return offset_bias(values.to(like.device(), type), offset_rule(layout, like.device()));
  });
}

}  // namespace locus::engine
