// Workers whose slots never fail, their scheduler and its store in memory, in simulated time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/scheduling/scheduler.h"
#include "storage/memory/store.h"

namespace locus::bench {

inline constexpr Microseconds kSecond = 1'000'000, kMinute = 60 * kSecond, kHour = 60 * kMinute;

// Thread-compatible. What the scheduler or the store refuses ends the program, but for workers that it does not know.
class Pool {
 public:
  struct Granted {
    int worker = 0;
    Grant grant;
  };

  Pool(int workers, int slots);
  ~Pool();

  void share(AccountRow row);
  struct Asked {
    std::string placement = {};
    ServiceClass service_class = ServiceClass::kNormal;
    bool alone = false;  // on its device
    int priority = 0;
  };
  void submit(const std::string& owner, int trials) { submit(owner, trials, {}); }
  void submit(const std::string& owner, int trials, const Asked& asked);
  void enroll(int worker);  // with what it runs
  void beat(int worker);
  // Asks for work with every free slot, unless it has none or has asked already.
  void ask(int worker, Microseconds wait);
  void finish(const Granted& granted);
  void tick();

  // Whose stage is granted to the first worker, if any is.
  std::optional<Granted> take();
  std::vector<Granted> take_granted();  // since it was asked before
  bool knows(int worker) const { return workers_[static_cast<std::size_t>(worker)].known; }
  bool runs(const Granted& granted) const;

  Microseconds now() const { return now_.steady; }
  void set_time(Microseconds steady);
  void pass_to(Microseconds steady);  // and every worker is heard
  std::optional<Microseconds> next_wake() const { return scheduler_->next_wake(); }
  // How long each step took, by what it was of, in microseconds.
  std::map<std::string, std::vector<double>> take_times();
  Scheduler restored() const { return Scheduler(store_->load().value(), now_); }  // from what is stored

 private:
  struct Run {
    std::int64_t attempt = 0;
    std::vector<int> slots;
  };
  struct PoolWorker {
    std::string name;
    std::vector<int> free;
    std::map<StageId, Run> running;
    bool known = true, asking = false;
  };
  void let_go(PoolWorker& worker, StageId stage);
  void step(const char* what, Event event, int worker = -1);
  std::vector<StatedAttempt> stated(const PoolWorker& worker) const;
  PoolWorker& at(int worker) { return workers_[static_cast<std::size_t>(worker)]; }

  Now now_{.steady = kSecond, .wall = 1'700'000'000 * kSecond};
  std::unique_ptr<Store> store_;
  std::unique_ptr<Scheduler> scheduler_;
  int slots_;
  ReplyToken next_ = 1;
  std::vector<PoolWorker> workers_;
  std::map<ReplyToken, int> asked_;  // by whom
  std::vector<Granted> granted_;
  std::map<std::string, std::vector<double>> times_;
};

}  // namespace locus::bench
