// One answer of a conductor, while it is made: what is stored, the fold with what was decided so far, the rows of it.
// Internal to the conductor.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/conduct/conduct.h"

namespace locus {

// Thread-compatible. What it refers to must outlive it.
class ConductorTurn {
 public:
  ConductorTurn(Store& store, SearchScript& script, const ExperimentRow& row, const Fold& fold, SlotTime& slot_time,
                const std::set<std::int64_t>* moved, const std::set<std::int64_t>& late)
      : store_(store),
        script_(script),
        row_(row),
        expected_(fold.decided()),
        fold_(fold),
        slot_time_(slot_time),
        whole_(moved == nullptr),
        look_(moved == nullptr ? std::set<std::int64_t>() : *moved),
        change_(late) {
    look_.insert(late.begin(), late.end());
  }

  // Compares the setups of the phases that have begun with those of the log, and begins again where they differ.
  absl::Status renew();
  absl::Status take(const SearchWish& wish);
  // Begins, observes and judges until nothing moves.
  absl::Status run();
  // Begins anew and goes as far as what is stored leads, without an event: the fold then, which nothing is written of.
  absl::StatusOr<Fold> rehearse(std::span<const TrialRow> to_come);
  // The event of it all; nothing where nothing changes. Ends the turn. To `late` come the trials that it decides about and that are not
  // stored yet: they can be linked once they are.
  absl::StatusOr<std::optional<SearchDecided>> event(std::set<std::int64_t>& late);

 private:
  // ---- conduct.cc, rehearse.cc ----
  absl::Status append(const SearchDecision& decision, DecisionRow row);
  void note(const SearchDecision& decision);  // whom it concerns
  absl::StatusOr<bool> begin();               // whether it did
  absl::StatusOr<bool> judged();
  absl::StatusOr<double> slot_hours();
  absl::Status count_slot_time(const TrialView& view);
  std::int64_t phase() const { return static_cast<std::int64_t>(fold_.present().value_or(0)); }  // that is under way
  std::vector<std::vector<ChosenCandidate>> choices() const;
  // ---- observe.cc ----
  absl::StatusOr<bool> observe();
  void look_at_curves();
  struct Known {
    bool known = false;  // its value, or that there is none
    std::optional<double> value;
    std::int64_t stage = 0, attempt = 0;
  };
  absl::StatusOr<Known> known(const DueValue& due);
  absl::StatusOr<Known> at_step(const StageRow& stage, const DueValue& due, bool linked);
  absl::StatusOr<Known> by_contract(const TrialView& trial, const DueValue& due, bool linked);
  absl::StatusOr<std::optional<double>> point_at(StageId stage, const DueValue& due);
  absl::StatusOr<TrialView> stages_of(std::int64_t ordinal, bool* linked);
  // ---- resolve.cc ----
  absl::Status load_trials();
  absl::StatusOr<const TrialView*> trial(std::int64_t ordinal);  // as stored; null: it is not, yet
  absl::Status plan(const std::vector<std::int64_t>& trials);
  absl::Status resolve(SearchDecided& out, std::set<std::int64_t>& late);
  absl::Status link_wanted(const TrialView& view, std::int64_t want, SearchDecided& out);
  absl::Status link_unwanted(const TrialView& view, bool training_too, SearchDecided& out);
  absl::Status add_planned(const TrialStages& of, const std::string& identity, SearchDecided& out);
  // ---- wish.cc ----
  absl::Status number(const SearchWish& wish, ProposeDecision& propose);
  absl::Status check_room(const ProposeDecision& propose);

  Store& store_;
  SearchScript& script_;
  const ExperimentRow& row_;
  const std::int64_t expected_;
  Fold fold_;
  std::vector<DecisionRow> rows_;
  std::vector<CellRow> cells_;   // that it adds
  std::vector<TrialRow> added_;  // likewise
  std::optional<std::size_t> phases_;
  SlotTime& slot_time_;
  std::optional<double> slot_hours_;
  bool whole_;                     // every trial is looked at; otherwise:
  std::set<std::int64_t> look_;    // of which something may have become known, as moved or granted more in this turn
  std::set<std::int64_t> change_;  // whose links may be others by now
  bool loaded_ = false;            // all of them
  bool rehearsal_ = false;
  std::map<std::int64_t, TrialView> trials_;     // by ordinal, as far as asked for
  std::map<std::int64_t, TrialStages> planned_;  // as far as asked for
  std::map<std::string, StageRow> stored_;       // of these
  std::map<std::int64_t, std::optional<std::int64_t>>
      wants_;                  // of the fold, when it began to observe; as far as asked for
  std::set<DueValue> looked_;  // not known, or known by now, in this turn
};

}  // namespace locus
