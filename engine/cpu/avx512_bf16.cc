// Kernels for AVX-512 with dot products of bfloat16.
#define LOCUS_CPU_TARGET avx512_bf16
#include "engine/cpu/outer_body.h"
#include "engine/cpu/units.h"

namespace locus::cpu {

extern const AttentionKernels kAvx512Bfloat16Float;
const AttentionKernels kAvx512Bfloat16Float = avx512_bf16::kernels_of<float>("avx512-bfloat16");

extern const Products<std::uint16_t> kAvx512PairProducts;
const Products<std::uint16_t> kAvx512PairProducts = avx512_bf16::products_of<std::uint16_t>();

}  // namespace locus::cpu
