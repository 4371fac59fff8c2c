// SHA-256 (FIPS 180-4). Identity of stages, artifacts and dataset files.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace locus {

// Thread-compatible.
class Sha256 {
 public:
  Sha256();
  void update(std::span<const std::byte> bytes);
  void update(std::string_view bytes);
  std::array<std::uint8_t, 32> digest();  // ends the hash; the object must not be used again
  std::string hex_digest();               // likewise, as 64 lower-case hex digits

 private:
  void block(const std::uint8_t* bytes);
  std::array<std::uint32_t, 8> state_;
  std::array<std::uint8_t, 64> buffer_;
  std::uint64_t length_ = 0;
};

std::string sha256_hex(std::string_view bytes);

}  // namespace locus
