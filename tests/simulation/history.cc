// Playing histories: see history.h.
#include "tests/simulation/history.h"

#include "tests/simulation/chaos.h"

namespace locus::simulation {
namespace {

// After the last fault: a grace, every retry with its longest back-off, and the work itself, with room to
// spare.
constexpr Microseconds kSettlingMost = 3600 * kSecond;

void count(Cluster& cluster, Outcome& outcome) {
  for (const auto& [id, record] : cluster.ledger.stages()) {
    outcome.seen[std::string("stages ") + to_string(record.state)] += 1;
    outcome.attempts += record.attempt;
    for (const auto& [number, attempt] : record.attempts) {
      outcome.seen[std::string("attempts ") + to_string(attempt.state)] += 1;
      if (record.alone()) outcome.seen["attempts that ran alone"] += 1;
      if (attempt.resume_step > 0) outcome.seen["attempts resumed from a checkpoint"] += 1;
      if (attempt.failure_class == FailureClass::kTimeout) outcome.seen["attempts out of time"] += 1;
    }
  }
  for (const auto& [reason, times] : cluster.server.refusals()) outcome.seen["refused " + reason] += times;
  outcome.seen["stages let go of after a restart"] += cluster.server.unreferenced_found();
  for (const char* kind :
       {"begin", "observe", "propose", "advance", "stop", "choose", "end", "override", "of a second phase"})
    outcome.seen[std::string("decisions ") + kind] += cluster.ledger.searches().seen(kind);
  for (const char* what : {"grants within a bound", "turns compared", "grants where a label was asked for"})
    outcome.seen[what] += cluster.ledger.shares().seen(what);
  for (const char* what :
       {"grants of several devices", "attempts asked to stop for others", "attempts stopped for others",
        "attempts ended for others", "attempts after one that was stopped for others"})
    outcome.seen[what] += cluster.ledger.exchanges().seen(what);
  for (const char* what :
       {"grants that fit before another begins", "grants to a worker that ends", "grants on workers alike",
        "reasons that name a size", "reasons that name what slots are kept for", "reasons that name what runs alone",
        "reasons that name a label", "reasons that name one of the kind", "reasons that name an end",
        "reasons that name who comes first"})
    outcome.seen[what] += cluster.ledger.places().seen(what);
  for (const auto& worker : cluster.workers) outcome.seen["attempts fenced and freed again"] += worker->freed();
}

void play(Cluster& cluster, Chaos& chaos, const std::function<Microseconds()>& plan, Outcome& outcome) {
  World& world = cluster.world;
  try {
    const Microseconds peace = plan();
    while (world.now() < peace || !chaos.person_is_done() || !cluster.settled()) {
      if (!world.step(peace + kSettlingMost)) break;
      ++outcome.steps;
      cluster.check_step();
    }
    outcome.settled_after = world.now() - peace;
    if (!chaos.person_is_done()) throw Violation(10, "the server never answers the person");
    cluster.check_end();
  } catch (const Violation& violation) {
    outcome.invariant = violation.invariant;
    outcome.what = violation.what();
    world.trace(outcome.what);
  } catch (const std::exception& error) {
    outcome.invariant = -1;
    outcome.what = std::string("an exception: ") + error.what();
    world.trace(outcome.what);
  }
  count(cluster, outcome);
}

}  // namespace

Outcome run_history(std::uint64_t seed, Mutant mutant, bool trace) {
  World world(seed, trace);
  Cluster cluster(world, mutant);
  Chaos chaos(cluster);
  Outcome outcome;
  play(
      cluster, chaos, [&] { return chaos.plan(); }, outcome);
  return outcome;
}

Outcome run_search(std::uint64_t seed, const SearchPlan& plan, bool trace) {
  World world(seed, trace);
  Cluster cluster(world, Mutant::kNone);
  Chaos chaos(cluster);
  Outcome outcome;
  play(
      cluster, chaos, [&] { return chaos.plan(plan); }, outcome);
  for (const auto& [id, record] : cluster.ledger.stages())
    outcome.spoiled = outcome.spoiled || record.state == StageState::kFailed || record.state == StageState::kHeld;
  for (const ExperimentId id : cluster.ledger.searches().searches())
    outcome.decided.merge(cluster.ledger.searches().decisions(id));
  return outcome;
}

Found find_violation(std::uint64_t first, std::uint64_t count, Mutant mutant) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Outcome outcome = run_history(seed, mutant);
    if (outcome.invariant != 0) return {seed, std::move(outcome)};
  }
  return {};
}

}  // namespace locus::simulation
