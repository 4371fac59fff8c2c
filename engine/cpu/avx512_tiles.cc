// Kernels for AVX-512 with matrix tiles of bfloat16 (AMX).
#define LOCUS_CPU_TARGET avx512_tiles
#include "engine/cpu/amx.h"
#include "engine/cpu/outer_body.h"
#include "engine/cpu/units.h"

namespace locus::cpu {

extern const AttentionKernels kAvx512TilesFloat;
const AttentionKernels kAvx512TilesFloat = avx512_tiles::kernels_of<float>("avx512-tiles");

extern const Products<std::uint16_t> kAvx512TileProducts;
const Products<std::uint16_t> kAvx512TileProducts = avx512_tiles::products_of<std::uint16_t>();

}  // namespace locus::cpu
