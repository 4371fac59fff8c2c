// Writes YAML that YAML 1.2 and 1.1 read alike.
#include "cli/render/yaml_text.h"

#include <algorithm>
#include <regex>

namespace locus {
namespace {

constexpr std::size_t kOneLine = 72;  // characters of a mapping or list that is not broken

std::string scalar(const Json& value) {
  if (!value.is_string()) return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto& text = value.get_ref<const std::string&>();
  static const std::regex kPlain("[A-Za-z][A-Za-z0-9_./+-]{0,99}");
  static const std::regex kWord("(?:y|n|yes|no|on|off|true|false|null)", std::regex::icase);
  const bool plain = text.size() <= 100 && std::regex_match(text, kPlain) && !std::regex_match(text, kWord);
  return plain ? text : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string flow(const Json& value) {
  if (!value.is_structured()) return scalar(value);
  std::string out = value.is_array() ? "[" : "{";
  const char* joint = "";
  for (const auto& [key, member] : value.items()) {
    out += joint + (value.is_array() ? "" : scalar(key) + ": ") + flow(member);
    joint = ", ";
  }
  return out + (value.is_array() ? "]" : "}");
}

bool fits(const Json& value, int indent) {
  if (!value.is_structured() || value.empty()) return true;
  return flow(value).size() + static_cast<std::size_t>(indent) <= kOneLine;
}

void block(const Json& value, int indent, std::string& out) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  for (const auto& [key, member] : value.items()) {
    out += margin + (value.is_array() ? "-" : scalar(key) + ":");
    if (fits(member, indent + static_cast<int>(key.size()))) {
      out += " " + flow(member) + "\n";
    } else {
      out += "\n";
      block(member, indent + 2, out);
    }
  }
}

}  // namespace

std::string yaml_text(const Json& document, int indent) {
  std::string out;
  if (document.is_structured() && !document.empty()) {
    block(document, indent, out);
  } else {
    out = std::string(static_cast<std::size_t>(indent), ' ') + flow(document) + "\n";
  }
  return out;
}

}  // namespace locus
