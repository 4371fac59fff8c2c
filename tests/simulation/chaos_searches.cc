// People with searches: several over the same stages, extended, cancelled, rerun and overruled, and a client that asks twice.
#include "tests/simulation/chaos.h"

namespace locus::simulation {

SearchPlan Chaos::some_search(const std::string& name) {
  const std::vector<std::string> rules = {"halve", "halve", "asha", "hyperband", "race", "median", "none", "external"};
  SearchPlan plan;
  plan.rule = rules[static_cast<std::size_t>(world_.random.between(0, static_cast<std::int64_t>(rules.size()) - 1))];
  testing::Matrix& matrix = plan.matrix;
  matrix = {.name = name, .cells = {}, .seeds = {0}, .searched = true};
  const auto cells = world_.random.between(2, 5);
  for (std::int64_t i = 0; i < cells; ++i) matrix.cells.push_back("s" + std::to_string(i));
  if (world_.random.chance(0.2)) matrix.cells.push_back("diverges");
  if (plan.rule == "race") matrix.seeds = {0, 1, 2};
  if (plan.rule == "halve" && world_.random.chance(0.3)) matrix.seeds = {0, 1};
  if (plan.rule == "external") matrix.cells = {"s0"};
  plan.retrains = plan.rule != "external" && world_.random.chance(0.3);
  if (plan.retrains) matrix.cells.push_back(kChosenCell);
  matrix.evaluate = world_.random.chance(0.5);
  matrix.priority = static_cast<int>(world_.random.between(0, 1));
  give_owner(matrix);
  plan.by_trial = plan.rule == "halve" && world_.random.chance(0.3);
  const bool asynchronous = plan.rule == "asha" || plan.rule == "none" || plan.rule == "median";
  if (asynchronous || world_.random.chance(0.2)) plan.parallel = world_.random.between(1, 3);
  if (plan.rule != "external" && world_.random.chance(0.3)) plan.budget = world_.random.between(10, 60);
  return plan;
}

void Chaos::plan_searches() {
  ServerProcess& server = cluster_.server;
  const auto count = world_.random.between(1, 2);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string name = names_[static_cast<std::size_t>(2 + i)];
    const SearchPlan plan = some_search(name);
    const Microseconds at = world_.random.between(1, 60) * kSecond;
    person(at, "submits " + name + ", " + plan.rule, [&server, plan] { return server.submit(plan); });
    const auto changes = world_.random.between(0, 3);
    for (std::int64_t change = 0; change < changes; ++change)
      plan_search_change(at + world_.random.between(5, 200) * kSecond, name, plan);
    if (plan.rule != "external") continue;
    for (std::int64_t asked = 1; asked < 4; ++asked) {
      const std::string cell = "s" + std::to_string(asked), question = name + "/" + cell + "?";
      const auto ask = [&server, name, question, cell] { return server.propose(name, question, cell); };
      const Microseconds when = at + world_.random.between(5, 200) * kSecond;
      person(when, "a client asks " + question, ask);
      if (world_.random.chance(0.5))
        person(when + world_.random.between(1, 30) * kSecond, "a client asks again " + question, ask);
    }
  }
}

void Chaos::plan_search_change(Microseconds at, const std::string& name, const SearchPlan& plan) {
  ServerProcess& server = cluster_.server;
  const auto unit = world_.random.between(0, 9);
  switch (world_.random.between(0, 5)) {
    case 0: {
      SearchPlan more = plan;
      more.matrix.cells.push_back("s5");
      return person(at, "extends " + name, [&server, more] { return server.submit(more); });
    }
    case 1:
      person(at, "cancels " + name, [&server, name] { return server.set_state(name, ExperimentState::kCancelled); });
      return person(at + world_.random.between(1, 60) * kSecond, "submits " + name + " again",
                    [&server, plan] { return server.submit(plan); });
    case 2:
      return person(at, "reruns " + name, [&server, name] { return server.rerun(name); });
    case 3:
      return person(at, "lets a unit of " + name + " go on",
                    [&server, name, unit] { return server.overrule(name, unit, true); });
    case 4:
      return person(at, "stops a unit of " + name,
                    [&server, name, unit] { return server.overrule(name, unit, false); });
    default:
      return person(at, "pauses " + name, [&server, name] { return server.set_state(name, ExperimentState::kPaused); });
  }
}

}  // namespace locus::simulation
