// A phase of a search as its rules see it: what the log has granted, observed and decided. Kept by Fold; the rules read it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/search/fold.h"
#include "core/search/pieces.h"
#include "core/search/standings.h"

namespace locus {

// A value of a trial in the log. `value` is as observed, not turned; absent: there is none for good.
struct SeenValue {
  std::optional<double> value;
  std::int64_t number = 0;  // of the observation
  bool good() const;        // there and finite
};
// Metric ("": the contract's), step -> value.
using TrialValues = std::map<std::pair<std::string, std::int64_t>, SeenValue>;

// What the rules keep of a unit beside its course.
struct UnitFlags {
  bool stopped = false;         // by a rule or a person
  std::int64_t stopped_at = 0;  // the step its trials are to keep
  bool counted = false;         // in the standings, as it is
};

// Values, not turned: of a metric that is not the contract's.
using OtherCurves = std::map<std::string, std::map<std::int64_t, double>>;

// Plain state with the questions that every rule asks. Copies share what neither has changed. Thread-compatible.
struct PhaseCourse {
  std::shared_ptr<const SearchSetup> setup;
  Pieces<UnitCourse> units;
  Pieces<UnitFlags> flags;  // of each unit
  std::vector<std::vector<std::int64_t>>
      ladders;                        // what the rungs are in epochs or seeds: of each bracket, or group of a race
  Shelves<TrialValues> values;        // by trial
  Shelves<OtherCurves> other_curves;  // by unit
  std::map<std::pair<std::int64_t, std::int64_t>, Arrivals> arrivals;  // at (group, rung), where anybody asks
  Pieces<std::vector<std::int64_t>> arrived;  // of each unit: its places there, by rung; -1: none
  Standings standings;
  std::optional<std::vector<ChosenCandidate>> choice;
  bool ended = false;
  std::string reason;
  Fold::Spent spent;
  std::int64_t first_waiting = 0;   // the first unit that waits to be proposed, or one past the last
  Shelves<bool> begun;              // cells of units that were sent anywhere; as many as proposals were spent
  std::set<std::int64_t> fresh;     // units under way whose curves have grown since the rules last answered
  std::set<std::int64_t> stopping;  // of them, whom a stopping rule stops now

  // ---- how far ----
  bool of_seeds() const;    // rungs count seeds
  bool of_rungs() const;    // each rung is a training of its own
  bool runs_ahead() const;  // asha that does not park
  const std::vector<std::int64_t>& ladder(std::int64_t unit) const;
  std::int64_t top(std::int64_t unit) const { return static_cast<std::int64_t>(ladder(unit).size()) - 1; }
  double steps_per_epoch(std::int64_t unit) const;
  std::int64_t last_step(std::int64_t unit) const;
  // Optimizer steps between validations; 0: none before the end.
  std::int64_t validation_steps(std::int64_t unit) const;
  // Where a rung's score is read: kToTheEnd for results by the contract.
  std::int64_t score_step(std::int64_t unit, std::int64_t rung) const;
  // The trials whose mean it is.
  std::vector<std::int64_t> trials_at(std::int64_t unit, std::int64_t rung) const;
  // All that a unit sent to this rung has been granted; none below rung 0.
  std::vector<std::int64_t> granted(std::int64_t unit, std::int64_t rung) const;
  // What that costs in all.
  Fold::Spent cost(std::int64_t unit, std::int64_t rung) const;
  // The step up to which a unit's present training is granted.
  std::int64_t sent_step(std::int64_t unit) const;
  // The newest step at which all of its trials have been seen; at least 1.
  std::int64_t stood_at(std::int64_t unit) const;

  // ---- who ----
  const std::vector<std::vector<std::int64_t>>& members() const { return layout_->members; }  // units of each group
  const std::unordered_map<std::int64_t, std::int64_t>& unit_of_trial() const { return layout_->unit_of_trial; }
  double turned(double value) const { return setup->maximize ? value : -value; }
  const SeenValue* seen(std::int64_t trial, std::int64_t step, const std::string& metric = {}) const;
  // The score of a unit at a rung: larger better, worst_score() where a trial has none for good or one that is not finite; nothing while
  // one is to come.
  std::optional<double> score(std::int64_t unit, std::int64_t rung) const;
  bool running(std::int64_t unit) const;  // sent further than it has been seen
  std::int64_t running() const { return standings.in_state(UnitState::kRunning); }
  // The value of a unit that reaches the budget's target, if one does.
  std::optional<double> reached(std::int64_t unit) const;
  // Whether every unit that ever will has been proposed: those of the list, and of a client none to come.
  bool all_proposed() const;
  std::optional<std::int64_t> next_proposal() const;  // the first that waits for it and has a place in a bracket
  std::string name(std::int64_t unit) const;          // for people: "proposal 7 of {...}"

  // ---- changes, by Fold alone ----
  void begin(SearchSetup setup);  // or extends
  void add(const std::vector<SearchUnitRow>& rows, const std::vector<SearchChoiceGroup>& choices = {});
  void send(std::int64_t unit, std::int64_t rung);
  void settle(std::int64_t unit);
  void stop(std::int64_t unit, std::int64_t step, bool settled, const std::string& why);
  void let_go_on(std::int64_t unit, std::int64_t rung, const std::string& why);  // what a person says
  void refresh(std::int64_t unit);  // its scores, curves and state, after something of it has changed
  void observe(const ObserveDecision& observed, std::int64_t number);
  void end(const std::string& why);
  void forget_fresh(std::int64_t unit) { fresh.erase(unit), stopping.erase(unit); }
  void forget_fresh() { fresh.clear(), stopping.clear(); }

 private:
  void place();  // groups, brackets, ladders
  // What changes a unit holds one meanwhile: it leaves the standings and comes back as it is then.
  class Change {
   public:
    Change(PhaseCourse& phase, std::int64_t unit);
    ~Change();
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    PhaseCourse& phase_;
    const std::int64_t unit_;
    const bool outermost_;
    const bool finished_;  // before
  };
  friend class Change;
  struct Layout {
    std::vector<std::vector<std::int64_t>> members;
    std::unordered_map<std::int64_t, std::int64_t> unit_of_trial;
  };
  std::shared_ptr<const Layout> layout_ = std::make_shared<Layout>();

  void take_all();                      // those that are not in the standings yet
  void pass_begun();                    // first_waiting
  void reconsider(std::int64_t unit);   // whether it stops
  bool waits(std::int64_t unit) const;  // to be proposed
  bool arrives() const;                 // whether anybody asks who came when
  void rescore(std::int64_t unit, std::int64_t rung);
  double recorded(std::int64_t unit, std::int64_t rung) const;
  void arrive(std::int64_t unit, std::int64_t rung);
  void rank_arrivals(std::int64_t group, std::int64_t rung);  // anew, as scores were revised
  void count_arrival(std::int64_t unit, bool parked);
  void refresh_curves(std::int64_t unit);
  void refresh_curve(std::int64_t unit, const std::string& metric, std::int64_t step);
  UnitState state_of(std::int64_t unit) const;
};

}  // namespace locus
