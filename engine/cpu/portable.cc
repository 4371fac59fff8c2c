// Kernels for any processor, in the vectors that its architecture always has: the plain twin of the others, too.
#define LOCUS_CPU_TARGET portable
#include "engine/cpu/matrix_body.h"
#include "engine/cpu/units.h"

namespace locus::cpu {

extern const AttentionKernels kPortableFloat, kPortableDouble;
const AttentionKernels kPortableFloat = portable::kernels_of<float>("portable"),
                       kPortableDouble = portable::kernels_of<double>("portable");

extern const Bfloat16Products kPortableProducts;
const Bfloat16Products kPortableProducts = portable::Matrices<portable::kPairProducts>::functions();

}  // namespace locus::cpu
