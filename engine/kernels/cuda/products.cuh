// Matrix products of a warp, one class a type with the same three operations on blocks of 16 x 16, so that the
// kernels are written once. Include a device first.
//
// Accumulators lie as mma.sync has them, whatever multiplies: g = lane / 4, t = lane mod 4, and a Chunk [n][e] holds
// row g + 8 (e / 2), column 8 n + 2 t + e mod 2 of 16 x 16.
#pragma once

namespace locus::gpu {

using Chunk = float[2][4];

LOCUS_DEVICE void clear(Chunk& c) {
  LOCUS_UNROLL for (int n = 0; n < 2; ++n) {
    LOCUS_UNROLL for (int e = 0; e < 4; ++e) c[n][e] = 0;
  }
}

// bf16 and fp16 on tensor cores.
template <typename T>
struct HalfProducts {
  using Element = T;
  static constexpr bool kHeld = true;  // whether operands that stay may stay in registers
  static constexpr int kPad = 8;       // numbers behind a row of shared memory, so that ldmatrix meets no bank twice
  struct A {
    std::uint32_t r[4];
  };
  // a = tile[row .. + 16, k .. + 16]
  LOCUS_DEVICE static void load(A& a, Shared<T> tile, int stride, int row, int k) {
    ldmatrix(a.r, tile + ((row + lane() % 16) * stride + k + lane() / 16 * 8));
  }
  LOCUS_DEVICE static void from(A& a, const Chunk& c) {
    LOCUS_UNROLL for (int n = 0; n < 2; ++n) {
      a.r[2 * n] = pack<T>(c[n][0], c[n][1]);
      a.r[2 * n + 1] = pack<T>(c[n][2], c[n][3]);
    }
  }
  // c += a tile[n .. + 16, k .. + 16]'
  LOCUS_DEVICE static void rows(Chunk& c, const A& a, Shared<T> tile, int stride, int n, int k) {
    std::uint32_t b[4];
    ldmatrix(b, tile + ((n + lane() % 8 + lane() / 16 * 8) * stride + k + lane() / 8 % 2 * 8));
    mma_16816<T>(c[0], a.r, b[0], b[1]);
    mma_16816<T>(c[1], a.r, b[2], b[3]);
  }
  // c += a tile[k .. + 16, n .. + 16]
  LOCUS_DEVICE static void columns(Chunk& c, const A& a, Shared<T> tile, int stride, int k, int n) {
    std::uint32_t b[4];
    ldmatrix_transposed(b, tile + ((k + lane() % 16) * stride + n + lane() / 16 * 8));
    mma_16816<T>(c[0], a.r, b[0], b[1]);
    mma_16816<T>(c[1], a.r, b[2], b[3]);
  }
};

// float32 rounded to tf32 on tensor cores. An accumulator's columns 2 t and 2 t + 1 are not an operand's t and t + 4:
// from() permutes k by (0, 2, 4, 6, 1, 3, 5, 7), and columns() reads its rows in that order.
struct Tf32Products {
  using Element = float;
  static constexpr bool kHeld = true;
  static constexpr int kPad = 4;
  struct A {
    std::uint32_t r[8];
  };
  LOCUS_DEVICE static void load(A& a, Shared<float> tile, int stride, int row, int k) {
    LOCUS_UNROLL for (int half = 0; half < 2; ++half) {
      std::uint32_t raw[4];
      ldmatrix(raw, tile + ((row + lane() % 16) * stride + k + half * 8 + lane() / 16 * 4));
      LOCUS_UNROLL for (int i = 0; i < 4; ++i) a.r[half * 4 + i] = to_tf32(as_float(raw[i]));
    }
  }
  LOCUS_DEVICE static void from(A& a, const Chunk& c) {
    LOCUS_UNROLL for (int n = 0; n < 2; ++n) {
      a.r[4 * n] = to_tf32(c[n][0]);
      a.r[4 * n + 1] = to_tf32(c[n][2]);
      a.r[4 * n + 2] = to_tf32(c[n][1]);
      a.r[4 * n + 3] = to_tf32(c[n][3]);
    }
  }
  LOCUS_DEVICE static void rows(Chunk& c, const A& a, Shared<float> tile, int stride, int n, int k) {
    LOCUS_UNROLL for (int half = 0; half < 2; ++half) {
      std::uint32_t b[4];
      ldmatrix(b, tile + ((n + lane() % 8 + lane() / 16 * 8) * stride + k + half * 8 + lane() / 8 % 2 * 4));
      LOCUS_UNROLL for (int i = 0; i < 4; ++i) b[i] = to_tf32(as_float(b[i]));
      mma_1688_tf32(c[0], a.r + half * 4, b[0], b[1]);
      mma_1688_tf32(c[1], a.r + half * 4, b[2], b[3]);
    }
  }
  LOCUS_DEVICE static void columns(Chunk& c, const A& a, Shared<float> tile, int stride, int k, int n) {
    const int g = lane() / 4, t = lane() % 4;
    LOCUS_UNROLL for (int half = 0; half < 2; ++half) {
      LOCUS_UNROLL for (int m = 0; m < 2; ++m) {
        const int at = (k + half * 8 + 2 * t) * stride + n + m * 8 + g;
        mma_1688_tf32(c[m], a.r + half * 4, to_tf32(tile[at]), to_tf32(tile[at + stride]));
      }
    }
  }
};

// float32 without tensor cores: every product in full precision.
struct FloatProducts {
  using Element = float;
  static constexpr bool kHeld = false;  // an operand takes 16 numbers of each of the thread's two rows
  static constexpr int kPad = 4;
  struct A {
    float r[2][16];
  };
  LOCUS_DEVICE static void load(A& a, Shared<float> tile, int stride, int row, int k) {
    LOCUS_UNROLL for (int half = 0; half < 2; ++half) {
      LOCUS_UNROLL for (int i = 0; i < 16; i += 4) {
        float four[4];
        load4(four, tile + ((row + half * 8 + lane() / 4) * stride + k + i));
        LOCUS_UNROLL for (int e = 0; e < 4; ++e) a.r[half][i + e] = four[e];
      }
    }
  }
  LOCUS_DEVICE static void from(A& a, const Chunk& c) {
    LOCUS_UNROLL for (int k = 0; k < 16; ++k) {
      const int owner = lane() / 4 * 4 + k % 8 / 2;
      LOCUS_UNROLL for (int half = 0; half < 2; ++half) a.r[half][k] = shuffle(c[k / 8][half * 2 + k % 2], owner);
    }
  }
  LOCUS_DEVICE static void rows(Chunk& c, const A& a, Shared<float> tile, int stride, int n, int k) {
    LOCUS_UNROLL for (int m = 0; m < 2; ++m) {
      LOCUS_UNROLL for (int e = 0; e < 2; ++e) {
        LOCUS_UNROLL for (int i = 0; i < 16; i += 4) {
          float b[4];
          load4(b, tile + ((n + m * 8 + lane() % 4 * 2 + e) * stride + k + i));
          LOCUS_UNROLL for (int x = 0; x < 4; ++x) {
            c[m][e] += a.r[0][i + x] * b[x];
            c[m][2 + e] += a.r[1][i + x] * b[x];
          }
        }
      }
    }
  }
  LOCUS_DEVICE static void columns(Chunk& c, const A& a, Shared<float> tile, int stride, int k, int n) {
    LOCUS_UNROLL for (int i = 0; i < 16; ++i) {
      LOCUS_UNROLL for (int m = 0; m < 2; ++m) {
        LOCUS_UNROLL for (int e = 0; e < 2; ++e) {
          const float b = tile[(k + i) * stride + n + m * 8 + lane() % 4 * 2 + e];
          c[m][e] += a.r[0][i] * b;
          c[m][2 + e] += a.r[1][i] * b;
        }
      }
    }
  }
};

}  // namespace locus::gpu
