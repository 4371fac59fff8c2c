// libFuzzer's way into one entry, LOCUS_FUZZ_ENTRY.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  locus::fuzz::LOCUS_FUZZ_ENTRY({reinterpret_cast<const char*>(data), size});
  return 0;
}
