// One call for one type: LOCUS_KERNEL_CALL (forward, backward, parameters) and LOCUS_KERNEL_TYPE (bf16, fp16, tf32,
// float). Compiled once for each, side by side, since nearly all of the compiler's time goes into these.
#include "engine/kernels/cuda/launch.cuh"

namespace locus::gpu {
namespace {

using bf16 = HalfProducts<Bf16>;
using fp16 = HalfProducts<Fp16>;
using tf32 = Tf32Products;
using float_ = FloatProducts;

}  // namespace

#define LOCUS_NAME(call, type) call##_##type
#define LOCUS_DEFINE(call, type, products) \
  int LOCUS_NAME(call, type)(const locus_attention& p) { return call##_of<products>(p, CudaLauncher(p.stream)); }
#define LOCUS_DEFINE_EXPANDED(call, type, products) LOCUS_DEFINE(call, type, products)
LOCUS_DEFINE_EXPANDED(LOCUS_KERNEL_CALL, LOCUS_KERNEL_TYPE, LOCUS_KERNEL_PRODUCTS)

}  // namespace locus::gpu
