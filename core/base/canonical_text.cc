// Scans for quotes, brackets and commas: canonical text has nothing else to skip.
#include "core/base/canonical_text.h"

#include <algorithm>

namespace locus {
namespace {

// The index just past the string that starts (with its quote) at `i`.
std::size_t past_string(std::string_view text, std::size_t i) {
  for (++i; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return text.size();
}

// The index just past the value that starts at `i`.
std::size_t past_value(std::string_view text, std::size_t i) {
  int depth = 0;
  while (i < text.size()) {
    const char c = text[i];
    if (c == '"') {
      i = past_string(text, i);
      if (depth == 0) return i;
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) return i;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return i + 1;
    ++i;
  }
  return text.size();
}

// Calls `visit(name, value, from, end)` of every member, `from` at its key's quote and `end` past its value, until it
// returns false.
template <class Visit>
void members(std::string_view object, Visit visit) {
  std::size_t i = 1;
  while (i < object.size() && object[i] == '"') {
    const std::size_t key_end = past_string(object, i);
    const std::size_t value = key_end + 1;  // past the colon
    const std::size_t value_end = past_value(object, value);
    if (value > object.size()) return;
    if (!visit(object.substr(i + 1, key_end - i - 2), object.substr(value, value_end - value), i, value_end)) return;
    i = value_end + 1;  // past the comma
  }
}

}  // namespace

std::optional<std::string_view> top_level_member(std::string_view object, std::string_view key) {
  std::optional<std::string_view> out;
  members(object, [&](std::string_view name, std::string_view value, std::size_t, std::size_t) {
    if (name == key) out = value;
    return !out;
  });
  return out;
}

std::string without_members(std::string_view object, std::initializer_list<std::string_view> keys) {
  std::string out = "{";
  members(object, [&](std::string_view name, std::string_view, std::size_t from, std::size_t end) {
    if (std::find(keys.begin(), keys.end(), name) != keys.end()) return true;
    if (out.size() > 1) out += ',';
    out += object.substr(from, end - from);
    return true;
  });
  return out + "}";
}

}  // namespace locus
