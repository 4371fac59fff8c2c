// The choice of kernels by processor.
#include "engine/cpu/attention.h"

#include <algorithm>
#include <array>

#include "engine/base/processor.h"
#include "engine/cpu/matrix.h"

namespace locus::cpu {

extern const AttentionKernels kPortableFloat, kPortableDouble;
extern const Bfloat16Products kPortableProducts;
#if defined(__x86_64__)
extern const AttentionKernels kAvx2Float, kAvx2Double, kAvx512Float, kAvx512Double, kAvx512Bfloat16Float;
extern const Bfloat16Products kAvx2Products, kAvx512Products, kAvx512Bfloat16Products;
#endif

namespace {

// Which of kinds that each have what those before have, the plainest first.
template <std::size_t kCount>
KernelList runnable(const std::array<const AttentionKernels*, kCount>& all) {
  return {all.data(), std::min<int>(static_cast<int>(engine::processor()) + 1, kCount)};
}

}  // namespace

KernelList runnable_attention_kernels(bool is_double) {
#if defined(__x86_64__)
  static constexpr std::array<const AttentionKernels*, 4> kFloat = {&kPortableFloat, &kAvx2Float, &kAvx512Float,
                                                                    &kAvx512Bfloat16Float};
  static constexpr std::array<const AttentionKernels*, 3> kDouble = {&kPortableDouble, &kAvx2Double, &kAvx512Double};
#else
  static constexpr std::array<const AttentionKernels*, 1> kFloat = {&kPortableFloat}, kDouble = {&kPortableDouble};
#endif
  return is_double ? runnable(kDouble) : runnable(kFloat);
}

const AttentionKernels& attention_kernels(bool is_double) {
  const KernelList all = runnable_attention_kernels(is_double);
  return *all.kernels[all.count - 1];
}

const Bfloat16Products& bfloat16_products() {
#if defined(__x86_64__)
  static constexpr std::array<const Bfloat16Products*, 4> kAll = {&kPortableProducts, &kAvx2Products, &kAvx512Products,
                                                                  &kAvx512Bfloat16Products};
  return *kAll[static_cast<std::size_t>(engine::processor())];
#else
  return kPortableProducts;
#endif
}

}  // namespace locus::cpu
