// Keeps books of its own of where stages may start: invariants 35 to 37, and of what is said of that.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/ports/store.h"
#include "core/scheduling/scheduler.h"
#include "tests/simulation/exchange_watch.h"

namespace locus::simulation {

class PlaceWatch {
 public:
  struct Queued {
    StageId stage = 0;
    std::string kind;
    bool fresh = false;  // never tried
  };

  // 35: what starts where a training that comes before it waits for every device of the worker is over, at the latest, when
  // what runs there is over, at the latest. 36: a worker that ends or is drained later is given nothing that is estimated to
  // end after that, and one that ends nothing longer than its life once half of that is over. 37: an experiment that asks for it has all its stages on
  // workers alike.
  void check_grant(const GrantAttempt& grant, const std::vector<Queued>& queued, const ExchangeWatch& exchanges,
                   Store& store, Now now);
  void enter(const EndAttempt& end) { running_.erase(end.stage_id); }
  void enter(const SaveExperiment& saved);
  void enter(const SetExperimentPlacement& settled);
  // What the server knows by its workers and by what it was told. Times are true ones, but for its wall clock.
  void registered(const WorkerRegistered& event, Microseconds now);
  void estimated(const std::map<StageId, Microseconds>& busy);
  void restarted(Store& store, Microseconds now);
  void forget(StageId stage) { estimates_.erase(stage); }  // it has ended
  Microseconds estimate(StageId stage) const;              // 0: none

  // 28: which worker is too small, kept for another, of another kind or about to end, and whose account comes first.
  void check_reason(StageId stage, const std::string& reason, const ShareWatch& shares, Store& store, Now now);
  std::int64_t seen(const std::string& what) const;

 private:
  struct RunningPlace {
    WorkerId worker = 0;
    std::optional<Microseconds> ends;  // at the latest; absent: nobody knows
    bool told = false;                 // an estimate came while it ran
  };
  struct Life {
    Microseconds ends = 0, length = 0;
  };
  void check_ahead(const GrantAttempt& grant, const std::vector<Queued>& queued, const ExchangeWatch& exchanges,
                   const Snapshot& stored, Microseconds now);
  void check_drain(const GrantAttempt& grant, const WorkerRow& worker, Microseconds wall);
  void check_life(const GrantAttempt& grant, const WorkerRow& worker, Microseconds now);
  void check_alike(const GrantAttempt& grant, const WorkerRow& worker, const Snapshot& stored);
  bool waits_for_all_of(const Queued& waiting, const WorkerRow& worker, const Snapshot& stored) const;
  std::optional<Microseconds> longest(StageId stage, const Snapshot& stored) const;
  void check_size(StageId stage, const std::string& reason, const Snapshot& stored);
  void check_kept(StageId stage, const std::string& reason, const Snapshot& stored);
  void check_kind(StageId stage, const std::string& reason, const Snapshot& stored);
  void check_end(StageId stage, const std::string& reason, const Snapshot& stored, Now now);
  void check_first(const std::string& reason, const ShareWatch& shares, Store& store);

  std::map<StageId, RunningPlace> running_;
  std::map<std::string, Life> lives_;  // of workers, by name
  std::map<StageId, Microseconds> estimates_;
  std::map<std::pair<ExperimentId, std::string>, std::string> settled_;  // by experiment and label
  std::map<std::string, std::int64_t> seen_;
};

}  // namespace locus::simulation
