// Takes names apart.
#include "core/foreign/names.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/invalid.h"
#include "core/base/json.h"
#include "core/base/utf8.h"
#include "core/experiment/series_labels.h"

namespace locus {
namespace {

constexpr std::size_t kForeignNameBytes = 128;

std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> out;
  std::size_t from = 0;
  for (std::size_t at = name.find('/'); at != std::string::npos; at = name.find('/', from)) {
    out.push_back(name.substr(from, at - from));
    from = at + 1;
  }
  out.push_back(name.substr(from));
  return out;
}

std::string split_of(const std::string& part) {
  if (part == "train" || part == "validation" || part == "test") return part;
  return part == "val" || part == "valid" ? "validation" : "";
}

bool is_label(const std::string& part) {
  const std::size_t mark = part.find('=');
  return mark != std::string::npos && mark > 0;
}

// A number where it reads as one and is written back the same, else text.
Json label_value(const std::string& text) {
  const Json parsed = Json::parse(text, nullptr, false);
  return parsed.is_number() && parsed.dump() == text ? parsed : Json(text);
}

bool has_control(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

}  // namespace

absl::StatusOr<SeriesKey> series_key_of(const std::string& name) {
  if (name.empty() || name.size() > kForeignNameBytes || first_not_utf8(name) || has_control(name)) {
    return invalid("series", "a series is called \"" + valid_utf8(name.substr(0, 40)) + "\", which has " +
                                 std::to_string(name.size()) +
                                 " bytes; a name is UTF-8 text of 1 to 128 bytes without control characters");
  }
  std::vector<std::string> parts = parts_of(name);
  Json labels = Json::object();
  while (parts.size() > 1 && is_label(parts.back())) {
    const std::size_t mark = parts.back().find('=');
    labels[parts.back().substr(0, mark)] = label_value(parts.back().substr(mark + 1));
    parts.pop_back();
  }
  SeriesKey out;
  if (parts.size() > 1) out.split = split_of(parts.front());
  if (!out.split.empty()) parts.erase(parts.begin());
  for (const std::string& part : parts) out.metric += (out.metric.empty() ? "" : "/") + part;
  if (out.metric.empty()) return invalid("series", "the series \"" + name + "\" names no metric: rename it");
  LOCUS_ASSIGN_OR_RETURN(out.labels, canonical_labels(labels.dump(), "series"));
  return out;
}

}  // namespace locus
