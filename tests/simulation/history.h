// One seeded history: a server, a few workers, a person who submits and changes experiments, faults for a
// while, then peace. After every single step the invariants are checked; in the end everything must have come
// to an end.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "tests/simulation/server.h"

namespace locus::simulation {

struct Outcome {
  int invariant = 0;  // the violated one; 0: all hold
  std::string what;
  std::int64_t steps = 0, attempts = 0;
  std::map<std::string, std::int64_t> seen;  // how often each kind of thing happened: "attempts lost", "stages held"
  Microseconds settled_after = 0;            // from the last fault to the last end
  std::multiset<std::string> decided = {};   // by the rules of run_search()'s search
  bool spoiled = false;                      // one of its stages has failed for good, by faults
};

Outcome run_history(std::uint64_t seed, Mutant mutant = Mutant::kNone, bool trace = false);

// One search under the faults of that seed.
Outcome run_search(std::uint64_t seed, const SearchPlan& plan, bool trace = false);

// The least invariant number violated in `count` histories from `first`, and where; seed 0: none.
struct Found {
  std::uint64_t seed = 0;
  Outcome outcome;
};
Found find_violation(std::uint64_t first, std::uint64_t count, Mutant mutant);

}  // namespace locus::simulation
