// Kernels for AVX2 and FMA.
#define LOCUS_CPU_TARGET avx2
#include "engine/cpu/units.h"

namespace locus::cpu {

extern const AttentionKernels kAvx2Float, kAvx2Double;
const AttentionKernels kAvx2Float = avx2::kernels_of<float>("avx2"), kAvx2Double = avx2::kernels_of<double>("avx2");

}  // namespace locus::cpu
