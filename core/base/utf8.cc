// Decoding UTF-8 (RFC 3629).
#include "core/base/utf8.h"

#include "core/base/json.h"

namespace locus {

Utf8Character utf8_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const int more = lead < 0x80                   ? 0
                   : lead >= 0xc2 && lead < 0xe0 ? 1
                   : lead >= 0xe0 && lead < 0xf0 ? 2
                   : lead >= 0xf0 && lead < 0xf5 ? 3
                                                 : -1;
  if (more < 0 || at + static_cast<std::size_t>(more) >= text.size()) return {};
  char32_t code = more == 0 ? lead : lead & (0x3f >> more);
  for (int k = 1; k <= more; ++k) {
    const auto byte = static_cast<unsigned char>(text[at + static_cast<std::size_t>(k)]);
    if ((byte & 0xc0) != 0x80) return {};
    code = code << 6 | (byte & 0x3f);
  }
  const bool overlong = (more == 2 && code < 0x800) || (more == 3 && code < 0x10000);
  if (overlong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {code, static_cast<std::size_t>(more) + 1};
}

std::optional<std::size_t> first_not_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = utf8_at(text, at).bytes;
    if (bytes == 0) return at;
    at += bytes;
  }
  return std::nullopt;
}

std::string valid_utf8(const std::string& text) {
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

}  // namespace locus
