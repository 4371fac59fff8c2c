// The key `phases`: experiments in a row, of which later ones use what earlier ones choose.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/mistakes.h"
#include "core/catalog/catalog.h"

namespace locus {

inline constexpr std::size_t kPhasesMost = 8;

enum class ChoiceBy { kMean, kMedian, kRank };
const char* to_string(ChoiceBy);  // as written: "mean"

// What a phase chooses: for each combination of `per` the candidate, a combination of `factors`, that its contract's metric on
// the split that selects puts first; of equal ones that written first.
struct PhaseChoice {
  std::vector<std::string> factors;  // those of the search's space where none are named
  ChoiceBy by = ChoiceBy::kMean;     // over seeds, and over the factors in neither list; rank: the mean of its ranks
  std::vector<std::string> per;      // all other factors where none are named
  std::optional<std::int64_t>
      at_least;  // seeds a candidate must have, compared on those that all have; nothing: all of them
};

struct PhaseUse {
  std::string path;       // of the configuration
  std::size_t phase = 0;  // an earlier one, which chooses it
};

struct Phase {
  std::string name, field;    // field: "phases[1]"
  Json document;              // an ordinary specification: what stands outside of `phases`, with this phase's keys
  Json set = Json::object();  // config path -> value
  std::optional<PhaseChoice> choose;
  bool names_factors = false, names_per = false;
  std::vector<PhaseUse> use;                  // by path
  std::map<std::string, std::string> fields;  // fields of `document` that the phase wrote -> where: "matrix.train.lr"
};

// The phases of a specification, one without a name where it has none. Every mistake of the key itself is noted: names that are
// missing, taken or malformed, keys nobody knows, uses of a phase that is unknown, later, itself or chooses nothing. What
// stands inside a phase's sections is the planner's to check.
std::vector<Phase> parse_phases(const Json& document, const Catalog& catalog, Mistakes& mistakes);

// A refusal of a phase's document, at the field where it was written.
absl::Status relocate_to(const Phase& phase, const absl::Status& status);

}  // namespace locus
