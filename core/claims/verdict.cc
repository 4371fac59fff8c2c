// Verdicts, from intervals.
#include "core/claims/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

#include "core/claims/measure.h"
#include "core/statistics/estimates.h"

namespace locus {
namespace {

constexpr double kLevel = 0.95;
constexpr double kNear = 1e-9;  // decimals are not exact in binary

int decimals_of(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.10g", value);
  const std::string shown = text;
  const std::size_t dot = shown.find('.');
  return dot == std::string::npos || shown.find('e') != std::string::npos ? 0
                                                                          : static_cast<int>(shown.size() - dot - 1);
}

// Half a unit of the last digit a column or row of this metric is printed with: zeros at the end are lost in
// single numbers.
double rounding_of(const ClaimTable& table, const ClaimValue& value) {
  int most = 0;
  for (const ClaimValue& one : table.values) {
    if (one.metric.name == value.metric.name && one.metric.unit == value.metric.unit)
      most = std::max(most, decimals_of(one.value));
  }
  return 0.5 * std::pow(10.0, -most);
}

// Some numbers of this mean and deviation: all that Welch's interval knows of a sample.
std::vector<double> sample_like(double mean, double std, int n) {
  std::vector<double> out(static_cast<std::size_t>(n), mean);
  const double away = std * std::sqrt((n - 1) / 2.0);
  out[0] += away;
  out[1] -= away;
  return out;
}

}  // namespace

PrintedInterval printed_interval(const ClaimTable& table, const ClaimValue& value, const ClaimValue* baseline) {
  const double rounding = rounding_of(table, value) * (value.printed_difference ? 1 : 2);
  PrintedInterval out{value.difference - rounding, value.difference + rounding};
  if (baseline != nullptr && value.n > 1 && baseline->n > 1 && std::isfinite(value.std) &&
      std::isfinite(baseline->std)) {
    const Welch both = welch(sample_like(value.value, value.std, value.n),
                             sample_like(baseline->value, baseline->std, baseline->n), kLevel);
    out.low -= both.difference - both.low;
    out.high += both.high - both.difference;
  }
  return out;
}

Judgment judge(const ClaimTable& table, const ClaimValue& value, const ClaimValue* baseline, const Measured& measured,
               const std::vector<SettingDifference>& differences) {
  const auto not_comparable = [](WhyNot why, Direction direction = Direction::kNone) {
    return Judgment{Verdict::kNotComparable, why, direction};
  };
  if (!std::isfinite(value.difference)) return not_comparable(WhyNot::kNoDifference);
  if (measured.n == 0) return not_comparable(WhyNot::kNoResult);
  if (!measured.has_baseline) return not_comparable(WhyNot::kNoBaseline);
  if (measured.pairs < 2 || !std::isfinite(measured.difference_half_width)) return not_comparable(WhyNot::kNoPairs);
  const double low = measured.difference - measured.difference_half_width;
  const double high = measured.difference + measured.difference_half_width;
  const bool zero = low <= 0 && high >= 0;
  if (!differences.empty()) {
    const bool open = zero || value.difference == 0;
    return not_comparable(WhyNot::kSetting, open                                  ? Direction::kOpen
                                            : (low > 0) == (value.difference > 0) ? Direction::kSame
                                                                                  : Direction::kOpposite);
  }
  const PrintedInterval print = printed_interval(table, value, baseline);
  if (low > print.high + kNear || high < print.low - kNear)
    return {Verdict::kContradicts, WhyNot::kNone, Direction::kNone};
  const bool print_holds_zero = print.low - kNear <= 0 && print.high + kNear >= 0;
  return {zero && !print_holds_zero ? Verdict::kUndecided : Verdict::kAgrees, WhyNot::kNone, Direction::kNone};
}

WhyNot why_unmatched(const ClaimValue& value) {
  if (!std::isfinite(value.difference)) return WhyNot::kNoDifference;
  if (value.priors.empty()) return WhyNot::kNoMethod;
  return measure_of(value.metric) == nullptr ? WhyNot::kUnmeasured : WhyNot::kNoCell;
}

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAgrees:
      return "agrees";
    case Verdict::kContradicts:
      return "contradicts";
    case Verdict::kUndecided:
      return "undecided";
    case Verdict::kNotComparable:
      break;
  }
  return "not-comparable";
}

const char* to_string(WhyNot why) {
  switch (why) {
    case WhyNot::kNone:
      break;
    case WhyNot::kNoDifference:
      return "no-difference";
    case WhyNot::kNoMethod:
      return "no-method";
    case WhyNot::kUnmeasured:
      return "unmeasured";
    case WhyNot::kNoCell:
      return "no-cell";
    case WhyNot::kNoResult:
      return "no-result";
    case WhyNot::kNoBaseline:
      return "no-baseline";
    case WhyNot::kNoPairs:
      return "no-pairs";
    case WhyNot::kSetting:
      return "setting";
  }
  return "";
}

const char* words(WhyNot why) {
  switch (why) {
    case WhyNot::kNone:
      break;
    case WhyNot::kNoDifference:
      return "printed without a difference";
    case WhyNot::kNoMethod:
      return "no such method in Locus";
    case WhyNot::kUnmeasured:
      return "Locus measures no such number";
    case WhyNot::kNoCell:
      return "no cell of these priors and task";
    case WhyNot::kNoResult:
      return "nothing measured there yet";
    case WhyNot::kNoBaseline:
      return "the paper's baseline is not in the experiment";
    case WhyNot::kNoPairs:
      return "fewer than two seeds shared with the baseline";
    case WhyNot::kSetting:
      return "another setting";
  }
  return "";
}

const char* to_string(Direction direction) {
  switch (direction) {
    case Direction::kNone:
      break;
    case Direction::kSame:
      return "same";
    case Direction::kOpposite:
      return "opposite";
    case Direction::kOpen:
      return "open";
  }
  return "";
}

void ClaimCounts::add(const Judgment& judgment, const std::vector<SettingDifference>& differences) {
  ++numbers;
  agrees += judgment.verdict == Verdict::kAgrees ? 1 : 0;
  contradicts += judgment.verdict == Verdict::kContradicts ? 1 : 0;
  undecided += judgment.verdict == Verdict::kUndecided ? 1 : 0;
  if (judgment.verdict != Verdict::kNotComparable) return;
  ++not_comparable;
  ++why[judgment.why];
  same += judgment.direction == Direction::kSame ? 1 : 0;
  opposite += judgment.direction == Direction::kOpposite ? 1 : 0;
  open += judgment.direction == Direction::kOpen ? 1 : 0;
  if (judgment.why != WhyNot::kSetting) return;
  std::set<std::string> names;
  for (const SettingDifference& one : differences)
    names.insert(one.name.find('.') == std::string::npos ? one.name : "options");
  for (const std::string& name : names) ++settings[name];
}

void ClaimCounts::add(const ClaimCounts& other) {
  numbers += other.numbers;
  agrees += other.agrees;
  contradicts += other.contradicts;
  undecided += other.undecided;
  not_comparable += other.not_comparable;
  same += other.same;
  opposite += other.opposite;
  open += other.open;
  for (const auto& [reason, count] : other.why) why[reason] += count;
  for (const auto& [name, count] : other.settings) settings[name] += count;
}

}  // namespace locus
