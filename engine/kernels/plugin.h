// Finds and loads our CUDA kernels at run time. The engine never links CUDA: one build serves CPU and GPU machines.
#pragma once

#include <string>

#include "engine/kernels/curve_decay_abi.h"

namespace locus::engine {

struct CudaKernels {
  locus_curve_decay_forward_fn curve_decay_forward = nullptr;
  locus_curve_decay_backward_fn curve_decay_backward = nullptr;
  locus_curve_decay_workspace_fn curve_decay_workspace = nullptr;
  locus_kernels_error_fn error_text = nullptr;
  std::string path;  // of the library
};

// The kernels, loaded on first use and kept for the life of the process; null when there is no plugin beside the executable
// (or at $LOCUS_KERNELS) or it speaks another ABI. Thread-safe. Loading needs no GPU; calling does.
const CudaKernels* cuda_kernels();

// Why cuda_kernels() is null; empty when it is not.
const std::string& cuda_kernels_missing();

}  // namespace locus::engine
