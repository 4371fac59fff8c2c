// People that share the workers: experiments of several accounts, whose shares and bounds change while work runs.
#include "tests/simulation/chaos.h"

namespace locus::simulation {
namespace {

const std::vector<std::string> kOwners = {"ada", "bob", "eve"};

}  // namespace

void Chaos::give_owner(testing::Matrix& matrix) {
  if (!shared_) return;
  matrix.owner = kOwners[static_cast<std::size_t>(draw_.between(0, 2))];
  const auto what = draw_.between(0, 5);
  if (what == 0) matrix.service_class = ServiceClass::kUrgent;
  if (what == 1) matrix.service_class = ServiceClass::kScavenge;
  const Labels pool = what == 2 ? Labels{{"pool", "vision"}} : Labels{};
  const int devices = draw_.chance(0.3) ? static_cast<int>(draw_.between(2, most_)) : 1;
  if (what == 2 || devices > 1) matrix.placement = placement_text({.require = pool, .prefer = {}, .devices = devices});
  give_place(matrix);
}

// On hardware alike, whichever that will be; so it asks for nothing that only some have.
void Chaos::give_place(testing::Matrix& matrix) {
  if (!matrix.placement.empty() || more_.chance(0.75)) return;
  std::erase(matrix.cells, "c");
  if (matrix.cells.empty()) matrix.cells = {"a"};
  matrix.dataset.clear();
  matrix.placement = placement_text({.require = {}, .prefer = {}, .alike = {{"node/kind", ""}}});
}

// What is said of how long things take need not be so.
void Chaos::plan_estimates() {
  if (more_.chance(0.5)) return;
  const auto times = more_.between(2, 12);
  for (std::int64_t i = 0; i < times; ++i) {
    const Microseconds at = more_.between(2, 280) * kSecond;
    const std::uint64_t chance = more_.draw();
    world_.at(at, [this, chance] { cluster_.server.estimate(chance); });
  }
}

// The first worker, and who takes its place, has room for every training.
void Chaos::set_up_workers() {
  most_ = draw_.between(2, 4);
  for (const auto& worker : cluster_.workers) {
    const bool first = worker->name() == cluster_.workers.front()->name();
    const auto slots = static_cast<int>(first ? most_ : draw_.between(1, 4));
    const bool deaf = draw_.chance(0.4);
    const int per_device = more_.chance(0.3) ? static_cast<int>(first ? 1 : more_.between(1, 2)) : 0;
    const Microseconds lifetime = !first && more_.chance(0.3) ? more_.between(40, 240) * kSecond : 0;
    worker->set_up(slots, deaf, per_device, lifetime);
  }
}

AccountRow Chaos::some_account(const std::string& name) {
  AccountRow row{.name = name, .weight = draw_.between(1, 3), .may_be_urgent = true};
  if (draw_.chance(0.4)) row.devices = draw_.between(0, 3);
  if (draw_.chance(0.2)) row.urgent_devices = draw_.between(0, 2);
  if (more_.chance(0.15)) row.device_hours = more_.between(0, 1);
  return row;
}

void Chaos::plan_shares() {
  ServerProcess& server = cluster_.server;
  plan_hurry();
  for (const std::string& name : kOwners) {
    if (draw_.chance(0.3)) continue;
    const auto times = draw_.between(1, 3);
    for (std::int64_t i = 0; i < times; ++i) {
      const Microseconds at = draw_.between(0, 250) * kSecond;
      person(at, "gives " + name + " a share", [&server, row = some_account(name)] { return server.share(row); });
    }
  }
}

// Work that wants room while others have it: trials of nobody else's, soon after somebody was given a share.
void Chaos::plan_hurry() {
  ServerProcess& server = cluster_.server;
  if (draw_.chance(0.3)) return;
  person(draw_.between(0, 20) * kSecond, "gives eve a share", [&server] { return server.share({.name = "eve"}); });
  for (const char* name : {"five", "six"}) {
    testing::Matrix matrix{.name = name, .cells = {"a", "b"}, .seeds = {draw_.between(7, 9)}};
    give_owner(matrix);
    if (draw_.chance(0.5)) matrix.service_class = ServiceClass::kUrgent;
    person(draw_.between(10, 120) * kSecond, std::string("submits ") + name,
           [&server, matrix] { return server.submit(matrix); });
  }
}

// A bound may keep work waiting for ever.
void Chaos::lift_bounds() {
  if (!shared_) return;
  for (const std::string& name : kOwners) (void)cluster_.server.share({.name = name});
}

}  // namespace locus::simulation
