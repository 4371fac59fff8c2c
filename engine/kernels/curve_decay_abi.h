/* The plugin seam of our CUDA kernels: plain C, so that the plugin needs neither torch nor C++ of the same
 * compiler.
 *
 * Curve decay multiplies scaled attention logits A [B, H, T, T] by alpha_h * M_h, where for patches i, j
 *   M_h[i, j] = 1/C * sum_c exp(-rate[c, h] * |ranks[c, i] - ranks[c, j]|),   rate = -ln lambda =
 * softplus(-a)   (Violin, section 3.4) and M = 1 on rows and columns of prefix tokens. M is never stored:
 * each thread computes its entries from the rank vectors.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LOCUS_KERNELS_ABI = 1, LOCUS_CURVES_MOST = 16 };
enum { LOCUS_FLOAT32 = 0, LOCUS_BFLOAT16 = 1, LOCUS_FLOAT16 = 2 };

typedef struct {
  int32_t dtype;                        /* of the logits and their gradients */
  int32_t curves;                       /* C, 1 .. LOCUS_CURVES_MOST */
  int64_t batch, heads, tokens, prefix; /* T = prefix + N */
  const int32_t* ranks;                 /* [C, N] */
  const float* rate;                    /* [C, H] */
  const float* alpha;                   /* [H] */
  void* stream;                         /* cudaStream_t; the calls return before the work is done */
} locus_curve_decay;

/* out = alpha * M * logits. `out` may be `logits`. Contiguous. Returns a cudaError_t. */
typedef int (*locus_curve_decay_forward_fn)(const locus_curve_decay*, const void* logits, void* out);

/* Bytes of device memory backward needs as workspace. */
typedef int64_t (*locus_curve_decay_workspace_fn)(const locus_curve_decay*);

/* From logits A and the gradient G of the output: grad_logits = alpha * M * G (may be `grad`),
 * grad_alpha[h] = sum G M A, grad_rate[c, h] = -alpha/C * sum G A E_c exp(-rate E_c). Sums run in a fixed
 * order. */
typedef int (*locus_curve_decay_backward_fn)(const locus_curve_decay*, const void* logits, const void* grad,
                                             void* grad_logits, float* grad_alpha, float* grad_rate, void* workspace);

typedef int32_t (*locus_kernels_abi_fn)(void);
typedef const char* (*locus_kernels_error_fn)(int code);

#ifdef __cplusplus
}
#endif
