// Products of whole matrices of bfloat16 on processors that have dot products of it, as plain data. No torch here.
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
// that depends on it alone. Stateless: parts of B and of C may be made at the same time, C after B.
struct Bfloat16Products {
  // B in the order the product reads it: floats of room, panels of columns, and some of the panels.
  std::int64_t (*packed_size)(std::int64_t depth, std::int64_t columns);
  std::int64_t (*panels)(std::int64_t columns);
  void (*pack)(const Bfloat16Matrix& b, std::int64_t depth, std::int64_t columns, std::int64_t first_panel,
               std::int64_t last_panel, float* packed);
  // Rows [first, last) of C, whose rows are `columns` apart. `room`: of this call alone.
  std::int64_t (*room_size)(std::int64_t depth);
  void (*multiply)(const Bfloat16Matrix& a, const float* packed, std::int64_t depth, std::int64_t columns,
                   std::int64_t first, std::int64_t last, float* c, float* room);
};

// For the processor at hand; null where it has no such instructions.
const Bfloat16Products* bfloat16_products();

}  // namespace locus::cpu
