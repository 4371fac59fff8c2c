// Instruction sets as ATen sees them, and what it does not ask for.
#include "engine/base/processor.h"

#include <ATen/Version.h>

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

}  // namespace

Processor processor() {
  static const Processor found = found_processor();
  return found;
}

bool has_matrix_tiles() {
#if defined(__x86_64__)
  return processor() == Processor::kAvx512Bfloat16 && __builtin_cpu_supports("amx-bf16") != 0;
#else
  return false;
#endif
}

std::string_view name_of(Processor processor) {
  constexpr std::string_view kNames[] = {"plain", "avx2", "avx512", "avx512-bfloat16"};
  return kNames[static_cast<std::size_t>(processor)];
}

}  // namespace locus::engine
