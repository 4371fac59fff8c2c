// Rows in memory as the products want them, and back.
#pragma once

#include "engine/cpu/attention.h"
#include "engine/cpu/product.h"

namespace locus::cpu::LOCUS_CPU_TARGET {

// Hands out parts of a block of memory, aligned for vectors; without a block it only counts.
class Space {
 public:
  explicit Space(void* bytes) : base_(static_cast<char*>(bytes)) {}

  template <typename Real>
  Real* take(std::int64_t count) {
    char* const at = base_ == nullptr ? nullptr : base_ + used_;
    used_ += (static_cast<std::size_t>(count) * sizeof(Real) + 127) / 64 * 64;  // a vector may be read past the end
    return reinterpret_cast<Real*>(at);
  }
  std::size_t used() const { return used_; }

 private:
  char* base_;
  std::size_t used_ = 0;
};

constexpr std::int64_t round_up(std::int64_t count, std::int64_t to) { return (count + to - 1) / to * to; }

template <typename Real>
LOCUS_INLINE std::int64_t padded(std::int64_t count) {
  return round_up(count, kLanes<Real>);
}

// How far rows of a tile are apart: an odd number of lines of the cache, so that a column does not fall on one set of it.
template <typename Real>
LOCUS_INLINE std::int64_t row_size(std::int64_t tokens) {
  constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(Real));
  const std::int64_t lines = round_up(tokens, kLine) / kLine;
  return (lines + (lines + 1) % 2) * kLine;
}

template <typename Real>
LOCUS_INLINE void fill(Real* to, std::int64_t count, Real value) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = value;
}

template <typename Real>
inline constexpr Element kElement = sizeof(Real) == 4 ? Element::kFloat32 : Element::kFloat64;

LOCUS_INLINE float widened(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float out;
  __builtin_memcpy(&out, &wide, sizeof out);
  return out;
}

// To the nearest, ties to even; NaN stays NaN.
LOCUS_INLINE std::uint16_t narrowed(float value) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  if (value != value) return 0x7FC0;
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

// The matrix of a sample and head: where it lies, and how far rows are apart.
template <typename Number>
LOCUS_INLINE Number* matrix(const Rows& rows, std::int64_t b, std::int64_t h) {
  return static_cast<Number*>(rows.data) + b * rows.batch + h * rows.head;
}

template <typename Real, typename Number, typename Convert>
LOCUS_INLINE void copy_in(const Number* from, std::int64_t stride, std::int64_t count, std::int64_t width, Real* to,
                          Convert convert) {
  const std::int64_t wide = padded<Real>(width);
  for (std::int64_t t = 0; t < count; ++t) {
    for (std::int64_t d = 0; d < width; ++d) to[t * wide + d] = convert(from[t * stride + d]);
    for (std::int64_t d = width; d < wide; ++d) to[t * wide + d] = 0;
  }
}

// Rows of Real with whole vectors: in place where they lie so, otherwise copied to `room` [count, padded width].
template <typename Real>
struct View {
  const Real* data;
  std::int64_t row;
};
template <typename Real>
View<Real> view_rows(const Rows& rows, std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t count,
                     std::int64_t width, Real* room) {
  const std::int64_t skip = first * rows.token;
  if (rows.type == kElement<Real>) {
    const Real* from = matrix<const Real>(rows, b, h) + skip;
    if (width % kLanes<Real> == 0) return {from, rows.token};
    copy_in<Real>(from, rows.token, count, width, room, [](Real x) { return x; });
  } else if (rows.type == Element::kBFloat16) {
    copy_in<Real>(matrix<const std::uint16_t>(rows, b, h) + skip, rows.token, count, width, room,
                  [](std::uint16_t x) { return static_cast<Real>(widened(x)); });
  } else if (rows.type == Element::kFloat32) {
    copy_in<Real>(matrix<const float>(rows, b, h) + skip, rows.token, count, width, room,
                  [](float x) { return static_cast<Real>(x); });
  } else {
    copy_in<Real>(matrix<const double>(rows, b, h) + skip, rows.token, count, width, room,
                  [](double x) { return static_cast<Real>(x); });
  }
  return {room, padded<Real>(width)};
}

