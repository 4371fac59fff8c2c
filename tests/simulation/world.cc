// Time, chance, processes and the network: see world.h.
#include "tests/simulation/world.h"

#include <algorithm>

namespace locus::simulation {

std::uint64_t Random::draw() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void World::at(Microseconds when, std::function<void()> action) {
  agenda_.push_back({std::max(when, now_), next_order_++, std::move(action)});
  std::push_heap(agenda_.begin(), agenda_.end(), std::greater<>());
}

bool World::step(Microseconds until) {
  if (agenda_.empty() || agenda_.front().when > until) return false;
  std::pop_heap(agenda_.begin(), agenda_.end(), std::greater<>());
  Entry entry = std::move(agenda_.back());
  agenda_.pop_back();
  now_ = entry.when;
  entry.action();
  return true;
}

void Process::boot() {
  if (up_) return;
  up_ = true;
  stopped_ = false;
  ++incarnation_;
  steady_offset_ = world_.random.between(0, 1'000'000) * kSecond;
  world_.trace(name_, " boots");
  on_boot();
}

void Process::crash() {
  if (!up_) return;
  up_ = false;
  stopped_ = false;
  waiting_.clear();
  ++incarnation_;
  world_.trace(name_, " crashes");
  on_crash();
}

void Process::stop() {
  if (!up_ || stopped_) return;
  stopped_ = true;
  world_.trace(name_, " is stopped");
}

void Process::resume() {
  if (!up_ || !stopped_) return;
  stopped_ = false;
  world_.trace(name_, " goes on");
  const auto waiting = std::exchange(waiting_, {});
  for (const auto& action : waiting) deliver(action);
}

void Process::deliver(std::function<void()> action) {
  if (!up_) return;
  if (stopped_) {
    waiting_.push_back(std::move(action));
  } else {
    action();
  }
}

void Process::after(Microseconds delay, std::function<void()> action) {
  world_.at(world_.now() + delay, [this, incarnation = incarnation_, run = std::move(action)] {
    if (incarnation == incarnation_) deliver(run);
  });
}

bool Network::broken(const Process& from, const Process& to) const {
  return std::count(cuts_.begin(), cuts_.end(), std::pair(&from, &to)) > 0;
}

void Network::cut(const Process& from, const Process& to, bool broken) {
  const std::pair link(&from, &to);
  std::erase(cuts_, link);
  if (broken) cuts_.push_back(link);
  world_.trace("link ", from.name(), " -> ", to.name(), broken ? " is cut" : " is whole");
}

void Network::heal() {
  cuts_.clear();
  rough_ = false;
}

void Network::send(const Process& from, Process& to, std::function<void()> on_arrival) {
  Random& random = world_.random;
  const int copies = rough_ && random.chance(0.05) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    Microseconds delay = random.between(1, 20) * kMillisecond;
    if (rough_ && random.chance(0.2)) delay += random.between(0, 5000) * kMillisecond;
    if (rough_ && random.chance(0.01)) delay += random.between(0, 60) * kSecond;
    const bool lost = rough_ && random.chance(0.1);
    ++in_flight_;
    world_.at(world_.now() + delay, [this, lost, &from, &to, on_arrival] {
      --in_flight_;
      if (!lost && !broken(from, to)) to.deliver(on_arrival);
    });
  }
}

}  // namespace locus::simulation
