// Curve decay on the GPU: see engine/kernels/curve_decay_abi.h for the mathematics.
//
// A thread owns one entry (i, j) of one head for a run of images, so the C exponentials are paid once a run,
// not once an image; neighboring threads own neighboring j, so reads and writes of [B, H, T, T] coalesce.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "engine/kernels/curve_decay_abi.h"

namespace {

constexpr int kThreads = 256;
constexpr int64_t kImagesPerRun = 16;  // enough to hide the exponentials, few enough to fill the device at batch 32
constexpr int kColumns = LOCUS_CURVES_MOST + 1;  // workspace row: alpha, then one column a curve

template <typename T>
__device__ float load(const T* p, int64_t i) {
  return static_cast<float>(p[i]);
}
template <typename T>
__device__ void store(T* p, int64_t i, float v) {
  p[i] = static_cast<T>(v);
}

struct Entry {
  bool patches;                    // both tokens are patches; otherwise M = 1
  float mask;                      // M[i, j]
  float slope[LOCUS_CURVES_MOST];  // E_c exp(-rate_c E_c)
};

__device__ Entry entry_of(const locus_curve_decay& p, int64_t head, int64_t position) {
  Entry e;
  const int64_t i = position / p.tokens - p.prefix, j = position % p.tokens - p.prefix, n = p.tokens - p.prefix;
  e.patches = i >= 0 && j >= 0;
  e.mask = e.patches ? 0.f : 1.f;
  if (!e.patches) return e;
  for (int c = 0; c < p.curves; ++c) {
    const float distance = fabsf(static_cast<float>(p.ranks[c * n + i] - p.ranks[c * n + j]));
    const float decay = __expf(-p.rate[c * p.heads + head] * distance);
    e.mask += decay;
    e.slope[c] = distance * decay;
  }
  e.mask /= static_cast<float>(p.curves);
  return e;
}

template <typename T>
__global__ void forward(locus_curve_decay p, const T* __restrict__ logits, T* out) {
  const int64_t square = p.tokens * p.tokens;
  const int64_t position = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (position >= square) return;
  const int64_t head = blockIdx.y, first = blockIdx.z * kImagesPerRun;
  const int64_t last = min(first + kImagesPerRun, p.batch);
  const float factor = p.alpha[head] * entry_of(p, head, position).mask;
  for (int64_t b = first; b < last; ++b) {
    const int64_t at = (b * p.heads + head) * square + position;
    store(out, at, factor * load(logits, at));
  }
}

// Sum over the block in a fixed order; the result is valid in thread 0.
__device__ float block_sum(float value, float* shared) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
  __syncthreads();  // the previous sum's readers are done
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0.f;
  if (threadIdx.x == 0) {
    for (int w = 0; w < kThreads / 32; ++w) sum += shared[w];
  }
  return sum;
}

template <typename T>
__global__ void backward(locus_curve_decay p, const T* __restrict__ logits, const T* grad, T* grad_logits,
                         float* workspace) {
  __shared__ float shared[kThreads / 32];
  const int64_t square = p.tokens * p.tokens;
  const int64_t position = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t head = blockIdx.y, first = blockIdx.z * kImagesPerRun;
  const int64_t last = min(first + kImagesPerRun, p.batch);
  const bool inside = position < square;
  Entry e{};
  float product = 0.f;  // sum over images of G * A
  if (inside) {
    e = entry_of(p, head, position);
    const float factor = p.alpha[head] * e.mask;
    for (int64_t b = first; b < last; ++b) {
      const int64_t at = (b * p.heads + head) * square + position;
      const float g = load(grad, at);
      product += g * load(logits, at);
      store(grad_logits, at, factor * g);
    }
  }
  float* row = workspace + ((blockIdx.z * gridDim.x + blockIdx.x) * p.heads + head) * kColumns;
  const float sum = block_sum(inside ? product * e.mask : 0.f, shared);
  if (threadIdx.x == 0) row[0] = sum;
  for (int c = 0; c < p.curves; ++c) {
    const float slope = block_sum(e.patches && inside ? product * e.slope[c] : 0.f, shared);
    if (threadIdx.x == 0) row[1 + c] = slope;
  }
}

