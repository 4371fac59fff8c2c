// The scheduler alone under a fleet: see scheduler_fleet.h.
#include "bench/scheduler_fleet.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "bench/pool.h"
#include "core/experiment/labels.h"

namespace locus::bench {
namespace {

constexpr Microseconds kBeat = 5 * kSecond, kWait = 20 * kSecond;

double mebibytes_in_use() {
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd) / (1 << 20);
}

class SchedulerFleet {
 public:
  SchedulerFleet(const char* load, int workers, int slots, int accounts)
      : load_(load), workers_(workers), accounts_(accounts), pool_(workers, slots) {
    for (int w = 0; w < workers; ++w) agenda_.push({pool_.now() + kBeat * w / workers, w, {}});
    print("enrolled");
  }

  void submit(int stages) {
    if (accounts_ > 1) pool_.share({.name = "a0", .weight = 2});
    const int each = stages / accounts_;
    for (int account = 0; account < accounts_; ++account) {
      const auto service_class = accounts_ == 1      ? ServiceClass::kNormal
                                 : account % 10 == 1 ? ServiceClass::kUrgent
                                 : account % 10 == 2 ? ServiceClass::kScavenge
                                                     : ServiceClass::kNormal;
      pool_.submit("a" + std::to_string(account), each, {.service_class = service_class});
    }
    // That wait for a worker of another kind: nobody has the label.
    pool_.submit("a0", 100, {.placement = placement_text({.require = {{"pool", "none"}}, .prefer = {}})});
    print("submitted");
  }

  // Before everything else: stages that run alone, and trainings over several devices.
  void submit_large(int each) {
    pool_.submit("a0", each, {.alone = true, .priority = 1});
    pool_.submit("a0", each, {.placement = placement_text({.require = {}, .prefer = {}, .devices = 4}), .priority = 1});
    print("large ones submitted");
  }

  void fill() {
    for (int w = 0; w < workers_; ++w) ask(w);
    print("every slot filled");
  }

  void work(Microseconds time) {
    silent_ = std::max(1, workers_ / 100);
    pass(time);
    print("at work, some silent");
  }

  // Its first stages are all that there is to do.
  void idle(Microseconds time) {
    pass(time);
    print("most wait for work");
  }

  void print_memory() {
    const double before = mebibytes_in_use();
    const Scheduler scheduler = pool_.restored();
    std::printf(R"({"row": "scheduler memory", "load": "%s", "queued": %zu, "mib": %.1f})"
                "\n",
                load_, scheduler.fleet().queued, mebibytes_in_use() - before);
  }

 private:
  // A heartbeat of a worker, or the end of what it was granted.
  struct Due {
    Microseconds at = 0;
    int worker = 0;
    std::optional<Pool::Granted> granted;
    bool operator>(const Due& other) const { return at > other.at; }
  };

  void ask(int worker) {
    for (;;) {
      pool_.ask(worker, kWait);
      const std::vector<Pool::Granted> granted = pool_.take_granted();
      if (granted.empty()) return;
      take(granted);
    }
  }

  void take(const std::vector<Pool::Granted>& granted) {
    std::uniform_int_distribution<Microseconds> takes(10 * kMinute, 30 * kMinute);
    for (const Pool::Granted& one : granted) agenda_.push({pool_.now() + takes(random_), one.worker, one});
  }

  void pass(Microseconds time) {
    const Microseconds until = pool_.now() + time;
    while (agenda_.top().at < until) {
      if (const auto wake = pool_.next_wake(); wake && *wake < agenda_.top().at) {
        pool_.set_time(std::max(pool_.now(), *wake));
        pool_.tick();
        continue;
      }
      const Due due = agenda_.top();
      agenda_.pop();
      pool_.set_time(std::max(pool_.now(), due.at));
      if (!due.granted) agenda_.push({due.at + kBeat, due.worker, {}});
      if (due.worker < silent_) continue;
      if (!pool_.knows(due.worker)) pool_.enroll(due.worker);
      if (due.granted) {
        pool_.finish(*due.granted);
      } else {
        pool_.beat(due.worker);
      }
      take(pool_.take_granted());
      ask(due.worker);
    }
    silent_ = 0;
  }

  void print(const char* phase) {
    for (auto& [what, times] : pool_.take_times()) {
      std::sort(times.begin(), times.end());
      double sum = 0;
      for (const double each : times) sum += each;
      std::printf(
          R"({"row": "step", "load": "%s", "phase": "%s", "event": "%s", "count": %zu, "mean_us": %.1f, "p50_us": %.1f, "p99_us": %.1f, "most_us": %.0f})"
          "\n",
          load_, phase, what.c_str(), times.size(), sum / static_cast<double>(times.size()), times[times.size() / 2],
          times[times.size() * 99 / 100], times.back());
    }
    std::fflush(stdout);
  }

  const char* const load_;
  const int workers_, accounts_;
  Pool pool_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> agenda_;
  std::mt19937 random_{1};
  int silent_ = 0;  // the first of the workers
};

}  // namespace

void measure_fleet(int workers, int slots, int stages) {
  for (const int accounts : {1, 100}) {
    SchedulerFleet fleet(accounts == 1 ? "one account" : "100 accounts", workers, slots, accounts);
    fleet.submit(stages);
    fleet.fill();
    fleet.print_memory();
    fleet.work(15 * kMinute);
  }
  {
    SchedulerFleet fleet("500 alone, 500 of four slots", workers, slots, 1);
    fleet.submit(stages);
    fleet.fill();
    fleet.submit_large(500);
    fleet.work(3 * kMinute);
  }
  SchedulerFleet fleet("half of the slots", workers, slots, 1);
  fleet.submit(workers * slots / 2);
  fleet.fill();
  fleet.idle(kMinute);
}

}  // namespace locus::bench
