// The three calls of one type, defined where its kernels are compiled. Include in one source a type: that is where
// the compiler's time goes.
#pragma once

#include "tests/gpu_shim/device.h"
// The device comes before what is written in its terms.
#include "engine/kernels/cuda/calls.cuh"

namespace locus::engine::test {

struct ShimLauncher {
  template <class Kernel, class Problem>
  int operator()(gpu::Blocks blocks, const Problem& problem) const {
    run({.x = blocks.x, .y = blocks.y, .z = blocks.z, .threads = gpu::kThreads, .shared_bytes = Kernel::kSharedBytes},
        [&] { Kernel::run(problem); });
    return 0;
  }
  static void run(gpu_shim::Shape shape, const std::function<void()>& body);  // in the order of set_order()
};

struct TypedCalls {
  int (*forward)(const locus_attention&);
  int (*backward)(const locus_attention&);  // parameters that samples share included
};

template <class Products>
TypedCalls typed_calls() {
  return {[](const locus_attention& p) { return gpu::forward_of<Products>(p, ShimLauncher{}); },
          [](const locus_attention& p) {
            const int failed = gpu::backward_of<Products>(p, ShimLauncher{});
            return failed ? failed : gpu::parameters_of<Products>(p, ShimLauncher{});
          }};
}

TypedCalls calls_of_float();
TypedCalls calls_of_bf16();
TypedCalls calls_of_fp16();
TypedCalls calls_of_tf32();

}  // namespace locus::engine::test