// One block a head: adds the rows of the workspace.
__global__ void reduce(locus_curve_decay p, int64_t rows, const float* workspace, float* grad_alpha, float* grad_rate) {
  __shared__ float shared[kThreads / 32];
  const int64_t head = blockIdx.x;
  for (int column = 0; column <= p.curves; ++column) {
    float value = 0.f;
    for (int64_t r = threadIdx.x; r < rows; r += kThreads) value += workspace[(r * p.heads + head) * kColumns + column];
    const float sum = block_sum(value, shared);
    if (threadIdx.x != 0) continue;
    if (column == 0)
      grad_alpha[head] = sum;
    else
      grad_rate[(column - 1) * p.heads + head] = -p.alpha[head] / static_cast<float>(p.curves) * sum;
  }
}

dim3 grid_of(const locus_curve_decay& p) {
  return dim3(static_cast<unsigned>((p.tokens * p.tokens + kThreads - 1) / kThreads), static_cast<unsigned>(p.heads),
              static_cast<unsigned>((p.batch + kImagesPerRun - 1) / kImagesPerRun));
}

bool sound(const locus_curve_decay* p) {
  return p && p->curves >= 1 && p->curves <= LOCUS_CURVES_MOST && p->batch > 0 && p->heads > 0 && p->heads <= 65535 &&
         p->prefix >= 0 && p->tokens > p->prefix && (p->batch + kImagesPerRun - 1) / kImagesPerRun <= 65535;
}

template <typename T>
int run_forward(const locus_curve_decay& p, const void* logits, void* out) {
  forward<T><<<grid_of(p), kThreads, 0, static_cast<cudaStream_t>(p.stream)>>>(p, static_cast<const T*>(logits),
                                                                               static_cast<T*>(out));
  return cudaGetLastError();
}

template <typename T>
int run_backward(const locus_curve_decay& p, const void* logits, const void* grad, void* grad_logits, float* grad_alpha,
                 float* grad_rate, float* workspace) {
  const dim3 grid = grid_of(p);
  const auto stream = static_cast<cudaStream_t>(p.stream);
  backward<T><<<grid, kThreads, 0, stream>>>(p, static_cast<const T*>(logits), static_cast<const T*>(grad),
                                             static_cast<T*>(grad_logits), workspace);
  reduce<<<static_cast<unsigned>(p.heads), kThreads, 0, stream>>>(p, static_cast<int64_t>(grid.x) * grid.z, workspace,
                                                                  grad_alpha, grad_rate);
  return cudaGetLastError();
}

}  // namespace

extern "C" {

int32_t locus_kernels_abi(void) { return LOCUS_KERNELS_ABI; }

const char* locus_kernels_error(int code) { return cudaGetErrorString(static_cast<cudaError_t>(code)); }

int64_t locus_curve_decay_workspace(const locus_curve_decay* p) {
  if (!sound(p)) return 0;
  const dim3 grid = grid_of(*p);
  return static_cast<int64_t>(grid.x) * grid.z * p->heads * kColumns * static_cast<int64_t>(sizeof(float));
}

int locus_curve_decay_forward(const locus_curve_decay* p, const void* logits, void* out) {
  if (!sound(p)) return cudaErrorInvalidValue;
  switch (p->dtype) {
    case LOCUS_FLOAT32:
      return run_forward<float>(*p, logits, out);
    case LOCUS_BFLOAT16:
      return run_forward<__nv_bfloat16>(*p, logits, out);
    case LOCUS_FLOAT16:
      return run_forward<__half>(*p, logits, out);
    default:
      return cudaErrorInvalidValue;
  }
}

int locus_curve_decay_backward(const locus_curve_decay* p, const void* logits, const void* grad, void* grad_logits,
                               float* grad_alpha, float* grad_rate, void* workspace) {
  if (!sound(p)) return cudaErrorInvalidValue;
  auto* space = static_cast<float*>(workspace);
  switch (p->dtype) {
    case LOCUS_FLOAT32:
      return run_backward<float>(*p, logits, grad, grad_logits, grad_alpha, grad_rate, space);
    case LOCUS_BFLOAT16:
      return run_backward<__nv_bfloat16>(*p, logits, grad, grad_logits, grad_alpha, grad_rate, space);
    case LOCUS_FLOAT16:
      return run_backward<__half>(*p, logits, grad, grad_logits, grad_alpha, grad_rate, space);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // extern "C"
