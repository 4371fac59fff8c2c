// The simulated world: one thread, one clock, one seeded source of chance, an agenda of what happens when.
#pragma once

#include <cstdint>
#include <functional>
#include <iostream>
#include <queue>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"

namespace locus::simulation {

constexpr Microseconds kMillisecond = 1000;
constexpr Microseconds kSecond = 1000 * kMillisecond;

// An invariant that does not hold. Ends the history.
struct Violation : std::runtime_error {
  Violation(int invariant_, const std::string& what)
      : std::runtime_error("invariant " + std::to_string(invariant_) + ": " + what), invariant(invariant_) {}
  int invariant;
};

// splitmix64: the same seed gives the same history on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint64_t draw();
  bool chance(double probability) { return static_cast<double>(draw() >> 11) * 0x1.0p-53 < probability; }
  // Uniform in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::uint64_t state_;
};

class World {
 public:
  World(std::uint64_t seed, bool trace) : random(seed), trace_(trace) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Microseconds now() const { return now_; }  // true time, which no process can read
  void at(Microseconds when, std::function<void()> action);
  // Lets the next thing happen, if there is one before `until`.
  bool step(Microseconds until);
  std::size_t agenda_size() const { return agenda_.size(); }

  bool tracing() const { return trace_; }
  template <class... Parts>
  void trace(const Parts&... parts) {
    if (!trace_) return;
    std::cout << static_cast<double>(now_) / static_cast<double>(kSecond) << " s: ";
    (std::cout << ... << parts) << '\n';
  }

  Random random;

 private:
  struct Entry {
    Microseconds when;
    std::int64_t order;
    std::function<void()> action;
    bool operator>(const Entry& other) const { return std::pair(when, order) > std::pair(other.when, other.order); }
  };
  Microseconds now_ = 0;
  std::int64_t next_order_ = 0;
  std::vector<Entry> agenda_;  // a heap, first entry first
  bool trace_;
};

// Something that runs on a machine: can crash, boot, be stopped and go on. Its clocks are its own.
class Process {
 public:
  Process(World& world, std::string name) : world_(world), name_(std::move(name)) {}
  virtual ~Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const std::string& name() const { return name_; }
  bool up() const { return up_; }
  bool stopped() const { return stopped_; }
  bool responsive() const { return up_ && !stopped_; }

  void boot();
  void crash();
  void stop();    // SIGSTOP: nothing runs, the clocks go on, messages wait in sockets
  void resume();  // SIGCONT
  void jump_wall(Microseconds to) { wall_offset_ = to - world_.now(); }

  // Runs now, or when the process goes on; never, if it crashes first.
  void deliver(std::function<void()> action);
  // Runs after a delay, likewise.
  void after(Microseconds delay, std::function<void()> action);

  Microseconds steady() const { return world_.now() + steady_offset_; }  // its zero changes with every boot
  Microseconds wall() const { return world_.now() + wall_offset_; }

 protected:
  virtual void on_boot() = 0;
  virtual void on_crash() = 0;
  World& world_;

 private:
  std::string name_;
  bool up_ = false, stopped_ = false;
  std::int64_t incarnation_ = 0;
  Microseconds steady_offset_ = 0, wall_offset_ = 1'700'000'000 * kSecond;
  std::vector<std::function<void()>> waiting_;  // delivered while stopped
};

// Carries messages between processes: late, twice, out of order or never.
class Network {
 public:
  explicit Network(World& world) : world_(world) {}
  void send(const Process& from, Process& to, std::function<void()> on_arrival);
  void cut(const Process& from, const Process& to, bool broken);
  void set_rough(bool rough) { rough_ = rough; }
  void heal();
  int in_flight() const { return in_flight_; }

 private:
  bool broken(const Process& from, const Process& to) const;
  World& world_;
  bool rough_ = false;
  int in_flight_ = 0;
  std::vector<std::pair<const Process*, const Process*>> cuts_;
};

}  // namespace locus::simulation
