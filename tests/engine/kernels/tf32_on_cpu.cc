// The kernels of float32 rounded to tf32 on the CPU.
#include "tests/engine/kernels/typed_on_cpu.h"

namespace locus::engine::test {

TypedCalls calls_of_tf32() { return typed_calls<gpu::Tf32Products>(); }

}  // namespace locus::engine::test
