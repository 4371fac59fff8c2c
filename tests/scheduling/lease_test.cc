// Leases: heartbeats, silence, restarts of daemons, stale tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduling/support/harness.h"

namespace locus::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Lease : ::testing::Test {
  Lease() {
    h.submit({.cells = {"a"}});
    h.join("w", "s");
    grant = *h.ask("s");
  }
  Harness h;
  Grant grant;
};

TEST_F(Lease, LivesAsLongAsHeartbeatsNameTheAttempt) {
  for (int i = 0; i < 200; ++i) {
    h.advance(25s);
    EXPECT_THAT(*h.sync("s", {stated(grant, i, 200)}), ElementsAre(LeaseWish::kContinue));
  }
  EXPECT_EQ(h.train("a").attempt, 1);
  EXPECT_EQ(h.scheduler().progress(grant.stage_id)->step, 199);
}

TEST_F(Lease, SurvivesASilentWorkerUntilTheGraceIsOver) {
  h.sync("s", {stated(grant)});
  h.advance(kReattachGrace - 1s);
  EXPECT_EQ(h.train("a").state, StageState::kRunning);
  EXPECT_THAT(h.explain(h.train("a")), HasSubstr("silent for"));
  EXPECT_EQ(h.scheduler().workers(h.now()).at(0).state, "silent");
  EXPECT_THAT(*h.sync("s", {stated(grant)}), ElementsAre(LeaseWish::kContinue));
  h.advance(kReattachGrace);
  EXPECT_EQ(h.train("a").state, StageState::kQueued);
  EXPECT_EQ(h.store().attempts(grant.stage_id).value().at(0).state, AttemptState::kLost);
}

TEST_F(Lease, ForgetsTheSessionOfAWorkerLostToSilence) {
  h.advance(kReattachGrace);
  EXPECT_FALSE(h.sync("s", {stated(grant)}));
  EXPECT_EQ(h.last_reason(), ErrorReason::kWorkerNotFound);
  EXPECT_EQ(h.scheduler().workers(h.now()).at(0).state, "offline");
  EXPECT_EQ(h.store().workers().value().at(0).state, WorkerState::kOffline);
}

TEST_F(Lease, DropsAnAttemptThatComesBackAfterTheGrace) {
  h.advance(kReattachGrace);
  h.join("w", "s", {stated(grant)});
  EXPECT_THAT(*h.sync("s", {stated(grant)}), ElementsAre(LeaseWish::kDrop));
  EXPECT_FALSE(h.checkpoint("s", grant, 10));
  EXPECT_EQ(h.last_reason(), ErrorReason::kStaleAttempt);
  EXPECT_FALSE(h.succeed("s", grant));
  EXPECT_EQ(h.last_error().code(), absl::StatusCode::kAborted);
}

TEST_F(Lease, IsLostAtOnceWhenTheDaemonIsRestarted) {
  h.join("w", "s2");
  EXPECT_EQ(h.train("a").state, StageState::kQueued);
  EXPECT_EQ(h.train("a").faults, 1);
  EXPECT_EQ(h.train("a").failures, 0);
  h.advance(10s);
  EXPECT_EQ(h.ask("s2")->attempt, 2);
}

TEST_F(Lease, MovesToANewSessionThatHoldsTheAttempt) {
  h.join("w", "s2", {stated(grant)});
  EXPECT_EQ(h.train("a").state, StageState::kRunning);
  EXPECT_THAT(*h.sync("s2", {stated(grant)}), ElementsAre(LeaseWish::kContinue));
  EXPECT_TRUE(h.succeed("s2", grant));
}

TEST_F(Lease, DropsAttemptsNobodyEverGranted) {
  EXPECT_THAT(*h.sync("s", {stated(grant), {999, 1, 0, 0, ""}, {grant.stage_id, 7, 0, 0, ""}}),
              ElementsAre(LeaseWish::kContinue, LeaseWish::kDrop, LeaseWish::kDrop));
}

TEST_F(Lease, DropsAnAttemptThatBelongsToAnotherWorker) {
  h.join("thief", "t");
  EXPECT_THAT(*h.sync("t", {stated(grant)}), ElementsAre(LeaseWish::kDrop));
  EXPECT_FALSE(h.checkpoint("t", grant, 1));
  EXPECT_EQ(h.last_reason(), ErrorReason::kStaleAttempt);
  EXPECT_FALSE(h.succeed("t", grant));
  EXPECT_EQ(h.last_reason(), ErrorReason::kStaleAttempt);
  EXPECT_EQ(h.train("a").state, StageState::kRunning);
}

