// The log of a search, typed: what each kind of decision says, read from and written to DecisionRow::json. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/json.h"
#include "core/search/rows.h"
#include "core/search/search.h"

namespace locus {

// What is judged: a cell with all of its seeds, or one trial.
struct SearchUnitRow {
  std::int64_t group = 0;            // among SearchSetup::groups
  std::int64_t proposal = 0;         // of the search; repeated ones are no units
  std::int64_t cell = 0;             // ordinal
  std::vector<std::int64_t> trials;  // ordinals, by the seed list
  // Where rungs train anew (SearchHorizon::kRung): the trials of each rung but the first, whose are `trials`.
  std::vector<std::vector<std::int64_t>> later_rungs = {};
  // Where the batch is searched, each unit has its own; 0: the setup's.
  double steps_per_epoch = 0;
  std::int64_t last_step = 0;
};

// One choice of a phase: its candidates, each the units whose values count for it.
struct SearchCandidate {
  std::string assignment;  // canonical: the values chosen with it
  std::vector<std::int64_t> units;
};
struct SearchChoiceGroup {
  std::string assignment;                   // canonical: PhaseChoice::per
  std::vector<SearchCandidate> candidates;  // in the order of the specification
};
struct SearchChoiceTerms {
  std::string by = "mean";               // mean, median, rank
  std::optional<std::int64_t> at_least;  // seeds a candidate must have; nothing: all
  std::vector<SearchChoiceGroup> groups;
};

// A search of one phase, complete: nothing else is needed to judge it. Of a phase without `search`, `search` is the default: every
// unit goes to the end at once.
struct SearchSetup {
  std::string phase;        // its name; empty without phases
  std::int64_t phases = 1;  // that the experiment has
  Search search;
  std::vector<std::string> groups;   // canonical assignments outside the space
  std::vector<SearchUnitRow> units;  // by proposal, then group: the order in which they are proposed
  std::string metric, split, labels = "{}",
                             reduce = "last";  // what is observed: the contract, on the split that selects
  bool maximize = true;
  double steps_per_epoch = 0;  // optimizer steps
  std::int64_t last_step = 0;  // of a whole training
  double validate_every = 0;   // epochs; 0: at the end alone. Where stopping rules are judged
  std::optional<SearchChoiceTerms> choose;
};

// ---- what decisions say ----

struct BeginDecision {
  SearchSetup setup;
};
// A value of one trial at a step of its training (kToTheEnd: its result by the contract). `value` is absent where the stage failed for
// good, was cancelled, or has nothing there; not finite where it is not.
struct ObserveDecision {
  std::int64_t trial = 0, step = 0;
  std::optional<double> value;
  std::string metric = {};              // empty: the contract's
  std::int64_t stage = 0, attempt = 0;  // where it comes from
  std::int64_t revises = 0;             // number of the observation it replaces, after a rerun
};
// Units that begin, and how far: a rung's place. Of a client also what it proposed: `cells`, which became these units (appended to
// SearchSetup::units in this order where they are new).
struct ProposeDecision {
  std::vector<std::int64_t> units;
  std::vector<SearchUnitRow> added;
  Json proposer = Json::object();  // of a client: name, version
  // Where the phase chooses: what these units are candidates of, added to SearchSetup::choose in this order.
  std::vector<SearchChoiceGroup> choices = {};
};
struct AdvanceDecision {
  std::vector<std::int64_t> units;
  std::int64_t rung = 0;              // to which
  std::vector<std::int64_t> settled;  // that will never go on: nothing of them is kept
};
struct StopDecision {
  std::vector<std::int64_t> units;
  std::int64_t rung = 0, step = 0;  // where they stood
  bool settled = false;             // for good: nothing is kept
  std::string reason;               // a sentence
};
struct ChosenCandidate {
  std::string group, candidate;        // canonical assignments; no candidate: nobody was left
  std::optional<double> value;         // the mean, median or mean rank that chose
  std::optional<double> margin;        // to the next; absent with one candidate
  std::int64_t seeds = 0, agreed = 0;  // that counted; that put it first by themselves
  std::string note;
};
struct ChooseDecision {
  std::vector<ChosenCandidate> chosen;
};
// A person's or a client's: stop units or let stopped ones go on (to `rung`; -1: the top).
struct OverrideDecision {
  std::vector<std::int64_t> units;
  bool go_on = false;
  std::int64_t rung = -1;
  std::string reason;
};
struct EndDecision {
  std::string reason;
};

using SearchDecision = std::variant<BeginDecision, ObserveDecision, ProposeDecision, AdvanceDecision, StopDecision,
                                    ChooseDecision, OverrideDecision, EndDecision>;

// Fills kind and json of a row; the other fields are the caller's. Equal decisions have equal text.
DecisionRow written(const SearchDecision& decision);
// DATA_LOSS (INTERNAL's reason of damaged data) for a row that says nothing of its kind.
absl::StatusOr<SearchDecision> read(const DecisionRow& row);

// Exact both ways. setup_of: DATA_LOSS for what is no setup; unit_of and choice_groups_of throw std::exception, for readers that catch
// them all.
Json setup_json(const SearchSetup& setup);
absl::StatusOr<SearchSetup> setup_of(const Json& json);
Json unit_json(const SearchUnitRow& unit);
SearchUnitRow unit_of(const Json& json);
Json choice_groups_json(const std::vector<SearchChoiceGroup>& groups);
std::vector<SearchChoiceGroup> choice_groups_of(const Json& json);

}  // namespace locus
