// CRC-32C (Castagnoli; RFC 3720): checks what is stored and what other programs stored.
#pragma once

#include <cstdint>
#include <string_view>

namespace locus {

std::uint32_t crc32c(std::string_view bytes);

}  // namespace locus