TEST_F(Lease, TreatsAGrantThatNeverArrivedAsNobodysFault) {
  for (int i = 0; i < 7; ++i) {
    h.advance(5s);
    h.sync("s");
  }
  EXPECT_EQ(h.train("a").state, StageState::kQueued);
  EXPECT_EQ(h.train("a").faults, 0);
  EXPECT_EQ(h.ask("s")->attempt, 2);
}

TEST_F(Lease, CountsAnAttemptItsWorkerGaveUpAsAFault) {
  h.sync("s", {stated(grant)});
  for (int i = 0; i < 7; ++i) {
    h.advance(5s);
    h.sync("s");
  }
  EXPECT_EQ(h.train("a").state, StageState::kQueued);
  EXPECT_EQ(h.train("a").faults, 1);
}

TEST_F(Lease, LetsTheNewerOfTwoDaemonsOfOneNameWin) {
  h.join("w", "s2");
  EXPECT_FALSE(h.sync("s", {stated(grant)}));
  EXPECT_EQ(h.last_reason(), ErrorReason::kWorkerNotFound);
  EXPECT_FALSE(h.join("w", "s", {stated(grant)}));
  EXPECT_EQ(h.last_error().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(h.last_error().message()), HasSubstr("--name"));
  EXPECT_TRUE(h.sync("s2"));
}

// Two daemons of one name that say where they live.
struct Name : ::testing::Test {
  Name() {
    h.submit({.cells = {"a"}});
    h.announce(daemon("s", "folder-1@boot-1"));
    grant = *h.ask("s");
  }
  static WorkerRegistered daemon(const std::string& session, const std::string& instance) {
    WorkerRegistered event;
    event.name = "w";
    event.session = session;
    event.host = "host-" + session;
    event.instance = instance;
    event.slots_json = "[]";
    event.slots = {{"cpu", 0, 1}};
    event.revisions = Harness::default_revisions();
    return event;
  }
  std::string metadata(const std::string& key) {
    const auto detail = error_detail(h.last_error());
    return detail && detail->metadata.contains(key) ? detail->metadata.at(key) : "";
  }
  Harness h;
  Grant grant;
};

