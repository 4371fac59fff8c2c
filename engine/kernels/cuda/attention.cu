// The plugin's calls: engine/kernels/attention_abi.h.
#include "engine/kernels/cuda/launch.cuh"

namespace {

using Call = int (*)(const locus_attention&);

// One of a call's four, by the type.
int by_type(const locus_attention* p, Call float32, Call bf16, Call fp16, Call tf32) {
  switch (p->type) {
    case LOCUS_FLOAT32:
      return float32(*p);
    case LOCUS_BFLOAT16:
      return bf16(*p);
    case LOCUS_FLOAT16:
      return fp16(*p);
    case LOCUS_TF32:
      return tf32(*p);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace

extern "C" {

int32_t locus_kernels_abi(void) { return LOCUS_KERNELS_ABI; }

const char* locus_kernels_error(int code) { return cudaGetErrorString(static_cast<cudaError_t>(code)); }

const char* locus_attention_supports(const locus_attention* p, int32_t backward) {
  return locus::gpu::refusal(*p, backward != 0);
}

int64_t locus_attention_workspace(const locus_attention* p) { return locus::gpu::workspace_of(*p); }

int locus_attention_forward(const locus_attention* p) {
  using namespace locus::gpu;
  if (refusal(*p, false) != nullptr) return cudaErrorInvalidValue;
  return by_type(p, forward_float, forward_bf16, forward_fp16, forward_tf32);
}

int locus_attention_backward(const locus_attention* p) {
  using namespace locus::gpu;
  if (refusal(*p, true) != nullptr) return cudaErrorInvalidValue;
  if (const int failed = by_type(p, backward_float, backward_bf16, backward_fp16, backward_tf32)) return failed;
  return by_type(p, parameters_float, parameters_bf16, parameters_fp16, parameters_tf32);
}

}  // extern "C"
