// UTF-8, byte by byte.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace locus {

struct Utf8Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: no well-formed UTF-8 stands there
};

// The character at offset `at`, which lies within the text. Overlong forms and surrogates are not well-formed.
Utf8Character utf8_at(std::string_view text, std::size_t at);

// The offset of the first byte that belongs to no character; nothing when all of them do.
std::optional<std::size_t> first_not_utf8(std::string_view text);

// Text of any origin as valid UTF-8: what is not becomes U+FFFD.
std::string valid_utf8(const std::string& text);

}  // namespace locus
