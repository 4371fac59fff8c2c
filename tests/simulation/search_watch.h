// Watches the logs of searches and what follows from them: invariants 15 to 23.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/ports/store.h"
#include "core/search/fold.h"
#include "tests/simulation/world.h"

namespace locus::simulation {

class SearchWatch {
 public:
  explicit SearchWatch(World& world) : world_(world) {}

  // Stored just now: what was appended, and that links and stop points follow from it.
  void enter(const AppendDecisions& appended, Store& store);
  void check_links(ExperimentId experiment, Store& store) const;
  void check_retrained(const TrialView& view, const Fold& fold, Store& store) const;
  // A grant that is stored goes to where its stage is to stop, from where it has come.
  void check_grant(const GrantAttempt& grant, Store& store) const;
  // A stage that has parked has nobody who wants more of it, and what somebody may want again is kept.
  void check_parked(StageId stage, Store& store) const;
  // A client was told that its proposal is in the log. `asked` is what it calls its question, whose repetitions name it, too.
  void acknowledged(ExperimentId experiment, const std::string& asked) { promised_.insert({experiment, asked}); }
  void forget(ExperimentId experiment);
  // In peace.
  void check_end(Store& store) const;

  const Fold* fold(ExperimentId experiment) const;
  std::vector<ExperimentId> searches() const;
  // What was decided, without where it was observed: as sorted text.
  std::multiset<std::string> decisions(ExperimentId experiment) const;
  std::int64_t seen(const std::string& kind) const;  // rows of a kind, or "revised"

 private:
  struct Log {
    Fold fold;
    std::vector<DecisionRow> rows;
    bool overridden = false;
    std::map<std::int64_t, std::string> chosen;  // by generation: what the first phase chose
  };
  void take(Log& log, const DecisionRow& row, Store& store);
  void check_observed(const DecisionRow& row, const ObserveDecision& seen, const Log& log, Store& store) const;
  void check_limits(ExperimentId experiment, const Log& log, Store& store) const;

  World& world_;
  std::map<ExperimentId, Log> logs_;
  std::set<std::pair<ExperimentId, std::string>> promised_;
  std::map<std::string, std::int64_t> seen_;
};

// The furthest that any live link wants of a stage.
std::int64_t stop_point(StageId stage, Store& store);

}  // namespace locus::simulation
