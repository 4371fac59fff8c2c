// Every state of a stage against every event: where it goes and whether the caller is refused. All pairs.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <sstream>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

// "running+": the stage is running afterwards and the caller was accepted (granted it, told to continue);
// "-": refused.
constexpr const char* kEvents =
    "                 ask checkpoint succeed fail diverge stop stale-succeed sync daemon-restart silence "
    "cancel pause "
    "resume resubmit server-restart park";
const std::map<std::string, std::string> kTable = {
    {"blocked",
     "blocked- blocked- blocked- blocked- blocked- blocked- blocked- blocked- blocked+ blocked+ cancelled+ "
     "blocked+ "
     "blocked+ blocked+ blocked+ blocked-"},
    {"queued",
     "running+ queued- queued- queued- queued- queued- queued- queued- queued+ queued+ cancelled+ queued+ "
     "queued+ queued+ queued+ queued-"},
    {"backing-off",  // attempt 1 failed: saying so again is fine
     "queued- queued- queued- queued+ queued+ queued- queued- queued- queued+ queued+ cancelled+ queued+ "
     "queued+ queued+ queued+ queued-"},
    {"running",
     "running- running+ succeeded+ queued+ failed+ queued+ running- running+ queued+ queued+ cancelled+ "
     "running+ "
     "running+ running+ running+ queued+"},
    {"succeeded",
     "succeeded- succeeded- succeeded+ succeeded- succeeded- succeeded- succeeded- succeeded- succeeded+ "
     "succeeded+ "
     "succeeded- succeeded- succeeded+ succeeded+ succeeded+ succeeded-"},
    {"failed",
     "failed- failed- failed- failed+ failed+ failed- failed- failed- failed+ failed+ failed- failed- "
     "failed+ queued+ failed+ failed-"},
    {"held",
     "held- held- held- held- held- held- held- held- held+ held+ held- held- "
     "held+ queued+ held+ held-"},
    {"cancelled",  // while it ran: whatever its worker still says is ignored
     "cancelled- cancelled- cancelled+ cancelled+ cancelled+ cancelled+ cancelled- cancelled- cancelled+ "
     "cancelled+ "
     "cancelled+ cancelled- cancelled- queued+ cancelled+ cancelled-"},
    {"parked",  // of a search that goes on
     "parked- parked- parked- parked- parked- parked- parked- parked- parked+ parked+ parked+ parked+ "
     "parked+ parked+ parked+ parked-"},
};

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// A stage brought into a state, and the worker "w" that may have run it.
struct Scene {
  explicit Scene(const std::string& state) {
    matrix.cells = {"a"};
    matrix.evaluate = state == "blocked";
    matrix.searched = state == "parked";
    identity = matrix.evaluate ? evaluate_identity("a", 0) : train_identity("a", 0);
    h.submit(matrix);
    if (state == "blocked") {
      h.join("other", "o");
      h.ask("o");
    }
    h.join("w", "s");
    if (state != "blocked" && state != "queued") bring_to(state);
    grant.stage_id = h.stage(identity).id;
    grant.attempt = h.stage(identity).attempt;
  }

  void bring_to(const std::string& state) {
    if (state == "parked") h.decide(matrix, {{0, 30}});
    grant = *h.ask("s");
    if (state == "parked") h.park("s", grant, 30);
    if (state == "backing-off") h.fail("s", grant, FailureClass::kCode);
    if (state == "succeeded") h.succeed("s", grant);
    if (state == "failed") h.fail("s", grant, FailureClass::kDiverged);
    if (state == "cancelled") h.set_state("matrix", ExperimentState::kCancelled);
    if (state != "held") return;
    for (const char* newer : {"x", "y", "z"}) {
      session = newer;
      h.join("w", session);
      h.advance(10s);
      h.ask(session);
    }
  }

  Harness h;
  Matrix matrix;
  std::string identity;
  std::string session = "s";
  Grant grant;
};

using Act = std::function<bool(Scene&)>;

const std::map<std::string, Act>& acts() {
  static const std::map<std::string, Act> kActs = {
      {"ask", [](Scene& x) { return x.h.ask(x.session).has_value(); }},
      {"checkpoint", [](Scene& x) { return x.h.checkpoint(x.session, x.grant, 10); }},
      {"succeed", [](Scene& x) { return x.h.succeed(x.session, x.grant); }},
      {"fail", [](Scene& x) { return x.h.fail(x.session, x.grant, FailureClass::kCode); }},
      {"diverge", [](Scene& x) { return x.h.fail(x.session, x.grant, FailureClass::kDiverged); }},
      {"stop", [](Scene& x) { return x.h.complete(x.session, x.grant, AttemptState::kStopped); }},
      {"stale-succeed",
       [](Scene& x) {
         Grant stale = x.grant;
         stale.attempt += 1;  // nobody ever held it
         return x.h.succeed(x.session, stale);
       }},
      {"sync",
       [](Scene& x) { return x.h.sync(x.session, {stated(x.grant)}) == std::vector<LeaseWish>{LeaseWish::kContinue}; }},
      {"daemon-restart", [](Scene& x) { return x.h.join("w", "another"); }},
      {"silence",
       [](Scene& x) {
         x.h.advance(kReattachGrace);
         return true;
       }},
      {"cancel", [](Scene& x) { return x.h.set_state("matrix", ExperimentState::kCancelled); }},
      {"pause", [](Scene& x) { return x.h.set_state("matrix", ExperimentState::kPaused); }},
      {"resume", [](Scene& x) { return x.h.set_state("matrix", ExperimentState::kActive); }},
      {"resubmit", [](Scene& x) { return x.h.submit(x.matrix).has_value(); }},
      {"park", [](Scene& x) { return x.h.park(x.session, x.grant, 30); }},
      {"server-restart",
       [](Scene& x) {
         x.h.restart();
         return true;
       }},
  };
  return kActs;
}

struct StageStateTable : ::testing::TestWithParam<std::string> {};

TEST_P(StageStateTable, IsMetByEveryEvent) {
  const std::vector<std::string> events = words(kEvents);
  const std::vector<std::string> expected = words(kTable.at(GetParam()));
  ASSERT_EQ(expected.size(), events.size());
  ASSERT_EQ(acts().size(), events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    Scene scene(GetParam());
    const StageState before = scene.h.stage(scene.identity).state;
    if (GetParam() != "backing-off") {
      ASSERT_EQ(to_string(before), GetParam());
    }
    const bool accepted = acts().at(events[i])(scene);
    const std::string after = to_string(scene.h.stage(scene.identity).state);
    EXPECT_EQ(after + (accepted ? "+" : "-"), expected[i]) << GetParam() << " met by " << events[i];
    const auto held_by_scheduler = scene.h.scheduler().stage_state(scene.grant.stage_id);
    EXPECT_EQ(held_by_scheduler ? to_string(*held_by_scheduler) : "gone",
              terminal(scene.h.stage(scene.identity).state) ? "gone" : after);
  }
}

INSTANTIATE_TEST_SUITE_P(All, StageStateTable,
                         ::testing::Values("blocked", "queued", "backing-off", "running", "succeeded", "failed", "held",
                                           "cancelled", "parked"),
                         [](const auto& test) { return test.param == "backing-off" ? "backing_off" : test.param; });

}  // namespace
}  // namespace locus::testing
