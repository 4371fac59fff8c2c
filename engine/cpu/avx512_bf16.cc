// Kernels for AVX-512 with dot products of bfloat16.
#define LOCUS_CPU_TARGET avx512_bf16
#include "engine/cpu/matrix_body.h"
#include "engine/cpu/units.h"

namespace locus::cpu {

extern const AttentionKernels kAvx512Bfloat16Float;
const AttentionKernels kAvx512Bfloat16Float = avx512_bf16::kernels_of<float>("avx512-bfloat16");

extern const Bfloat16Products kAvx512Bfloat16Products;
const Bfloat16Products kAvx512Bfloat16Products = avx512_bf16::Matrices<avx512_bf16::kPairProducts>::functions();

}  // namespace locus::cpu
