// The launcher of CUDA: the one place where kernels are started.
#pragma once

#include "engine/kernels/cuda/device.cuh"
// The device comes before what is written in its terms.
#include "engine/kernels/cuda/calls.cuh"

namespace locus::gpu {

template <class Kernel, class Problem>
__global__ void __launch_bounds__(kThreads, 2) entry(const __grid_constant__ Problem problem) {
  Kernel::run(problem);
}

class CudaLauncher {
 public:
  explicit CudaLauncher(void* stream) : stream_(static_cast<cudaStream_t>(stream)) {}

  // Returns a cudaError_t.
  template <class Kernel, class Problem>
  int operator()(Blocks blocks, const Problem& problem) const {
    const auto kernel = entry<Kernel, Problem>;
    constexpr int kBytes = Kernel::kSharedBytes;
    if constexpr (kBytes > 48 * 1024) {  // more than that has to be asked for
      const auto failed = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
      if (failed != cudaSuccess) return failed;
    }
    const dim3 grid(static_cast<unsigned>(blocks.x), static_cast<unsigned>(blocks.y), static_cast<unsigned>(blocks.z));
    kernel<<<grid, kThreads, kBytes, stream_>>>(problem);
    return cudaGetLastError();
  }

 private:
  cudaStream_t stream_;
};

// Defined in typed.cu, which is compiled once a type and call.
int forward_bf16(const locus_attention&);
int forward_fp16(const locus_attention&);
int forward_tf32(const locus_attention&);
int forward_float(const locus_attention&);
int backward_bf16(const locus_attention&);
int backward_fp16(const locus_attention&);
int backward_tf32(const locus_attention&);
int backward_float(const locus_attention&);
int parameters_bf16(const locus_attention&);
int parameters_fp16(const locus_attention&);
int parameters_tf32(const locus_attention&);
int parameters_float(const locus_attention&);

}  // namespace locus::gpu
