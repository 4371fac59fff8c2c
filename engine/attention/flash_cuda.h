// Attention by our CUDA kernels: values and gradients without a tensor of T x T.
#pragma once

#include "engine/attention/path.h"
#include "engine/kernels/plugin.h"

namespace locus::engine {

// Whether q is on a GPU, the plugin is there and takes what the scores ask for, with the gradients that they want.
bool flash_cuda_supports(const Scores& scores);
// Throws std::runtime_error where a kernel fails. flash_cuda_supports() must hold.
Tensor flash_cuda(const Scores& scores);

// The same by given kernels, which must take tensors of q's device; tests run the kernels' sources on the CPU.
bool flash_supports(const AttentionKernels& kernels, const Scores& scores);
Tensor flash_by(const AttentionKernels& kernels, const Scores& scores);

}  // namespace locus::engine
