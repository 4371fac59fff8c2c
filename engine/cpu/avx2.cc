// Kernels for AVX2 and FMA.
#define LOCUS_CPU_TARGET avx2
#include "engine/cpu/matrix_body.h"
#include "engine/cpu/units.h"

namespace locus::cpu {

extern const AttentionKernels kAvx2Float, kAvx2Double;
const AttentionKernels kAvx2Float = avx2::kernels_of<float>("avx2"), kAvx2Double = avx2::kernels_of<double>("avx2");

extern const Bfloat16Products kAvx2Products;
const Bfloat16Products kAvx2Products = avx2::Matrices<avx2::kPairProducts>::functions();

}  // namespace locus::cpu
