// Numbers as text.
#include "cli/render/numbers.h"

#include <cmath>
#include <cstdio>
#include <iterator>

namespace locus {
namespace {

std::string format(const char* pattern, int decimals, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, decimals, value);
  return text;
}

}  // namespace

std::string show_fixed(double value, int decimals) {
  if (std::isnan(value)) return "-";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return format("%.*f", decimals, value);
}

std::string show_signed(double value, int decimals) {
  return std::isfinite(value) ? format("%+.*f", decimals, value) : show_fixed(value, decimals);
}

std::string show_p(double p) {
  if (std::isnan(p)) return "-";
  if (p < 1e-4) return "< 0.0001";
  return format("%.*f", p < 0.1 ? 4 : 3, p);
}

std::string show_count(std::int64_t count) {
  std::string digits = std::to_string(count < 0 ? -count : count);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<std::size_t>(at), ",");
  return (count < 0 ? "-" : "") + digits;
}

std::string show_counted(std::int64_t count, const std::string& noun) {
  return show_count(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string show_short(std::int64_t count) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T"};
  double size = static_cast<double>(count);
  std::size_t unit = 0;
  for (; std::abs(size) >= 999.5 && unit + 1 < std::size(kUnits); ++unit) size /= 1000;
  if (unit == 0) return std::to_string(count);
  return format("%.*f", std::abs(size) >= 99.95 ? 0 : std::abs(size) >= 9.995 ? 1 : 2, size) + kUnits[unit];
}

std::string show_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  const auto total = static_cast<std::int64_t>(std::llround(seconds));
  const std::int64_t days = total / 86400, hours = total / 3600 % 24, minutes = total / 60 % 60;
  if (days > 0) return std::to_string(days) + " d " + std::to_string(hours) + " h";
  if (hours > 0) return std::to_string(hours) + " h " + std::to_string(minutes) + " min";
  if (minutes > 0) return std::to_string(minutes) + " min " + std::to_string(total % 60) + " s";
  return std::to_string(total) + " s";
}

int decimals_for(const std::string& unit, double spread) {
  if (unit == "%") return 2;
  const double size = std::abs(spread);
  if (!(size > 0) || !std::isfinite(size)) return 4;
  return size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 4;
}

}  // namespace locus
