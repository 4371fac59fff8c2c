// The lists of measures.def.
#include "core/claims/measure.h"

#include <utility>

namespace locus {

const Measure* measure_of(const ClaimMetric& metric) {
#define LOCUS_CLAIM_MEASURE(name, unit, cost, metric, minus, over, over_minus, scale) \
  {name, unit, cost, metric, minus, over, over_minus, scale},
#define LOCUS_CLAIM_UNMEASURED(name, why)
  static const auto* const kMeasures = new std::vector<Measure>{
#include "core/claims/measures.def"
  };
#undef LOCUS_CLAIM_MEASURE
#undef LOCUS_CLAIM_UNMEASURED
  for (const Measure& one : *kMeasures) {
    if (one.name == metric.name && one.unit == metric.unit) return &one;
  }
  return nullptr;
}

std::string why_unmeasured(const ClaimMetric& metric) {
#define LOCUS_CLAIM_MEASURE(name, unit, cost, metric, minus, over, over_minus, scale)
#define LOCUS_CLAIM_UNMEASURED(name, why) std::pair<std::string_view, std::string_view>{name, why},
  static constexpr std::pair<std::string_view, std::string_view> kWhy[] = {
#include "core/claims/measures.def"
  };
#undef LOCUS_CLAIM_MEASURE
#undef LOCUS_CLAIM_UNMEASURED
  for (const auto& [name, why] : kWhy) {
    if (name == metric.name) return std::string(why);
  }
  return {};
}

}  // namespace locus
