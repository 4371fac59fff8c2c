// The kernels of float32 on the CPU.
#include "tests/engine/kernels/typed_on_cpu.h"

namespace locus::engine::test {

TypedCalls calls_of_float() { return typed_calls<gpu::FloatProducts>(); }

}  // namespace locus::engine::test
