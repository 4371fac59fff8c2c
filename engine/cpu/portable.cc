// Kernels for any processor, in the vectors that its architecture always has: the plain twin of the others, too.
#define LOCUS_CPU_TARGET portable
#include "engine/cpu/outer_body.h"
#include "engine/cpu/units.h"

namespace locus::cpu {

extern const AttentionKernels kPortableFloat, kPortableDouble;
const AttentionKernels kPortableFloat = portable::kernels_of<float>("portable"),
                       kPortableDouble = portable::kernels_of<double>("portable");

extern const Products<std::uint16_t> kPortableBfloat16Products;
const Products<std::uint16_t> kPortableBfloat16Products = portable::products_of<std::uint16_t>();
extern const Products<float> kPortableProducts;
const Products<float> kPortableProducts = portable::products_of<float>();

}  // namespace locus::cpu
