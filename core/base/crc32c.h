// CRC-32C (Castagnoli; RFC 3720): checks what is stored and what other programs stored.
#pragma once

#include <cstdint>
#include <string_view>

namespace locus {

// By the processor's instruction where it has one (SSE4.2). Any thread.
std::uint32_t crc32c(std::string_view bytes);

// The same without it.
std::uint32_t crc32c_by_tables(std::string_view bytes);

}  // namespace locus
