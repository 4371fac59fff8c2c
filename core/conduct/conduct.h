// Conducts searches: reads what a store has of one, lets the rules of core/search answer, and makes the scheduler's event of it. The
// server's runner and the simulation use the same class.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/ports/store.h"
#include "core/scheduling/scheduler.h"
#include "core/search/fold.h"

namespace locus {

// What a trial is to run, as the planner has it: stages in dependency order, the training first.
struct TrialStages {
  struct Planned {
    std::string role, kind, identity, config_json;
    std::int64_t seed = 0;
    std::vector<ExperimentSubmitted::StageDraft::Input> inputs;
    RequirementsPtr requirements;
  };
  std::vector<Planned> stages;
};

// What a conductor must be told of an experiment, because specifications are not its business. Implemented over the planner by the
// server, over made-up matrices by tests. Thread-compatible.
class SearchScript {
 public:
  virtual ~SearchScript() = default;
  // How many phases the experiment has, at least 1.
  virtual absl::StatusOr<std::size_t> phases(const ExperimentRow& experiment) = 0;
  // The setup of a phase, as the experiment's present revision has it, over the cells and trials that are stored. `choices` of the
  // phases before it, in order.
  virtual absl::StatusOr<SearchSetup> setup(const ExperimentRow& experiment, std::size_t phase,
                                            std::span<const std::vector<ChosenCandidate>> choices) = 0;
  // What these trials are to run once they may. A trial of a group without a choice has no stages.
  virtual absl::StatusOr<std::map<std::int64_t, TrialStages>> stages(
      const ExperimentRow& experiment, std::span<const std::int64_t> trials,
      std::span<const std::vector<ChosenCandidate>> choices) = 0;
};

// A client's proposal or a person's verdict, to be taken into the log before the rules answer, of the phase that is under way. What a
// proposal adds is counted from 0: a cell of ProposeDecision::added is a place in `cells`, its trials are places in `trials`, and
// their cells likewise; a unit of ProposeDecision::choices is a place in `added`. The conductor numbers them on from what is stored, takes cells whose row key is there already for
// those, and fills ProposeDecision::units.
struct SearchWish {
  SearchDecision decision;  // ProposeDecision or OverrideDecision
  std::string principal, request_id;
  std::vector<CellRow> cells;  // that it adds
  std::vector<TrialRow> trials;
};

// Time in ended attempts, slot by slot, at the stages of a search's trials.
struct SlotTime {
  std::map<StageId, Microseconds> of;
  Microseconds all = 0;
  std::set<std::int64_t> changed;  // trials that were given stages since they were counted
};

// A choice that stands, beside what it would be now.
struct ChoiceAgain {
  std::size_t phase = 0;
  ChosenCandidate stands;
  std::optional<ChosenCandidate> now;  // nothing: trainings that it takes are still to be run
  bool differs() const { return now && now->candidate != stands.candidate; }
};

// Thread-compatible.
class Conductor {
 public:
  // An event has no more decisions than about these; the rest comes in the next one.
  static constexpr std::size_t kRowsOfAnEvent = 20'000;

  // Both must outlive it.
  Conductor(Store& store, SearchScript& script) : store_(store), script_(script) {}

  // What is to be decided of the experiment's search now: values that have become known are observed, and the rules are asked until
  // they wait; all of it is one event, fenced by the log's length. Begins the search, or its next phase, where that is due, and begins
  // anew (another generation if its rules differ) where the setup is no longer the one in the log. Nothing where nothing changes. The
  // same store gives the same event, so a crash before it is applied loses nothing. Very long histories come in several events:
  // ask again once one is applied. A cancelled experiment decides nothing.
  //
  // `moved`: the trials of which something may have become known since the event before, if nothing else has: then the time this takes
  // depends on them and on what is decided, and not on how many trials there are. Null, and wherever it is not known: all.
  //
  // Of a wish: nothing where the log holds its request already; RESOURCE_EXHAUSTED (SEARCH_EXHAUSTED) where `parallel`, the
  // proposals or the budget leave no room for it; FAILED_PRECONDITION (WRONG_STATE) of a cancelled experiment, one whose search has
  // not begun, or a proposal to a search that draws its own.
  //
  // FAILED_PRECONDITION (WRONG_STATE) too where a trial would go on with a stage of another identity than it has: the catalog has
  // changed, and only a replacement may go on from there.
  absl::StatusOr<std::optional<SearchDecided>> next(ExperimentId experiment, const SearchWish* wish = nullptr,
                                                    const std::set<std::int64_t>* moved = nullptr);

  // What its phases would choose by what is stored today, were they to choose again: rehearsed on the script's setups, which may have
  // more trials than are stored (`to_come`), and nothing is written. Of each choice in the log, in order.
  absl::StatusOr<std::vector<ChoiceAgain>> choices_again(const ExperimentRow& experiment,
                                                         std::span<const TrialRow> to_come = {});

  // The fold of the experiment's log, kept between calls. NOT_FOUND (SEARCH_NOT_FOUND) without one.
  absl::StatusOr<Fold> fold(ExperimentId experiment);

 private:
  struct Kept {
    Fold fold;
    std::int64_t revision = 0;  // of the experiment whose setups are those of the log; 0: not compared yet
    SlotTime slot_time;
    std::set<std::int64_t> late;  // trials that were decided about before they were stored
  };
  absl::StatusOr<Kept*> catch_up(ExperimentId experiment);

  Store& store_;
  SearchScript& script_;
  std::map<ExperimentId, Kept> kept_;
};

// What begins in a log because the setups of its phases are now these, the first ones in order, at least those that have begun: nothing
// where they are the same. The log goes on where units were only added or limits changed; otherwise, and where `anew` says so (what
// trials run has changed), its first phase begins under the next generation. Rows without numbers. Pure.
std::vector<DecisionRow> begins(const Fold& fold, std::span<const SearchSetup> setups, bool anew);

}  // namespace locus
