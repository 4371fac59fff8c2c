// The kernels of float16 on the CPU.
#include "tests/engine/kernels/typed_on_cpu.h"

namespace locus::engine::test {

TypedCalls calls_of_fp16() { return typed_calls<gpu::HalfProducts<gpu::Fp16>>(); }

}  // namespace locus::engine::test
