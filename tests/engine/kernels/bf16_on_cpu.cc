// The kernels of bfloat16 on the CPU.
#include "tests/engine/kernels/typed_on_cpu.h"

namespace locus::engine::test {

TypedCalls calls_of_bf16() { return typed_calls<gpu::HalfProducts<gpu::Bf16>>(); }

}  // namespace locus::engine::test
