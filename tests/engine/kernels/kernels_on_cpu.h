// The kernels' sources, run on the CPU.
#pragma once

#include "engine/kernels/plugin.h"
#include "tests/gpu_shim/block.h"

namespace locus::engine::test {

// How kernels_on_cpu() orders threads from now on. Not thread-safe.
void set_order(gpu_shim::Order order, std::uint64_t seed = 1);

// From now on every thread of every kernel passes by its n-th barrier, -1: none.
void leave_out_barrier(int n);

// The plugin's calls, for tensors in the machine's memory; stream is not looked at. Calls throw gpu_shim::KernelError.
const AttentionKernels& kernels_on_cpu();

}  // namespace locus::engine::test
