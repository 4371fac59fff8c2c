// The choice of kernels by processor.
#include "engine/cpu/attention.h"

#include <algorithm>
#include <array>

#include "engine/base/processor.h"
#include "engine/cpu/matrix.h"

namespace locus::cpu {

extern const AttentionKernels kPortableFloat, kPortableDouble;
extern const Products<std::uint16_t> kPortableBfloat16Products;
extern const Products<float> kPortableProducts;
#if defined(__x86_64__)
extern const AttentionKernels kAvx2Float, kAvx2Double, kAvx512Float, kAvx512Double, kAvx512Bfloat16Float,
    kAvx512TilesFloat;
extern const Products<std::uint16_t> kAvx2Bfloat16Products, kAvx512Bfloat16Products, kAvx512PairProducts,
    kAvx512TileProducts;
extern const Products<float> kAvx2Products, kAvx512Products;
#endif

namespace {

// Which of kinds that each have what those before have, the plainest first. The last of five has tiles of bfloat16.
template <typename Kind, std::size_t kCount>
int runnable(const std::array<const Kind*, kCount>&) {
  const int kinds = static_cast<int>(engine::processor()) + 1 + (engine::has_matrix_tiles() ? 1 : 0);
  return std::min(kinds, static_cast<int>(kCount));
}
template <typename Kind, std::size_t kCount>
const Kind& best(const std::array<const Kind*, kCount>& all) {
  return *all[static_cast<std::size_t>(runnable(all) - 1)];
}

}  // namespace

KernelList runnable_attention_kernels(bool is_double) {
#if defined(__x86_64__)
  static constexpr std::array<const AttentionKernels*, 5> kFloat = {&kPortableFloat, &kAvx2Float, &kAvx512Float,
                                                                    &kAvx512Bfloat16Float, &kAvx512TilesFloat};
  static constexpr std::array<const AttentionKernels*, 3> kDouble = {&kPortableDouble, &kAvx2Double, &kAvx512Double};
#else
  static constexpr std::array<const AttentionKernels*, 1> kFloat = {&kPortableFloat}, kDouble = {&kPortableDouble};
#endif
  return is_double ? KernelList{kDouble.data(), runnable(kDouble)} : KernelList{kFloat.data(), runnable(kFloat)};
}

const AttentionKernels& attention_kernels(bool is_double) {
  const KernelList all = runnable_attention_kernels(is_double);
  return *all.kernels[all.count - 1];
}

template <>
const Products<std::uint16_t>& products() {
#if defined(__x86_64__)
  static constexpr std::array<const Products<std::uint16_t>*, 5> kAll = {
      &kPortableBfloat16Products, &kAvx2Bfloat16Products, &kAvx512Bfloat16Products, &kAvx512PairProducts,
      &kAvx512TileProducts};
  return best(kAll);
#else
  return kPortableBfloat16Products;
#endif
}

template <>
const Products<float>& products() {
#if defined(__x86_64__)
  static constexpr std::array<const Products<float>*, 3> kAll = {&kPortableProducts, &kAvx2Products, &kAvx512Products};
  return best(kAll);
#else
  return kPortableProducts;
#endif
}

}  // namespace locus::cpu
