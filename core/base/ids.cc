// Random identifiers from the system's entropy, and the form of names.
#include "core/base/ids.h"

#include <cstdint>
#include <cstdio>
#include <random>

#include "core/limits.h"

namespace locus {

std::string random_uuid() {
  std::random_device entropy;
  std::uint32_t words[4];
  for (auto& word : words) word = entropy();
  words[1] = (words[1] & 0xffff0fffu) | 0x00004000u;  // version 4
  words[2] = (words[2] & 0x3fffffffu) | 0x80000000u;  // variant of RFC 4122
  char text[37];
  std::snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%04x%08x", words[0], words[1] >> 16, words[1] & 0xffff,
                words[2] >> 16, words[2] & 0xffff, words[3]);
  return text;
}

bool valid_name(std::string_view name) {
  if (name.empty() || name.size() > static_cast<std::size_t>(kNameLength)) return false;
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!letter(name.front()) || name.back() == '-') return false;
  for (const char c : name) {
    if (!letter(c) && !digit(c) && c != '-') return false;
  }
  return true;
}

}  // namespace locus
