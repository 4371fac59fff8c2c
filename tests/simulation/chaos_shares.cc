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
  if (what == 2) matrix.placement = placement_text({.require = {{"pool", "vision"}}, .prefer = {}});
}

AccountRow Chaos::some_account(const std::string& name) {
  AccountRow row{.name = name, .weight = draw_.between(1, 3), .may_be_urgent = true};
  if (draw_.chance(0.4)) row.devices = draw_.between(0, 3);
  if (draw_.chance(0.2)) row.urgent_devices = draw_.between(0, 2);
  return row;
}

void Chaos::plan_shares() {
  ServerProcess& server = cluster_.server;
  for (const std::string& name : kOwners) {
    if (draw_.chance(0.3)) continue;
    const auto times = draw_.between(1, 3);
    for (std::int64_t i = 0; i < times; ++i) {
      const Microseconds at = draw_.between(0, 250) * kSecond;
      person(at, "gives " + name + " a share", [&server, row = some_account(name)] { return server.share(row); });
    }
  }
}

// A bound may keep work waiting for ever.
void Chaos::lift_bounds() {
  if (!shared_) return;
  for (const std::string& name : kOwners) (void)cluster_.server.share({.name = name});
}

}  // namespace locus::simulation
