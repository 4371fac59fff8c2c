// Seeded histories as tests. A failing one prints the line that replays it:
//   simulation_test --seed=N [--mutant=no-fence] [--trace]     one history
//   simulation_test --seeds=FIRST..LAST                        many, for a nightly run
#include <gtest/gtest.h>

#include <charconv>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>

#include "tests/simulation/history.h"

namespace locus::simulation {
namespace {

std::string binary = "simulation_test";  // as it was called

const std::map<std::string, Mutant, std::less<>> kMutants = {
    {"none", Mutant::kNone},
    {"no-fence", Mutant::kNoFence},
    {"ack-before-commit", Mutant::kAckBeforeCommit},
    {"forgets-requeue", Mutant::kForgetsRequeue},
    {"worker-ignores-fence", Mutant::kWorkerIgnoresFence},
    {"forgets-alone", Mutant::kForgetsAlone},
    {"forgets-limit", Mutant::kForgetsLimit},
    {"forgets-unreferenced", Mutant::kForgetsUnreferenced},
    {"gives-names-away", Mutant::kGivesNamesAway},
    {"ignores-data", Mutant::kIgnoresData},
    {"checkpoint-outruns-points", Mutant::kCheckpointOutrunsPoints},
    {"misreads-value", Mutant::kMisreadsValue},
    {"misjudges", Mutant::kMisjudges},
    {"moves-link", Mutant::kMovesLink},
    {"grants-beyond", Mutant::kGrantsBeyond},
    {"stays-parked", Mutant::kStaysParked},
    {"forgets-checkpoint", Mutant::kForgetsCheckpoint},
    {"loses-parked", Mutant::kLosesParked},
    {"forgets-budget", Mutant::kForgetsBudget},
    {"proposes-twice", Mutant::kProposesTwice},
    {"forgets-searches", Mutant::kForgetsSearches},
    {"ends-early", Mutant::kEndsEarly},
    {"overlooks-failures", Mutant::kOverlooksFailures},
    {"goes-on-astray", Mutant::kGoesOnAstray},
    {"uses-another", Mutant::kUsesAnother},
    {"forgets-bounds", Mutant::kForgetsBounds},
    {"forgets-owners", Mutant::kForgetsOwners},
    {"believes-labels", Mutant::kBelievesLabels},
    {"misnames-bound", Mutant::kMisnamesBound},
    {"offers-twice", Mutant::kOffersTwice},
    {"forgets-devices", Mutant::kForgetsDevices},
    {"charges-victims", Mutant::kChargesVictims},
    {"forgets-saved", Mutant::kForgetsSaved},
    {"forgets-classes", Mutant::kForgetsClasses},
    {"waits-for-ever", Mutant::kWaitsForEver},
    {"misnames-stopping", Mutant::kMisnamesStopping},
    {"invents-estimates", Mutant::kInventsEstimates},
    {"forgets-ends", Mutant::kForgetsEnds},
    {"forgets-kinds", Mutant::kForgetsKinds},
    {"misnames-size", Mutant::kMisnamesSize},
    {"misnames-kept", Mutant::kMisnamesKept},
    {"misnames-label", Mutant::kMisnamesLabel},
    {"misnames-end", Mutant::kMisnamesEnd},
    {"misnames-first", Mutant::kMisnamesFirst}};

std::string replay_line(std::uint64_t seed, std::string_view mutant = "none") {
  std::string line = binary + " --seed=" + std::to_string(seed) + " --trace";
  if (mutant != "none") line += " --mutant=" + std::string(mutant);
  return line;
}

struct Histories : ::testing::TestWithParam<int> {};

TEST_P(Histories, HoldEveryInvariantAfterEveryStep) {
  const std::uint64_t first = static_cast<std::uint64_t>(GetParam()) * 100 + 1;
  std::map<std::string, std::int64_t> seen;
  for (std::uint64_t seed = first; seed < first + 100; ++seed) {
    const Outcome outcome = run_history(seed);
    EXPECT_EQ(outcome.invariant, 0) << outcome.what << "\nreplay: " << replay_line(seed);
    for (const auto& [what, times] : outcome.seen) seen[what] += times;
  }
  // A simulation in which nothing goes wrong, or nothing gets done, shows nothing.
  for (const char* what : {"stages succeeded",
                           "stages failed",
                           "stages held",
                           "stages cancelled",
                           "attempts lost",
                           "attempts failed",
                           "attempts cancelled",
                           "attempts resumed from a checkpoint",
                           "attempts that ran alone",
                           "attempts out of time",
                           "attempts fenced and freed again",
                           "attempts parked",
                           "decisions observe",
                           "decisions propose",
                           "decisions advance",
                           "decisions stop",
                           "decisions choose",
                           "decisions of a second phase",
                           "decisions end",
                           "decisions override",
                           "grants within a bound",
                           "turns compared",
                           "grants where a label was asked for",
                           "grants of several devices",
                           "attempts asked to stop for others",
                           "attempts stopped for others",
                           "attempts ended for others",
                           "attempts after one that was stopped for others",
                           "grants to a worker that ends",
                           "grants on workers alike",
                           "reasons that name a label",
                           "reasons that name who comes first",
                           "refused WORKER_NOT_FOUND",
                           "refused WORKER_NAME_TAKEN",
                           "refused STALE_ATTEMPT",
                           "refused WRONG_STATE"}) {
    EXPECT_GT(seen[what], 0) << "never seen in a hundred histories: " << what;
  }
}

INSTANTIATE_TEST_SUITE_P(Batch, Histories, ::testing::Range(0, 5));

struct PlantedDefect : ::testing::TestWithParam<std::string> {};

TEST_P(PlantedDefect, IsFoundWithin2000Histories) {
  const Found found = find_violation(1, 2000, kMutants.find(GetParam())->second);
  ASSERT_NE(found.seed, 0u) << "the checker is blind to " << GetParam();
  std::printf("found in history %llu: %s\nreplay: %s\n", static_cast<unsigned long long>(found.seed),
              found.outcome.what.c_str(), replay_line(found.seed, GetParam()).c_str());
  const std::map<std::string, std::set<int>> meant = {{"no-fence", {2, 3, 7}},
                                                      {"ack-before-commit", {1, 7}},
                                                      {"forgets-requeue", {6, 10}},
                                                      {"worker-ignores-fence", {4}},
                                                      {"forgets-alone", {11}},
                                                      {"forgets-limit", {12}},
                                                      {"checkpoint-outruns-points", {7}},
                                                      {"forgets-unreferenced", {6, 10}},
                                                      {"gives-names-away", {13}},
                                                      {"ignores-data", {14}},
                                                      {"misreads-value", {20}},
                                                      {"misjudges", {16}},
                                                      {"moves-link", {17}},
                                                      {"grants-beyond", {18}},
                                                      {"stays-parked", {18}},
                                                      {"forgets-checkpoint", {21}},
                                                      {"loses-parked", {8, 21}},
                                                      {"forgets-budget", {16, 19}},
                                                      {"proposes-twice", {22}},
                                                      {"forgets-searches", {20, 23}},
                                                      {"ends-early", {15}},
                                                      {"overlooks-failures", {23}},
                                                      {"goes-on-astray", {25}},
                                                      {"uses-another", {17}},
                                                      {"forgets-bounds", {26}},
                                                      {"forgets-owners", {27}},
                                                      {"believes-labels", {29}},
                                                      {"misnames-bound", {28}},
                                                      {"offers-twice", {30}},
                                                      {"forgets-devices", {30}},
                                                      {"charges-victims", {31}},
                                                      {"forgets-saved", {31}},
                                                      {"forgets-classes", {32}},
                                                      {"waits-for-ever", {33}},
                                                      {"misnames-stopping", {34}},
                                                      {"invents-estimates", {28, 35}},
                                                      {"forgets-ends", {36}},
                                                      {"forgets-kinds", {37}},
                                                      {"misnames-size", {28}},
                                                      {"misnames-kept", {28}},
                                                      {"misnames-label", {28}},
                                                      {"misnames-end", {28}},
                                                      {"misnames-first", {28}}};
  EXPECT_TRUE(meant.at(GetParam()).contains(found.outcome.invariant)) << "found, but by accident";
  // Without the defect the same history holds: what was found is what was planted.
  EXPECT_EQ(run_history(found.seed).invariant, 0);
}

INSTANTIATE_TEST_SUITE_P(Each, PlantedDefect,
                         ::testing::Values("no-fence", "ack-before-commit", "forgets-requeue", "worker-ignores-fence",
                                           "forgets-alone", "forgets-limit", "checkpoint-outruns-points",
                                           "forgets-unreferenced", "gives-names-away", "ignores-data", "misreads-value",
                                           "misjudges", "moves-link", "grants-beyond", "stays-parked",
                                           "forgets-checkpoint", "loses-parked", "forgets-budget", "proposes-twice",
                                           "forgets-searches", "ends-early", "overlooks-failures", "goes-on-astray",
                                           "uses-another", "forgets-bounds", "forgets-owners", "believes-labels",
                                           "misnames-bound", "offers-twice", "forgets-devices", "charges-victims",
                                           "forgets-saved", "forgets-classes", "waits-for-ever", "misnames-stopping",
                                           "invents-estimates", "forgets-ends", "forgets-kinds", "misnames-size",
                                           "misnames-kept", "misnames-label", "misnames-end", "misnames-first"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(History, IsTheSameForTheSameSeed) {
  const Outcome first = run_history(11), second = run_history(11);
  EXPECT_EQ(first.steps, second.steps);
  EXPECT_EQ(first.attempts, second.attempts);
  EXPECT_EQ(first.settled_after, second.settled_after);
  EXPECT_NE(first.steps, run_history(12).steps);
}

// Returns the process's exit status, or -1: run the tests.
int run_by_hand(int argc, char** argv) {
  std::uint64_t first = 0, last = 0;
  Mutant mutant = Mutant::kNone;
  bool trace = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    auto number = [](std::string_view text) {
      std::uint64_t value = 0;
      std::from_chars(text.data(), text.data() + text.size(), value);
      return value;
    };
    if (argument.starts_with("--seed=")) first = last = number(argument.substr(7));
    if (argument.starts_with("--seeds=")) {
      first = number(argument.substr(8));
      last = number(argument.substr(argument.find("..") + 2));
    }
    if (argument.starts_with("--mutant=")) {
      const auto named = kMutants.find(argument.substr(9));
      if (named == kMutants.end()) {
        std::fprintf(stderr, "unknown mutant '%s'\n", argv[i] + 9);
        return 2;
      }
      mutant = named->second;
    }
    if (argument == "--trace") trace = true;
  }
  if (first == 0) return -1;
  int violated = 0;
  std::map<std::string, std::int64_t> seen;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const Outcome outcome = run_history(seed, mutant, trace);
    for (const auto& [what, times] : outcome.seen) seen[what] += times;
    violated += outcome.invariant != 0;
    if (first != last && outcome.invariant == 0) continue;
    std::printf("history %llu: %s\n", static_cast<unsigned long long>(seed),
                outcome.invariant == 0 ? "all hold" : outcome.what.c_str());
  }
  for (const auto& [what, times] : seen) std::printf("%8lld %s\n", static_cast<long long>(times), what.c_str());
  return violated == 0 ? 0 : 1;
}

}  // namespace
}  // namespace locus::simulation

int main(int argc, char** argv) {
  locus::simulation::binary = argv[0];
  if (const int status = locus::simulation::run_by_hand(argc, argv); status >= 0) return status;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
