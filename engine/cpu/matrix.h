// Products of whole matrices of bfloat16, as plain data: by dot products of bfloat16 where the processor has them, else of
// operands that are widened on the way, which gives the same up to the order of sums. No torch here.
#pragma once

#include <cstdint>

namespace locus::cpu {

// Element (i, j) at data[i * row + j], or where it lies turned at data[j * row + i].
struct Bfloat16Matrix {
  const std::uint16_t* data = nullptr;
  std::int64_t row = 0;
  bool turned = false;
};

// C = A B: A [rows, depth] and B [depth, columns] of bfloat16, C and every sum float32. Sums run over the depth in an order
// that depends on it alone, so that rows may be divided in any way. Stateless: parts of B and of C may be made at the same
// time, C after B.
struct Bfloat16Products {
  // B in the order the product reads it: floats of room, panels of columns, and some of the panels.
  std::int64_t (*packed_size)(std::int64_t depth, std::int64_t columns);
  std::int64_t (*panels)(std::int64_t columns);
  void (*pack)(const Bfloat16Matrix& b, std::int64_t depth, std::int64_t columns, std::int64_t first_panel,
               std::int64_t last_panel, float* packed);
  // Rows [first, last) of A times B to `c`, its rows `columns` apart, from row `first` on. `room`: of this call alone.
  std::int64_t (*room_size)();
  void (*multiply)(const Bfloat16Matrix& a, const float* packed, std::int64_t depth, std::int64_t columns,
                   std::int64_t first, std::int64_t last, float* c, float* room);
};

const Bfloat16Products& bfloat16_products();  // for the processor at hand

}  // namespace locus::cpu
