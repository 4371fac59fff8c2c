// Finds and loads our CUDA kernels at run time. The engine never links CUDA: one build serves CPU and GPU machines.
#pragma once

#include <string>

#include "engine/kernels/attention_abi.h"

namespace locus::engine {

// A plugin's calls; tests have a set that runs the kernels' sources on the CPU.
struct AttentionKernels {
  locus_attention_supports_fn supports = nullptr;
  locus_attention_workspace_fn workspace = nullptr;
  locus_attention_forward_fn forward = nullptr;
  locus_attention_backward_fn backward = nullptr;
  locus_kernels_error_fn error_text = nullptr;
};

struct CudaKernels {
  AttentionKernels attention;
  std::string path;  // of the library
};

// The kernels, loaded on first use and kept for the life of the process; null when there is no plugin beside the executable
// (or at $LOCUS_KERNELS) or it speaks another ABI. Thread-safe. Loading needs no GPU; calling does.
const CudaKernels* cuda_kernels();

// Why cuda_kernels() is null; empty when it is not.
const std::string& cuda_kernels_missing();

}  // namespace locus::engine
