// Lengths of time as people write them, and times.
#include "core/base/duration.h"

#include <charconv>
#include <map>
#include <optional>

#include "absl/time/time.h"
#include "core/base/invalid.h"

namespace locus {
namespace {

constexpr std::int64_t kMostSeconds = std::chrono::seconds(std::chrono::years(10)).count();

std::optional<Microseconds> time_of(std::string_view text) {
  for (const char* format : {absl::RFC3339_full, "%Y-%m-%d%ET%H:%M%Ez"}) {
    absl::Time time;
    std::string why_not;
    if (absl::ParseTime(format, absl::string_view(text.data(), text.size()), &time, &why_not))
      return absl::ToUnixMicros(time);
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::chrono::seconds> parse_duration(std::string_view text, const std::string& field) {
  static const std::map<std::string_view, std::int64_t> kUnits = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto unit = kUnits.find(text.substr(static_cast<std::size_t>(end - text.data())));
  if (error != std::errc() || number < 0 || unit == kUnits.end() || number > kMostSeconds / unit->second) {
    return invalid(field, "\"" + std::string(text) +
                              "\" is no length of time: give a whole number and its unit, such as 90s, 15m, 23h or 2d, "
                              "ten years at most");
  }
  return std::chrono::seconds(number * unit->second);
}

absl::StatusOr<Microseconds> parse_moment(std::string_view text, Microseconds now, const std::string& field) {
  std::optional<Microseconds> moment = time_of(text);
  if (!moment) {
    const auto length = parse_duration(text, field);
    if (!length.ok()) {
      return invalid(field,
                     "\"" + std::string(text) +
                         "\" is no time: give a length from now on, such as 90s, 15m, 23h or 2d, or a time with its "
                         "zone, such as 2026-12-01T08:00Z or 2026-12-01T09:00+01:00");
    }
    moment = now + std::chrono::microseconds(*length).count();
  }
  if (*moment <= now) return invalid(field, "\"" + std::string(text) + "\" is past: give a time to come");
  if (*moment - now > kMostSeconds * 1'000'000)
    return invalid(field, "\"" + std::string(text) + "\" is more than ten years from now: give an earlier time");
  return *moment;
}

}  // namespace locus
