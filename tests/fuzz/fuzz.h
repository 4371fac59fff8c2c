// What reads bytes from outside, each as one function of bytes: libFuzzer drives them (`make fuzz`), and a test replays what is
// kept in tests/fuzz/corpus.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace locus::fuzz {

// Reads `bytes` as an input of the reader it is named after. Returns where they are read or refused as that reader says it refuses;
// whatever else it throws, an assertion or a sanitizer's report is a defect. Keeps nothing that a later call could notice, but for the server
// of `http` and `rpc`. Called by one thread at a time.
using Entry = void (*)(std::string_view bytes);

// Declares the entries.
#define LOCUS_FUZZ_TARGET(name) void name(std::string_view bytes);
#include "tests/fuzz/core.def"
#include "tests/fuzz/engine.def"
#include "tests/fuzz/peers.def"
#include "tests/fuzz/service.def"
#include "tests/fuzz/training.def"
#undef LOCUS_FUZZ_TARGET

// For readers of files: one with these bytes, in memory, for as long as this lives. Throws std::runtime_error where it cannot be made.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  int descriptor_;
  std::filesystem::path path_;
};

// Ends the program where a property that the bytes cannot break does not hold.
void require(bool holds, const char* property);

// The byte that chooses among variants, taken off `bytes`; 0 of none.
unsigned char first_of(std::string_view& bytes);

}  // namespace locus::fuzz
