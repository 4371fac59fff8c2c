// The plugin's calls over blocks of fibers.
#include "tests/engine/kernels/kernels_on_cpu.h"

#include "tests/engine/kernels/typed_on_cpu.h"

namespace locus::engine::test {
namespace {

gpu_shim::Order thread_order = gpu_shim::Order::kAscending;
std::uint64_t thread_seed = 1;
int barrier_left_out = -1;

TypedCalls calls_of(const locus_attention* p) {
  switch (p->type) {
    case LOCUS_BFLOAT16:
      return calls_of_bf16();
    case LOCUS_FLOAT16:
      return calls_of_fp16();
    case LOCUS_TF32:
      return calls_of_tf32();
    default:
      return calls_of_float();
  }
}

}  // namespace

void ShimLauncher::run(gpu_shim::Shape shape, const std::function<void()>& body) {
  shape.order = thread_order;
  shape.seed = thread_seed;
  shape.without_barrier = barrier_left_out;
  gpu_shim::launch(shape, body);
}

void set_order(gpu_shim::Order order, std::uint64_t seed) {
  thread_order = order;
  thread_seed = seed;
}

void leave_out_barrier(int n) { barrier_left_out = n; }

const AttentionKernels& kernels_on_cpu() {
  static const AttentionKernels kernels = {
      .supports = [](const locus_attention* p, std::int32_t backward) { return gpu::refusal(*p, backward != 0); },
      .workspace = [](const locus_attention* p) { return gpu::workspace_of(*p); },
      .forward = [](const locus_attention* p) { return calls_of(p).forward(*p); },
      .backward = [](const locus_attention* p) { return calls_of(p).backward(*p); },
      .error_text = [](int) { return "failed on the CPU"; },
  };
  return kernels;
}

}  // namespace locus::engine::test
