// Lengths of time as people write them.
#include "core/base/duration.h"

#include <charconv>
#include <map>

#include "core/base/invalid.h"

namespace locus {

absl::StatusOr<std::chrono::seconds> parse_duration(std::string_view text, const std::string& field) {
  static const std::map<std::string_view, std::int64_t> kUnits = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  constexpr std::int64_t kMost = std::chrono::seconds(std::chrono::years(10)).count();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto unit = kUnits.find(text.substr(static_cast<std::size_t>(end - text.data())));
  if (error != std::errc() || number < 0 || unit == kUnits.end() || number > kMost / unit->second) {
    return invalid(field, "\"" + std::string(text) +
                              "\" is no length of time: give a whole number and its unit, such as 90s, 15m, 23h or 2d, "
                              "ten years at most");
  }
  return std::chrono::seconds(number * unit->second);
}

}  // namespace locus