// Row i of `from` [count, padded width] times factor[i] (1 without factors) into the type of `rows`.
template <typename Real>
void write_rows(const Real* from, const Real* factor, const Rows& rows, std::int64_t b, std::int64_t h,
                std::int64_t first, std::int64_t count, std::int64_t width) {
  const std::int64_t wide = padded<Real>(width), skip = first * rows.token;
  const auto put = [&](auto* to, auto convert) __attribute__((always_inline)) {
    for (std::int64_t t = 0; t < count; ++t) {
      const Real by = factor == nullptr ? 1 : factor[t];
      for (std::int64_t d = 0; d < width; ++d) to[skip + t * rows.token + d] = convert(from[t * wide + d] * by);
    }
  };
  if (rows.type == Element::kFloat32) put(matrix<float>(rows, b, h), [](Real x) { return static_cast<float>(x); });
  if (rows.type == Element::kFloat64) put(matrix<double>(rows, b, h), [](Real x) { return static_cast<double>(x); });
  if (rows.type == Element::kBFloat16) {
    put(matrix<std::uint16_t>(rows, b, h), [](Real x) { return narrowed(static_cast<float>(x)); });
  }
}

template <typename Real, int kStep, Integer<Real>... kLane>
LOCUS_INLINE void exchange(Vector<Real>& low, Vector<Real>& high, std::integer_sequence<Integer<Real>, kLane...>) {
  constexpr Integer<Real> kWide = kLanes<Real>;
  const Vector<Real> first =
      __builtin_shufflevector(low, high, ((kLane & kStep) != 0 ? kWide + kLane - kStep : kLane)...);
  const Vector<Real> second =
      __builtin_shufflevector(low, high, ((kLane & kStep) != 0 ? kWide + kLane : kLane + kStep)...);
  low = first, high = second;
}

template <typename Real, int kStep>
LOCUS_INLINE void exchange_all(Vector<Real>* rows) {
  constexpr int kWide = static_cast<int>(kLanes<Real>);
#pragma GCC unroll 16
  for (int i = 0; i < kWide; ++i) {
    if ((i & kStep) == 0)
      exchange<Real, kStep>(rows[i], rows[i + kStep], std::make_integer_sequence<Integer<Real>, kWide>());
  }
}

// Blocks of squares change places across the diagonal, 1 wide, then 2, 4, ..
template <typename Real>
LOCUS_INLINE void transpose(Vector<Real>* rows) {
  exchange_all<Real, 1>(rows);
  if constexpr (kLanes < Real >> 2) exchange_all<Real, 2>(rows);
  if constexpr (kLanes < Real >> 4) exchange_all<Real, 4>(rows);
  if constexpr (kLanes < Real >> 8) exchange_all<Real, 8>(rows);
}

// Rows as panels of kPanel columns each, so that a product reads B from end to end.
template <typename Real>
void pack_rows(View<Real> from, std::int64_t count, std::int64_t width, Real* to) {
  for (std::int64_t c = 0; c < width; c += kPanel<Real>) {
    const std::int64_t columns = width - c < kPanel<Real> ? width - c : kPanel<Real>;
    Real* panel = to + c * count;
    for (std::int64_t t = 0; t < count; ++t) {
      for (std::int64_t d = 0; d < columns; d += kLanes<Real>)
        store<Real>(panel + t * kPanel<Real> + d, load<Real>(from.data + t * from.row + c + d));
    }
  }
}

// Elements of the panels that pack_panels() makes of rows.
template <typename Real>
LOCUS_INLINE std::int64_t panels_size(std::int64_t count, std::int64_t width) {
  return round_up(count, kPanel<Real>) * padded<Real>(width);
}

// The transpose of `count` rows as panels of kPanel columns: entry (k, j) of panel p is row p kPanel + j, column k; 0 where
// there is no such row. `width` is of whole vectors.
template <typename Real>
void pack_panels(View<Real> from, std::int64_t count, std::int64_t width, Real* to) {
  constexpr std::int64_t kWide = kLanes<Real>;
  for (std::int64_t j = 0; j < count; j += kWide) {
    Real* panel = to + j / kPanel<Real> * kPanel<Real> * width + j % kPanel<Real>;
    for (std::int64_t k = 0; k < width; k += kWide) {
      Vector<Real> rows[kWide];
      if (j + kWide <= count) {
        for (std::int64_t r = 0; r < kWide; ++r) rows[r] = load<Real>(from.data + (j + r) * from.row + k);
      } else {
        for (std::int64_t r = 0; r < kWide; ++r)
          rows[r] = j + r < count ? load<Real>(from.data + (j + r) * from.row + k) : Vector<Real>{};
      }
      transpose<Real>(rows);
      for (std::int64_t r = 0; r < kWide; ++r) store<Real>(panel + (k + r) * kPanel<Real>, rows[r]);
    }
  }
}

}  // namespace locus::cpu::LOCUS_CPU_TARGET
