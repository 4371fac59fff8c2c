// Kernels for AVX-512 (F, BW, DQ, VL).
#define LOCUS_CPU_TARGET avx512
#include "engine/cpu/matrix_body.h"
#include "engine/cpu/units.h"

namespace locus::cpu {

extern const AttentionKernels kAvx512Float, kAvx512Double;
const AttentionKernels kAvx512Float = avx512::kernels_of<float>("avx512"),
                       kAvx512Double = avx512::kernels_of<double>("avx512");

extern const Bfloat16Products kAvx512Products;
const Bfloat16Products kAvx512Products = avx512::Matrices<avx512::kPairProducts>::functions();

}  // namespace locus::cpu
