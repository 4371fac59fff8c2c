// What the processor can do, for code that is compiled once for each kind of it.
#pragma once

#include <string_view>

namespace locus::engine {

// Each has what those before it have. kAvx512: F, BW, DQ and VL. kAvx512Bfloat16: dot products of bfloat16, too.
enum class Processor { kPlain, kAvx2, kAvx512, kAvx512Bfloat16 };

// Of the machine, or the lesser one that ATEN_CPU_CAPABILITY names ("default", "avx2", "avx512"), read once: our kernels
// are of the same kind as ATen's. Where the variable says "avx512", that is without dot products of bfloat16.
Processor processor();

// Whether it multiplies tiles of bfloat16 (AMX), and the system lets this process use them.
bool has_matrix_tiles();

std::string_view name_of(Processor processor);  // "plain", "avx2", "avx512", "avx512-bfloat16"

}  // namespace locus::engine
