// What a search is asked to do, typed: the section `search` of a specification. Plain values; the other files of this
// folder hold the rules over them, core/experiment/plan/search_section.h reads them. A *group* is what competes: the cells of one
// combination of the matrix outside the space, of which each has the same proposals. A *unit* is what is judged: a cell
// with all of its seeds, or a trial.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/json.h"
#include "core/search/halving.h"
#include "core/search/proposal.h"
#include "core/search/race.h"
#include "core/search/stopping.h"

namespace locus {

inline constexpr std::size_t kSpacePathsMost = 32;

// Where proposals come from: every point of the space (without a space, the matrix alone), a sequence, or a client.
enum class Proposer { kGrid, kRandom, kSobol, kExternal };
const char* to_string(Proposer);  // as written: "grid"

enum class AdvanceRule { kNone, kHalve, kAsha, kHyperband, kRace };
const char* to_string(AdvanceRule);
// What a rung grants more of: epochs of one training, or seeds of a cell.
enum class SearchResource { kEpochs, kSeeds };
const char* to_string(SearchResource);
enum class SearchUnit { kCell, kTrial };
const char* to_string(SearchUnit);
// Whether a stage goes on from rung to rung under the schedule of the last one, or each rung trains anew under its own.
enum class SearchHorizon { kFull, kRung };
const char* to_string(SearchHorizon);
enum class RaceRule { kKimNelson, kHalving, kTTest, kFriedman };
const char* to_string(RaceRule);

struct RaceTerms {
  RaceRule rule = RaceRule::kKimNelson;
  KimNelson terms;          // delta of Kim and Nelson alone; the tests look at `alpha` after `first` seeds
  std::int64_t most = 0;    // seeds of a candidate; with several left then, the race is undecided
  std::int64_t budget = 0;  // of sequential halving: runs of one group
};

struct Advance {
  AdvanceRule rule = AdvanceRule::kNone;
  SearchResource resource = SearchResource::kEpochs;
  SearchUnit unit = SearchUnit::kCell;
  std::vector<std::int64_t> rungs;  // of halve and asha, increasing; the last is the whole training, or all seeds
  Share keep;                       // of halve: who goes on
  std::int64_t eta = 3;             // of asha and hyperband: one of eta goes on
  bool park = true;                 // of asha: wait at a rung for promotion; otherwise go on or stop on arrival
  std::vector<Bracket> brackets;    // of hyperband, the most aggressive first; proposals fill them in order
  RaceTerms race;
};

// Judged where the recipe validates; `from` and `at` count epochs here, steps where the rules are applied.
struct StopRule {
  std::variant<MedianRule, PatienceRule, ThresholdRule> rule;
  std::string metric;  // empty: the contract's
  std::string field;   // "search.stop[0].median"
};

// Checked before each proposal and each promotion; running work is never ended by it.
struct SearchBudget {
  struct Target {
    std::string metric;
    std::optional<double> at_least, at_most;  // one of the two
  };
  std::optional<std::int64_t> proposals, stages;
  std::optional<double> epochs, slot_hours;
  std::optional<Target> target;
  bool empty() const { return !proposals && !stages && !epochs && !slot_hours && !target; }
};

struct Search {
  std::uint64_t seed = 0;  // of the proposals; no stage's identity depends on it
  Proposer proposer = Proposer::kGrid;
  std::vector<Dimension> space;  // by path
  std::int64_t proposals = 0;    // of each group; 0: as many as the matrix has cells, or unlimited from a client
  bool shared = true;            // every group meets the same proposals
  Advance advance;
  std::vector<StopRule> stops;
  SearchBudget budget;
  std::int64_t parallel = 0;  // unfinished proposals at a time; 0: any number
  SearchHorizon horizon = SearchHorizon::kFull;

  // Whether nothing limits what a client may propose.
  bool endless() const { return proposer == Proposer::kExternal && proposals == 0 && budget.empty(); }
  // Whether anything is decided while it runs. Otherwise every proposal is a cell like any other.
  bool decides() const {
    return advance.rule != AdvanceRule::kNone || !stops.empty() || !budget.empty() || parallel > 0 ||
           proposer == Proposer::kExternal;
  }
};

// ---- proposals ----

// The values of one proposal, in the order of the space. `group_seed` is that of groups which do not share (group_seed()), and the
// search's own where they do. Depends on nothing but seed, space and index; of a grid, `index` is below grid_size().
std::vector<Json> proposal(const Search& search, std::uint64_t group_seed, std::uint64_t index);

// The seed of a group that draws its own proposals: of the search's seed and what the group is called, so that further groups
// move nothing.
std::uint64_t group_seed(std::uint64_t seed, const std::string& group);

// How many points the product of the dimensions has, all of which are choices or integers; saturates at `most`.
std::int64_t grid_size(const std::vector<Dimension>& space, std::int64_t most);

// Whether a client may propose `value` there: within the bounds, a number of the right kind, one of the choices. Nothing,
// or what is wrong: "0.5 is above 0.1".
std::optional<std::string> outside(const Dimension& dimension, const Json& value);

}  // namespace locus
