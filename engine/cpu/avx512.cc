// Kernels for AVX-512 (F, BW, DQ, VL).
#define LOCUS_CPU_TARGET avx512
#include "engine/cpu/outer_body.h"
#include "engine/cpu/units.h"

namespace locus::cpu {

extern const AttentionKernels kAvx512Float, kAvx512Double;
const AttentionKernels kAvx512Float = avx512::kernels_of<float>("avx512"),
                       kAvx512Double = avx512::kernels_of<double>("avx512");

extern const Products<std::uint16_t> kAvx512Bfloat16Products;
const Products<std::uint16_t> kAvx512Bfloat16Products = avx512::products_of<std::uint16_t>();
extern const Products<float> kAvx512Products;
const Products<float> kAvx512Products = avx512::products_of<float>();

}  // namespace locus::cpu
