// Keeps books of its own of slots, and of who stops for whom: invariants 30 to 34.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/ports/store.h"
#include "tests/simulation/share_watch.h"

namespace locus::simulation {

class ExchangeWatch {
 public:
  // 30: no slot of a worker is held twice (its trainers are asked, too: WorkerProcess::take), and an attempt has all the
  // slots that an experiment asks for that wants it, each of a device of its own but for a CPU's.
  // 31: what was stopped for others goes on from its newest checkpoint.
  void enter(const GrantAttempt& grant, const std::string& kind, const WorkerRow& worker, Store& store);
  // 31: and it counts as no failure, and waits for nothing.
  void enter(const EndAttempt& end);
  void enter(const CommitCheckpoint& checkpoint);
  // 32: who is stopped for another stage has none of its accounts, does not run alone, and comes after it: by its class, or
  // since its accounts hold as much for their weights without it as the other's with what it takes.
  void enter(const AppendEvent& event, const ShareWatch& shares, Store& store, Microseconds now);
  void moved(StageId stage) { saved_.erase(stage); }  // by people: it may begin afresh
  // 33: whoever does not stop in time is ended. Asked after every step that was stored.
  void check_ended(Microseconds now, Microseconds most) const;
  // A server that starts again knows nothing of whom it asked.
  void forget_asked() { asked_.clear(); }
  std::set<StageId> take_waiting() { return std::exchange(waiting_, {}); }  // for which others were asked since
  // 34: that stage is said to wait for those that were asked to stop for it, and for no others.
  void check_reason(StageId stage, const std::string& reason) const;
  bool asked_to_stop(StageId stage) const { return asked_.contains(stage); }  // for another one
  std::int64_t seen(const std::string& what) const;

 private:
  struct Running {
    WorkerId worker = 0;
    std::vector<int> slots;
    std::string kind;
  };
  struct Asked {
    StageId stage = 0;  // for which it stops
    Microseconds since = 0;
  };
  std::int64_t leaving(const std::string& account, const ShareWatch& shares) const;
  std::int64_t coming(const std::string& account, Store& store) const;
  void check_exchange(StageId victim, StageId stage, const ShareWatch& shares, Store& store) const;

  std::map<StageId, Running> running_;
  std::map<StageId, std::pair<std::int64_t, std::int64_t>> newest_;  // attempt and step of the newest checkpoint
  std::set<StageId> saved_;                                          // stopped for others since their last grant
  std::map<StageId, Asked> asked_;
  std::set<StageId> waiting_;
  std::map<std::string, std::int64_t> seen_;
};

}  // namespace locus::simulation
