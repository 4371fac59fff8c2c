/* The plugin seam of our CUDA kernels: plain C, so that the plugin needs neither torch nor C++ of the same compiler.
 *
 * Attention with the terms of priors, forward and backward, without a tensor of T x T. For a sample b and a head h,
 * with products and sums over the terms of each role:
 *   A = scale q k'                 U = prod(scales) A + sum(biases)
 *   L = prod(sum scales) U         plus `hidden` where the regions of two tokens differ
 *   P = softmax(L)                 o = (prod(weights) P) v
 * Statistics and terms are float32 whatever the type. No call allocates or waits, so all may be captured in a graph;
 * sums run in an order that the shape alone gives, so equal calls give equal bits.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  LOCUS_KERNELS_ABI = 2,
  LOCUS_TERMS_MOST = 8,
  LOCUS_WIDTH_MOST = 128, /* of a head */
  LOCUS_CURVES_MOST = 15,
  LOCUS_SUMS_MOST = 16, /* numbers a token that forms other than low-rank and bucketed gather on one side */
  LOCUS_AXES_MOST = 3
};

/* The type of q, k, v, o and their gradients. TF32 is float32 in memory, its products are rounded to 10 bits. */
enum { LOCUS_FLOAT32 = 0, LOCUS_BFLOAT16 = 1, LOCUS_FLOAT16 = 2, LOCUS_TF32 = 3 };

/* What a term is to the algebra; terms stand in this order. */
enum { LOCUS_SCALE = 0, LOCUS_BIAS = 1, LOCUS_SUM_SCALE = 2, LOCUS_WEIGHT = 3 };

/* How the value for a pair (i, j) is made of a, b, c; `count` in parentheses. N = tokens - prefix; a pair with a token
 * of the prefix is 0 where rows are [N, ..]. Strides of heads and samples are 0 where one value serves all.
 *   DENSE           a [T, T]: itself
 *   LOW_RANK        a [T, r], b [T, r], c [T] or null (r): a_i . b_j + c_i
 *   RELATIVE_TABLE  a [R] (R): a[index(i, j)]
 *   BUCKETED        a [T, R] (R): a[i, index(i, j)], or by key a[j, index(j, i)]
 *   DISTANCE_DECAY  slope a, positions b [N, axes] (axes): -a |b_i - b_j|_2
 *   QUADRATIC       a [N, m], positions b [N, axes] (axes): with d = b_j - b_i the sum of a_i times d_0 d_0, d_0 d_1,
 *                   .., then d_0, d_1, ..
 *   GATED           a [N], positions b [N, axes] (axes): (a_i + a_j) |b_i - b_j|_1
 *   SCAN            a [N]: -|a_i - a_j|; causal: -infinity where j > i
 *   CURVE_DECAY     alpha a, rates b [C] with stride H (C): plus + a / C sum_c exp(-b_c |rank_i - rank_j|), a prefix's
 *                   exp being 1
 */
enum {
  LOCUS_DENSE = 0,
  LOCUS_LOW_RANK = 1,
  LOCUS_RELATIVE_TABLE = 2,
  LOCUS_BUCKETED = 3,
  LOCUS_DISTANCE_DECAY = 4,
  LOCUS_QUADRATIC = 5,
  LOCUS_GATED = 6,
  LOCUS_SCAN = 7,
  LOCUS_CURVE_DECAY = 8
};

typedef struct {
  const float* data;
  int64_t batch, head; /* strides in numbers */
} locus_values;

/* index(i, j): an entry of `dense` [T, T], or where there is none code_i - code_j + shift of two patches, looked up
 * in `map` if there is one, and three numbers for pairs with a token of the prefix. */
typedef struct {
  const int64_t* dense;
  const int32_t* code; /* [N]; of CURVE_DECAY the ranks [C, N] */
  const int32_t* map;
  int32_t shift, from_prefix, to_prefix, among_prefix;
} locus_pair_index;

/* Gradients are null where nobody wants them. What belongs to tokens is float32 [B, H, T, numbers], prefix included,
 * whatever the term shares (the caller adds up), once gathered over the queries' rows and once over the keys':
 * LOW_RANK a and b (numbers r; row_gradient [B, H, T] for c), BUCKETED a (by query or by key), QUADRATIC a (m,
 * queries alone), GATED and SCAN a (1, both), DISTANCE_DECAY b (axes, both). What belongs to none is in `gradient`:
 * DENSE [B|1, H, T, T], RELATIVE_TABLE [B|1, H, R] by the stride of samples, DISTANCE_DECAY's slope [H], CURVE_DECAY
 * [H, 1 + C], alpha in front. */
typedef struct {
  int32_t role, form, prefix, count;
  int32_t by_key, causal; /* BUCKETED; SCAN */
  float plus;             /* CURVE_DECAY */
  locus_values a, b, c;
  locus_pair_index index;
  float *query_gradient, *key_gradient, *row_gradient, *gradient;
} locus_term;

/* Rows of `width` neighboring numbers; strides in numbers. Addresses and strides are multiples of 16 bytes. */
typedef struct {
  void* data;
  int64_t batch, head, token;
} locus_rows;

typedef struct {
  int32_t type, terms;
  int32_t batch, heads, tokens, width; /* width: a multiple of 8, at most LOCUS_WIDTH_MOST */
  float scale, hidden;
  int32_t windows;      /* rows of `region`; sample b has row b mod windows */
  const int8_t* region; /* [windows, T] or null */
  locus_term term[LOCUS_TERMS_MOST];
  locus_rows q, k, v, o;
  locus_rows o_gradient, q_gradient, k_gradient, v_gradient; /* for backward */
  float* lse;       /* [B, H, T]: written by forward, read by backward; -infinity for a query that sees no key */
  float* delta;     /* [B, H, T]: of backward's own */
  float* workspace; /* of backward's own, as long as locus_attention_workspace says */
  void* stream;     /* cudaStream_t; the calls return before the work is done */
} locus_attention;

/* Null where the kernels take the problem, else why not, as a sentence; data are not looked at. `backward`: with the
 * gradients that it names. */
typedef const char* (*locus_attention_supports_fn)(const locus_attention*, int32_t backward);
/* Numbers of float32 that backward wants in `workspace`. */
typedef int64_t (*locus_attention_workspace_fn)(const locus_attention*);
/* Each returns a cudaError_t. */
typedef int (*locus_attention_forward_fn)(const locus_attention*);
typedef int (*locus_attention_backward_fn)(const locus_attention*);

typedef int32_t (*locus_kernels_abi_fn)(void);
typedef const char* (*locus_kernels_error_fn)(int code);

#ifdef __cplusplus
}
#endif
