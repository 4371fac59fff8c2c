// The choice among the instruction sets.
#include "engine/fused/kernels.h"

#include <c10/util/BFloat16.h>

#include "engine/base/processor.h"

namespace locus::engine::fused {

#define LOCUS_FUSED_TABLES(set)                           \
  namespace set {                                         \
  extern const Kernels<float, float> of_float;            \
  extern const Kernels<double, double> of_double;         \
  extern const Kernels<float, c10::BFloat16> of_bfloat16; \
  extern const Passes<float> passes_float;                \
  extern const Passes<double> passes_double;              \
  }
LOCUS_FUSED_TABLES(set_plain)
#ifdef LOCUS_FUSED_VECTORS
LOCUS_FUSED_TABLES(set_avx2)
LOCUS_FUSED_TABLES(set_avx512)
#endif
#undef LOCUS_FUSED_TABLES

namespace {

template <typename Table>
const Table& choose(const Table& plain, [[maybe_unused]] const Table& avx2, [[maybe_unused]] const Table& avx512) {
#ifdef LOCUS_FUSED_VECTORS
  if (processor() >= Processor::kAvx512) return avx512;
  if (processor() >= Processor::kAvx2) return avx2;
#endif
  return plain;
}

}  // namespace

#ifdef LOCUS_FUSED_VECTORS
#define LOCUS_FUSED_CHOICE(table) choose(set_plain::table, set_avx2::table, set_avx512::table)
#else
#define LOCUS_FUSED_CHOICE(table) choose(set_plain::table, set_plain::table, set_plain::table)
#endif

template <>
const Kernels<float, float>& kernels<float, float>() {
  return LOCUS_FUSED_CHOICE(of_float);
}
template <>
const Kernels<double, double>& kernels<double, double>() {
  return LOCUS_FUSED_CHOICE(of_double);
}
template <>
const Kernels<float, c10::BFloat16>& kernels<float, c10::BFloat16>() {
  return LOCUS_FUSED_CHOICE(of_bfloat16);
}
template <>
const Passes<float>& passes<float>() {
  return LOCUS_FUSED_CHOICE(passes_float);
}
template <>
const Passes<double>& passes<double>() {
  return LOCUS_FUSED_CHOICE(passes_double);
}

#undef LOCUS_FUSED_CHOICE

}  // namespace locus::engine::fused
