// The choice of kernels by processor.
#include "engine/cpu/attention.h"

#include <ATen/Version.h>
#include <ATen/native/DispatchStub.h>

#include <array>
#include <cstdlib>
#include <string>

namespace locus::cpu {

extern const AttentionKernels kPortableFloat, kPortableDouble;
#if defined(__x86_64__)
extern const AttentionKernels kAvx2Float, kAvx2Double, kAvx512Float, kAvx512Double;
#endif

namespace {

// What the processor and ATEN_CPU_CAPABILITY allow, as ATen sees it: its own kernels are of the same kind.
int level() {
#if defined(__x86_64__)
  static const int found = [] {
    const std::string capability = at::get_cpu_capability();
    if (capability == "AVX512") return 2;
    return capability == "AVX2" ? 1 : 0;
  }();
  return found;
#else
  return 0;
#endif
}

}  // namespace

KernelList runnable_attention_kernels(bool is_double) {
#if defined(__x86_64__)
  static constexpr std::array<const AttentionKernels*, 3> kFloat = {&kPortableFloat, &kAvx2Float, &kAvx512Float},
                                                          kDouble = {&kPortableDouble, &kAvx2Double, &kAvx512Double};
#else
  static constexpr std::array<const AttentionKernels*, 1> kFloat = {&kPortableFloat}, kDouble = {&kPortableDouble};
#endif
  return {is_double ? kDouble.data() : kFloat.data(), level() + 1};
}

const AttentionKernels& attention_kernels(bool is_double) {
  const KernelList all = runnable_attention_kernels(is_double);
  return *all.kernels[all.count - 1];
}

}  // namespace locus::cpu
