// Products of whole matrices, of float32 or of bfloat16, as plain data. Those of bfloat16 go by matrix tiles or dot products of
// bfloat16 where the processor has them, else by operands that are widened on the way, which gives the same up to the order of
// sums. No torch here.
#pragma once

#include <cstdint>

namespace locus::cpu {

// Element (i, j) at data[i * row + j], or where it lies turned at data[j * row + i]. Number: float, or std::uint16_t for the
// bits of bfloat16.
template <typename Number>
struct Matrix {
  const Number* data = nullptr;
  std::int64_t row = 0;
  bool turned = false;
};

// Results and every sum are float32. Sums run in an order that depends on how much is summed alone, so that the rest may be
// divided in any way. Stateless; `room`: floats, of the call alone.
template <typename Number>
struct Products {
  // C = A B: A [rows, depth], `a_row` numbers apart, B [depth, columns], C with rows one after another. B is read in an order
  // of its own: floats of room for it, its panels of columns, and some of these packed. Parts may be packed at the same time.
  std::int64_t (*packed_size)(std::int64_t depth, std::int64_t columns);
  std::int64_t (*panels)(std::int64_t columns);
  void (*pack)(const Matrix<Number>& b, std::int64_t depth, std::int64_t columns, std::int64_t first_panel,
               std::int64_t last_panel, float* packed);
  std::int64_t (*room_size)(std::int64_t a_row);
  void (*multiply)(const Number* a, std::int64_t a_row, std::int64_t rows, const float* packed, std::int64_t depth,
                   std::int64_t columns, float* c, float* room);

  // C = the sum over rows t in [first, last) of the outer products of A's row, `a_row` numbers, and B's, `columns`: rows
  // [first_row, last_row) of C, each of a number of A's rows, to `c`, one after another.
  std::int64_t (*outer_room_size)(std::int64_t columns);
  void (*sum_outer)(const Number* a, std::int64_t a_row, const Number* b, std::int64_t columns, std::int64_t first_row,
                    std::int64_t last_row, std::int64_t first, std::int64_t last, float* c, float* room);
};

template <typename Number>
const Products<Number>& products();  // for the processor at hand

}  // namespace locus::cpu
