// The depth-wise convolutions of kernels.h, for the instruction set that the including file is compiled for (kernels_body.h).
#pragma once

#include "engine/fused/pieces_body.h"

namespace locus::engine::fused {
namespace {

template <typename T>
struct Convolutions : Pieces<T> {
  using P = Pieces<T>;
  using P::add_to, P::kLanes, P::load, P::pieces, P::store;
  using typename P::V;

  // f(t, q) for the taps of pixel (r, c) that lie on the image, q the pixel they read.
  template <typename F>
  static void taps(std::int64_t r, std::int64_t c, std::int64_t rows, std::int64_t columns, std::int64_t side,
                   const F& f) {
    const std::int64_t half = side / 2;
    for (std::int64_t a = 0; a < side; ++a) {
      const std::int64_t row = r + a - half;
      if (row < 0 || row >= rows) continue;
      for (std::int64_t b = 0; b < side; ++b) {
        const std::int64_t column = c + b - half;
        if (column >= 0 && column < columns) f(a * side + b, row * columns + column);
      }
    }
  }

  // Channels at a time whose weights stay in the first cache.
  static constexpr std::int64_t kChannels = 16 * kLanes;

  // body(first, wide) for blocks of channels, and there for the pixels.
  template <typename F>
  static void blocks_of_pixels(std::int64_t rows, std::int64_t columns, std::int64_t width, const F& body) {
    for (std::int64_t first = 0; first < width; first += kChannels) {
      const std::int64_t wide = width - first < kChannels ? width - first : kChannels;
      for (std::int64_t p = 0; p < rows * columns; ++p) body(first, wide, p);
    }
  }

  // Rows of the image that the taps of a row of pixels read, from channel i on; of those beyond the border zeros, again and again.
  template <int kSide>
  struct TapRows {
    TapRows(const T* x, std::int64_t r, std::int64_t rows, std::int64_t columns, std::int64_t width, std::int64_t i) {
      for (int a = 0; a < kSide; ++a) {
        const std::int64_t row = r + a - kSide / 2;
        const bool inside = row >= 0 && row < rows;
        from[a] = inside ? x + row * columns * width + i : kZeros;
        step[a] = inside ? width : 0;
      }
    }
    V at(int a, std::int64_t column, std::int64_t n) const { return load(from[a] + column * step[a], n); }
    static constexpr T kZeros[kLanes] = {};
    const T* from[kSide];
    std::int64_t step[kSide];
  };

  // A vector of channels at a time. Every column of pixels is read once, and added to the kSide results that it counts for.
  template <int kSide>
  static void convolve_by(const T* x, const T* w, const T* bias, T* y, std::int64_t rows, std::int64_t columns,
                          std::int64_t width) {
    constexpr int kHalf = kSide / 2;
    pieces(width, [&](std::int64_t i, std::int64_t n) {
      V taps[kSide * kSide];
      for (int t = 0; t < kSide * kSide; ++t) taps[t] = load(w + t * width + i, n);
      const V start = bias != nullptr ? load(bias + i, n) : V(T{0});
      for (std::int64_t r = 0; r < rows; ++r) {
        const TapRows<kSide> in(x, r, rows, columns, width, i);
        V sums[kSide];  // of columns q - kHalf to q + kHalf
#pragma GCC unroll 8
        for (int k = 0; k < kSide; ++k) sums[k] = start;
        for (std::int64_t q = 0; q < columns + kHalf; ++q) {
          if (q < columns) {
            const std::int64_t next =
                (r * columns + q) * width + i + kLanes;  // pixels lie too far apart to be foreseen
            __builtin_prefetch(x + next);
            __builtin_prefetch(y + next, 1);
#pragma GCC unroll 8
            for (int a = 0; a < kSide; ++a) {
              const V pixel = in.at(a, q, n);
#pragma GCC unroll 8
              for (int b = 0; b < kSide; ++b)
                sums[kSide - 1 - b] = at::vec::fmadd(taps[a * kSide + b], pixel, sums[kSide - 1 - b]);
            }
          }
          if (q >= kHalf) store(sums[0], y + (r * columns + q - kHalf) * width + i, n);
#pragma GCC unroll 8
          for (int k = 0; k + 1 < kSide; ++k) sums[k] = sums[k + 1];
          sums[kSide - 1] = start;
        }
      }
    });
  }

