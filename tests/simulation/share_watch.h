// Keeps books of its own of what accounts hold: invariants 26 to 29.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/ports/store.h"
#include "core/scheduling/scheduler.h"

namespace locus::simulation {

// Where a slot of a worker is, as it has announced it.
struct SlotPlace {
  bool cpu = true;
  int device = 0;                                              // slots with the same are on one; the CPU's all are
  std::int64_t weight() const { return cpu ? 1000 : 10'000; }  // in thousandths of devices
  bool operator==(const SlotPlace&) const = default;
};
std::vector<SlotPlace> places_of(const WorkerRow& worker);  // by slot
int devices_together(const WorkerRow& worker);              // that a training could take
std::int64_t heaviest_of(const Snapshot& stored);           // what any attempt could take, at most

AccountRow account_of(const std::vector<AccountRow>& accounts, const std::string& name);  // defaults where it has none
// Of the active experiments that want the stage, those that ask for labels or several devices where `placed`: whose, and
// how urgent.
std::set<std::pair<ServiceClass, std::string>> wanted_by(StageId stage, const Snapshot& stored, bool placed);

class ShareWatch {
 public:
  // What a running stage takes: of each of these accounts so many thousandths of devices.
  struct Held {
    std::vector<std::string> accounts;
    std::int64_t part = 0;
    ServiceClass service_class = ServiceClass::kNormal;
  };

  // A stage that could have been granted instead.
  struct Waiting {
    StageId stage = 0;
    bool fresh = false;  // queued, never tried, and every worker can run it: nothing keeps it back
    bool alone = false;
    bool estimated = false;  // the server was told how long it takes, so it may start where others may not
  };

  // 26: no account is granted more than its bounds allow. 27: of the stages that could have been granted instead none is
  // more urgent, or of an account that holds less for its weight.
  void check_grant(const GrantAttempt& grant, const Waiting& granted, const std::vector<Waiting>& waiting,
                   const WorkerRow& worker, Store& store);
  // 29: a stage goes to who has the labels that an experiment asks for that wants it, granted, or of its machine.
  void check_labels(const GrantAttempt& grant, Store& store);
  void enter(const EndAttempt& end);
  // 28: where the scheduler says that an account's bound keeps a stage waiting, it does.
  void check_reason(const std::string& reason, Store& store) const;
  std::int64_t holding(const std::string& account) const;  // thousandths of devices
  const Held* held(StageId stage) const;                   // null: it does not run
  std::int64_t seen(const std::string& what) const;

 private:
  std::int64_t urgent(const std::string& account) const;
  void check_bounds(const GrantAttempt& grant, const std::vector<AccountRow>& accounts);
  void check_turn(const GrantAttempt& grant, const std::vector<Waiting>& waiting,
                  const std::vector<AccountRow>& accounts, Store& store);

  std::map<StageId, Held> held_;
  std::map<std::string, std::int64_t> seen_;
};

}  // namespace locus::simulation
