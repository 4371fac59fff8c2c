// What a measurement says of a printed number (docs/claims.md, "Verdicts"), and the count of it over tables. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/claims/match.h"

namespace locus {

enum class Verdict {
  kAgrees,         // the measured interval meets the printed one, and is not open to no difference at all
  kContradicts,    // the two intervals do not meet
  kUndecided,      // they meet, and the measured one holds zero though the printed one does not
  kNotComparable,  // nothing to compare, or another setting
};

// Why a number is not comparable; in the order they are looked for.
enum class WhyNot {
  kNone,
  kNoDifference,  // the print compares it with nothing
  kNoMethod,      // Locus has no such method
  kUnmeasured,    // nothing stored gives this number
  kNoCell,        // no cell of these priors and task
  kNoResult,      // such cells, nothing measured of them there
  kNoBaseline,    // the paper's baseline is not in the experiment
  kNoPairs,       // fewer than two seeds in common with it
  kSetting,       // the setting differs, or is not known here
};

// Of what is not comparable for its setting alone: whether the measured difference goes the printed way.
enum class Direction { kNone, kSame, kOpposite, kOpen };  // open: its interval holds zero, or nothing is printed but 0

struct Judgment {
  Verdict verdict = Verdict::kNotComparable;
  WhyNot why = WhyNot::kNone;
  Direction direction = Direction::kNone;
};

// The printed difference as precisely as print has it: half a unit of the last digit to either side, added to
// the 95 % interval after Welch where deviations and seeds of both numbers are printed.
struct PrintedInterval {
  double low = 0, high = 0;
};
PrintedInterval printed_interval(const ClaimTable& table, const ClaimValue& value, const ClaimValue* baseline);

// One match of a number. `measured` may have no pairs.
Judgment judge(const ClaimTable& table, const ClaimValue& value, const ClaimValue* baseline, const Measured& measured,
               const std::vector<SettingDifference>& differences);

// A number no cell was found for: why.
WhyNot why_unmatched(const ClaimValue& value);

// "agrees", "setting", "same": what answers carry.
const char* to_string(Verdict verdict);
const char* to_string(WhyNot why);
const char* to_string(Direction direction);
// "another setting": a reason in a list of counts.
const char* words(WhyNot why);

// Numbers by what is said of them. `settings` counts the numbers that are not comparable for another setting, by
// each name that differs ("options" for all options of priors); a number may count under several.
struct ClaimCounts {
  int numbers = 0, agrees = 0, contradicts = 0, undecided = 0, not_comparable = 0;
  int same = 0, opposite = 0, open = 0;
  std::map<WhyNot, int> why;
  std::map<std::string, int> settings;

  void add(const Judgment& judgment, const std::vector<SettingDifference>& differences);
  void add(const ClaimCounts& other);
};

}  // namespace locus