TEST_F(Name, IsRefusedToAnotherDaemonWhileItsHolderLives) {
  h.advance(12s);
  h.sync("s", {stated(grant)});
  h.advance(3s);
  EXPECT_FALSE(h.announce(daemon("s2", "folder-2@boot-1")));
  EXPECT_EQ(h.last_error().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(h.last_reason(), ErrorReason::kWorkerNameTaken);
  EXPECT_THAT(std::string(h.last_error().message()),
              AllOf(HasSubstr("host host-s"), HasSubstr("registered 15 s ago"), HasSubstr("last heard 3 s ago"),
                    HasSubstr("--name"), HasSubstr("--take-over")));
  EXPECT_EQ(metadata("same_folder"), "");
  EXPECT_THAT(*h.sync("s", {stated(grant)}), ElementsAre(LeaseWish::kContinue));
  EXPECT_EQ(h.train("a").attempt, 1);
}

TEST_F(Name, IsRefusedToADaemonThatDoesNotSayWhereItLives) {
  EXPECT_FALSE(h.announce(daemon("s2", "")));
  EXPECT_EQ(h.last_reason(), ErrorReason::kWorkerNameTaken);
}

TEST_F(Name, GoesAtOnceToTheDaemonThatOutlivedItsHolder) {
  EXPECT_TRUE(h.announce(daemon("s2", "folder-1@boot-1")));
  EXPECT_EQ(h.train("a").state, StageState::kQueued) << "its predecessor's work died with it";
  EXPECT_FALSE(h.sync("s", {stated(grant)}));
}

TEST_F(Name, GoesToWhoeverAsksOnceItsHolderWasSilentForALease) {
  h.sync("s", {stated(grant)});
  h.advance(kLease + 1s);
  EXPECT_TRUE(h.announce(daemon("s2", "folder-2@boot-1")));
}

TEST_F(Name, IsRefusedAfterAnotherBootUntilTheHolderIsKnownToBeThePast) {
  EXPECT_FALSE(h.announce(daemon("s2", "folder-1@boot-2")));
  EXPECT_EQ(metadata("same_folder"), "true");
  h.advance(kLease + 1s);
  EXPECT_TRUE(h.announce(daemon("s2", "folder-1@boot-2")));
}

TEST_F(Name, GoesToADaemonThatTakesItOverAndStaysThere) {
  WorkerRegistered thief = daemon("s2", "folder-2@boot-1");
  thief.take_over = true;
  EXPECT_TRUE(h.announce(thief));
  EXPECT_EQ(h.train("a").state, StageState::kQueued);
  EXPECT_FALSE(h.announce(daemon("s", "folder-1@boot-1")));
  EXPECT_EQ(h.last_error().code(), absl::StatusCode::kFailedPrecondition) << "a newer daemon has it";
}

TEST_F(Name, StaysItsHoldersThroughARestartOfTheServer) {
  h.restart();
  EXPECT_FALSE(h.announce(daemon("s2", "folder-2@boot-1")));
  EXPECT_EQ(h.last_reason(), ErrorReason::kWorkerNameTaken);
  WorkerRegistered again = daemon("s", "folder-1@boot-1");
  again.running = {stated(grant)};
  EXPECT_TRUE(h.announce(again));
  EXPECT_EQ(h.train("a").state, StageState::kRunning);
}

TEST_F(Name, OfADaemonOfAFormerReleaseGoesToTheNewerOne) {
  h.join("old", "o1");
  EXPECT_TRUE(h.join("old", "o2"));
}

TEST_F(Lease, DoesNotLapseWhileTheServerItselfIsStopped) {
  h.stop_process(2 * kReattachGrace);
  h.step(Tick{});
  EXPECT_EQ(h.train("a").state, StageState::kRunning);
  h.advance(kLease - 1s);
  EXPECT_THAT(*h.sync("s", {stated(grant)}), ElementsAre(LeaseWish::kContinue));
}

TEST_F(Lease, GetsAFullLeaseAfterTheServersOwnPauseAndNoMore) {
  h.advance(kReattachGrace - 1s);
  h.stop_process(1min);
  h.step(Tick{});
  h.advance(kLease - 1s);
  EXPECT_EQ(h.train("a").state, StageState::kRunning);
  h.advance(2s);
  EXPECT_EQ(h.train("a").state, StageState::kQueued);
}

TEST_F(Lease, IsRenewedByAHeartbeatThatArrivesWithItsEnd) {
  h.sync("s", {stated(grant)});
  h.advance(kReattachGrace - 1s);
  h.stop_process(1s);
  EXPECT_THAT(*h.sync("s", {stated(grant)}), ElementsAre(LeaseWish::kContinue));
}

TEST_F(Lease, WritesNothingWhenAHeartbeatChangesNothing) {
  const auto before = h.store().last_event().value();
  h.sync("s", {stated(grant, 5, 10)});
  h.join("w", "s", {stated(grant, 6, 10)});
  EXPECT_EQ(h.store().last_event().value(), before);
}

TEST(Worker, GoesOfflineAfterOneLeaseOfSilenceWhenItRunsNothing) {
  Harness h;
  h.join("w", "s");
  h.advance(kLease - 1s);
  EXPECT_EQ(h.scheduler().workers(h.now()).at(0).state, "active");
  h.advance(1s);
  EXPECT_EQ(h.scheduler().workers(h.now()).at(0).state, "offline");
  EXPECT_FALSE(h.scheduler().next_wake());
}

TEST(Worker, GoesOfflineOnTimeWhileAnotherIsHeard) {
  Harness h;
  h.join("w", "s");
  h.join("v", "t");
  h.advance(7s);
  h.sync("s");
  for (auto time = 7s; time < kLease + 6s; time += 1s) {
    h.advance(1s);
    h.sync("t");
    const auto workers = h.scheduler().workers(h.now());
    EXPECT_EQ(workers.at(0).state, "active") << time.count();
    EXPECT_EQ(workers.at(1).state, "active") << time.count();
  }
  h.advance(1s);
  EXPECT_EQ(h.scheduler().workers(h.now()).at(0).state, "offline");
  EXPECT_EQ(h.scheduler().workers(h.now()).at(1).state, "active");
}

TEST(Worker, WasLastSeenWhenItWasLastHeardThoughTheServerStartedAgain) {
  Harness h;
  const auto seen = [&] { return h.store().workers().value().at(0).seen_us; };
  h.join("w", "s");
  h.advance(3s);
  h.sync("s", {});
  const Microseconds heard = h.now().wall;
  h.advance(kLease + 1s);
  EXPECT_EQ(seen(), heard);
  h.restart();
  h.advance(kLease + 1s);
  EXPECT_EQ(seen(), heard);
}

TEST(Worker, KeepsItsIdAcrossRestarts) {
  Harness h;
  h.join("w", "s1");
  h.join("w", "s2");
  h.restart();
  h.join("w", "s3");
  EXPECT_EQ(h.store().workers().value().size(), 1u);
}

TEST(Worker, IsRefusedWithoutANameOrSession) {
  Harness h;
  EXPECT_FALSE(h.join("", "s"));
  EXPECT_EQ(h.last_reason(), ErrorReason::kInvalidArgument);
  EXPECT_FALSE(h.join("w", ""));
  EXPECT_EQ(h.last_reason(), ErrorReason::kInvalidArgument);
}

}  // namespace
}  // namespace locus::testing
