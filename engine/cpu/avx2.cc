// Kernels for AVX2 and FMA.
#define LOCUS_CPU_TARGET avx2
#include "engine/cpu/outer_body.h"
#include "engine/cpu/units.h"

namespace locus::cpu {

extern const AttentionKernels kAvx2Float, kAvx2Double;
const AttentionKernels kAvx2Float = avx2::kernels_of<float>("avx2"), kAvx2Double = avx2::kernels_of<double>("avx2");

extern const Products<std::uint16_t> kAvx2Bfloat16Products;
const Products<std::uint16_t> kAvx2Bfloat16Products = avx2::products_of<std::uint16_t>();
extern const Products<float> kAvx2Products;
const Products<float> kAvx2Products = avx2::products_of<float>();

}  // namespace locus::cpu
