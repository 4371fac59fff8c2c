// Instruction sets as ATen sees them, and what it does not ask for.
#include "engine/base/processor.h"

#include <ATen/Version.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdlib>
#include <string>

namespace locus::engine {
namespace {

Processor found_processor() {
#if defined(__x86_64__)
  const std::string capability = at::get_cpu_capability();
  if (!capability.starts_with("AVX512")) return capability == "AVX2" ? Processor::kAvx2 : Processor::kPlain;
  const char* named = std::getenv("ATEN_CPU_CAPABILITY");
  const bool lesser = named != nullptr && std::string_view(named) == "avx512";
  return !lesser && __builtin_cpu_supports("avx512bf16") != 0 ? Processor::kAvx512Bfloat16 : Processor::kAvx512;
#else
  return Processor::kPlain;
#endif
}

#if defined(__x86_64__)
// Tiles of bfloat16 in the processor, and a system that keeps them for its programs and lets this one use them, which it
// wants to be asked for. Asked as the manual says, since clang 14 knows no name for them.
bool tiles_are_kept() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kStatesAreAsked = 1u << 27, kTilesInBfloat16 = 1u << 22, kBothTileStates = 3u << 17;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kStatesAreAsked) == 0) return false;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & kBothTileStates) != kBothTileStates) return false;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kTilesInBfloat16) == 0) return false;
  constexpr long kAskForState = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, of Linux 5.16
  return ::syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
}
#endif

}  // namespace

Processor processor() {
  static const Processor found = found_processor();
  return found;
}

bool has_matrix_tiles() {
#if defined(__x86_64__)
  static const bool found = processor() == Processor::kAvx512Bfloat16 && tiles_are_kept();
  return found;
#else
  return false;
#endif
}

std::string_view name_of(Processor processor) {
  constexpr std::string_view kNames[] = {"plain", "avx2", "avx512", "avx512-bfloat16"};
  return kNames[static_cast<std::size_t>(processor)];
}

}  // namespace locus::engine