  // Likewise, with the sums of all taps at hand.
  template <int kSide>
  static void convolve_backward_by(const T* x, const T* dy, T* w_sum, T* b_sum, std::int64_t rows, std::int64_t columns,
                                   std::int64_t width) {
    constexpr int kHalf = kSide / 2;
    pieces(width, [&](std::int64_t i, std::int64_t n) {
      V sums[kSide * kSide], total(T{0});
#pragma GCC unroll 64
      for (int t = 0; t < kSide * kSide; ++t) sums[t] = V(T{0});
      for (std::int64_t r = 0; r < rows; ++r) {
        const TapRows<kSide> in(x, r, rows, columns, width, i);
        V near[kSide];  // gradients of columns q - kHalf to q + kHalf
        const auto gradient = [&](std::int64_t c) {
          return c < columns ? load(dy + (r * columns + c) * width + i, n) : V(T{0});
        };
#pragma GCC unroll 8
        for (int k = 0; k < kSide; ++k) near[k] = k > kHalf ? gradient(k - kHalf - 1) : V(T{0});
        for (std::int64_t q = 0; q < columns; ++q) {
          const std::int64_t next = (r * columns + q) * width + i + kLanes;
          __builtin_prefetch(x + next);
          __builtin_prefetch(dy + next);
#pragma GCC unroll 8
          for (int k = 0; k + 1 < kSide; ++k) near[k] = near[k + 1];
          near[kSide - 1] = gradient(q + kHalf);
          total = total + near[kHalf];
#pragma GCC unroll 8
          for (int a = 0; a < kSide; ++a) {
            const V pixel = in.at(a, q, n);
#pragma GCC unroll 8
            for (int b = 0; b < kSide; ++b)
              sums[a * kSide + b] = at::vec::fmadd(near[kSide - 1 - b], pixel, sums[a * kSide + b]);
          }
        }
      }
#pragma GCC unroll 64
      for (int t = 0; t < kSide * kSide; ++t) add_to(w_sum + t * width + i, sums[t], n);
      if (b_sum != nullptr) add_to(b_sum + i, total, n);
    });
  }

  // Of the sides that papers use; their sums fit registers. Others go tap by tap.
  static void convolve(const T* x, const T* w, const T* bias, T* y, std::int64_t rows, std::int64_t columns,
                       std::int64_t side, std::int64_t width) {
    if (side == 3) return convolve_by<3>(x, w, bias, y, rows, columns, width);
    if (side == 5) return convolve_by<5>(x, w, bias, y, rows, columns, width);
    blocks_of_pixels(rows, columns, width, [&](std::int64_t first, std::int64_t wide, std::int64_t p) {
      pieces(wide, [&](std::int64_t i, std::int64_t n) {
        const std::int64_t at = first + i;
        V sum = bias != nullptr ? load(bias + at, n) : V(T{0});
        taps(p / columns, p % columns, rows, columns, side, [&](std::int64_t t, std::int64_t q) {
          sum = at::vec::fmadd(load(w + t * width + at, n), load(x + q * width + at, n), sum);
        });
        store(sum, y + p * width + at, n);
      });
    });
  }

  static void convolve_backward(const T* x, const T* dy, T* w_sum, T* b_sum, std::int64_t rows, std::int64_t columns,
                                std::int64_t side, std::int64_t width) {
    if (side == 3) return convolve_backward_by<3>(x, dy, w_sum, b_sum, rows, columns, width);
    if (side == 5) return convolve_backward_by<5>(x, dy, w_sum, b_sum, rows, columns, width);
    blocks_of_pixels(rows, columns, width, [&](std::int64_t first, std::int64_t wide, std::int64_t p) {
      const T* const d = dy + p * width + first;
      taps(p / columns, p % columns, rows, columns, side, [&](std::int64_t t, std::int64_t q) {
        T* const to = w_sum + t * width + first;
        const T* const from = x + q * width + first;
        pieces(wide, [&](std::int64_t i, std::int64_t n) {
          store(at::vec::fmadd(load(d + i, n), load(from + i, n), load(to + i, n)), to + i, n);
        });
      });
      if (b_sum != nullptr)
        pieces(wide, [&](std::int64_t i, std::int64_t n) { add_to(b_sum + first + i, load(d + i, n), n); });
    });
  }
};

}  // namespace
}  // namespace locus::engine::fused
