// Contract: stages that stop at a step for now.
#include "tests/storage/store_contract.h"

namespace locus::testing {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;

constexpr StageState kStageStates[] = {StageState::kBlocked,   StageState::kQueued, StageState::kRunning,
                                       StageState::kSucceeded, StageState::kFailed, StageState::kHeld,
                                       StageState::kCancelled, StageState::kParked};
static_assert(std::size(kStageStates) == static_cast<std::size_t>(StageState::kParked) + 1);

SetStageState moved(StageId id, std::int64_t attempt, StageState from, StageState to) {
  SetStageState m;
  m.stage_id = id;
  m.attempt = attempt;
  m.from = from;
  m.to = to;
  return m;
}

class ParkingContract : public StoreContract {
 protected:
  // Stage 1 parks at step 30 with checkpoints at 10 (the best), 20 (pinned) and 30.
  void park() {
    GrantAttempt granted = grant(1, 1);
    granted.until_step = 30;
    must({ResolveTrials{.id = 1, .trial_stages = {{0, "train", 1, 30}}}, granted});
    must_append(points_of(1, 1, 1, ramp(1, 30)));
    must({CommitCheckpoint{1, 1, 10, kShaA, true}, CommitCheckpoint{1, 1, 20, kShaB, false},
          CommitCheckpoint{1, 1, 30, kShaA, false}, PinArtifact{kShaB, true},
          end(1, 1, AttemptState::kParked, StageState::kParked)});
  }
  std::vector<std::int64_t> checkpoint_steps() {
    std::vector<std::int64_t> out;
    const auto rows = get(store().checkpoints(1));
    for (const CheckpointRow& row : rows) out.push_back(row.step);
    return out;
  }
};
LOCUS_STORE_CONTRACT(ParkingContract);

TEST_P(ParkingContract, GrantsAnAttemptUpToAStep) {
  make_world();
  GrantAttempt m = grant(1, 1);
  m.until_step = kNoFurther;
  expect_refused({m}, StatusCode::kInvalidArgument, "INVALID_ARGUMENT");
  m.until_step = 30;
  must({m, grant(3, 1)});
  EXPECT_EQ(store().attempts(1)->at(0).until_step, 30);
  EXPECT_EQ(store().attempts(3)->at(0).until_step, kToTheEnd);
  const Snapshot snapshot = get(store().load());
  ASSERT_EQ(snapshot.running.size(), 2u);
  EXPECT_EQ(snapshot.running[0].until_step, 30);
  EXPECT_EQ(get(store().attempts_of_worker(1, 10)).size(), 2u);
}

TEST_P(ParkingContract, IsNeitherDoneNorFailedNorLoadedAtStart) {
  make_world();
  EXPECT_EQ(store().counts(1)->by_state.count(StageState::kParked), 0u);
  park();
  const StageRow stage = get(store().stage(1));
  EXPECT_EQ(stage.state, StageState::kParked);
  EXPECT_EQ(stage.failures + stage.faults, 0);
  EXPECT_EQ(store().attempts(1)->at(0).state, AttemptState::kParked);
  EXPECT_EQ(store().attempts(1)->at(0).until_step, 30);
  EXPECT_EQ(store().counts(1)->by_state.at(StageState::kParked), 1);
  EXPECT_EQ(store().counts(1)->trials_done, 0);
  const Snapshot snapshot = get(store().load());
  for (const StageRow& row : snapshot.stages) EXPECT_NE(row.id, 1);
  for (const StageReference& reference : snapshot.references) EXPECT_NE(reference.stage, 1);
  EXPECT_FALSE(snapshot.resume.contains(1));
  EXPECT_TRUE(snapshot.running.empty());
  EXPECT_TRUE(snapshot.proven.contains(1)) << "its work can be done";
  EXPECT_EQ(store().points(1, {"loss", "train", "{}"}, 0)->points.size(), 30u);
  EXPECT_TRUE(store().check()->problems.empty());
}

TEST_P(ParkingContract, GoesOnFromItsCheckpointWhenItIsWantedFurther) {
  make_world();
  park();
  must({ResolveTrials{.id = 1, .trial_stages = {{0, "train", 1, 90}}},
        moved(1, 1, StageState::kParked, StageState::kQueued)});
  const Snapshot snapshot = get(store().load());
  ASSERT_FALSE(snapshot.stages.empty());
  EXPECT_EQ(snapshot.stages[0].id, 1);
  EXPECT_EQ(snapshot.stages[0].state, StageState::kQueued);
  EXPECT_EQ(snapshot.resume.at(1).step, 30);
  ASSERT_FALSE(snapshot.references.empty());
  EXPECT_EQ(snapshot.references[0].until_step, 90);
  EXPECT_TRUE(snapshot.proven.contains(1)) << "it has parked once";
  GrantAttempt again = grant(1, 2, 30, kShaA);
  again.until_step = 90;
  must({again});
  must_append(points_of(1, 2, 1, ramp(31, 60)));
  must({end(1, 2, AttemptState::kSucceeded, StageState::kSucceeded)});
  EXPECT_EQ(store().points(1, {"loss", "train", "{}"}, 0)->points.size(), 90u);
}

TEST_P(ParkingContract, CountsATrialAsDoneOnlyWhenItIsSentToTheEnd) {
  make_world();
  must({grant(1, 1), end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded)});
  must({moved(2, 0, StageState::kBlocked, StageState::kQueued), grant(2, 1),
        end(2, 1, AttemptState::kSucceeded, StageState::kSucceeded)});
  EXPECT_EQ(store().counts(1)->trials_done, 1);
  must({ResolveTrials{.id = 1, .trial_stages = {{0, "train", 1, 30}}}});
  EXPECT_EQ(store().counts(1)->trials_done, 0) << "its training went further for somebody else";
}

TEST_P(ParkingContract, IsLeftForQueuedAlone) {
  make_world();
  park();
  for (const StageState to : kStageStates) {
    if (to == StageState::kQueued) continue;
    expect_refused({moved(1, 1, StageState::kParked, to)}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  }
  must({moved(1, 1, StageState::kParked, StageState::kQueued), moved(1, 1, StageState::kQueued, StageState::kParked)});
  EXPECT_EQ(store().stage(1)->state, StageState::kParked) << "nobody wants a step of it any more";
}

TEST_P(ParkingContract, IsEnteredFromQueuedAlone) {
  make_world();
  expect_refused({moved(2, 0, StageState::kBlocked, StageState::kParked)}, StatusCode::kFailedPrecondition,
                 "WRONG_STATE");
  for (const StageState over : {StageState::kFailed, StageState::kHeld, StageState::kCancelled}) {
    must({moved(1, 0, StageState::kQueued, over)});
    expect_refused({moved(1, 0, over, StageState::kParked)}, StatusCode::kFailedPrecondition, "WRONG_STATE");
    must({moved(1, 0, over, StageState::kQueued)});
  }
  must({moved(1, 0, StageState::kQueued, StageState::kParked)});
  EXPECT_TRUE(store().check()->problems.empty());
}

// Every end of an attempt against every state it might leave its stage in.
TEST_P(ParkingContract, IsLeftBehindOnlyByAnAttemptThatParked) {
  make_world();
  std::vector<StageState> usual = {StageState::kQueued, StageState::kFailed, StageState::kHeld, StageState::kCancelled};
  std::vector<StageState> done = usual;
  done.push_back(StageState::kSucceeded);
  const std::map<AttemptState, std::vector<StageState>> allowed = {
      {AttemptState::kRunning, {}},
      {AttemptState::kSucceeded, done},
      {AttemptState::kFailed, usual},
      {AttemptState::kLost, usual},
      {AttemptState::kStopped, usual},
      {AttemptState::kCancelled, usual},
      {AttemptState::kParked, {StageState::kParked, StageState::kQueued, StageState::kCancelled}}};
  ASSERT_EQ(allowed.size(), static_cast<std::size_t>(AttemptState::kParked) + 1);
  StageId id = 10;
  for (const auto& [outcome, states] : allowed) {
    for (const StageState state : kStageStates) {
      must({ResolveTrials{.id = 1, .stages = {train_stage(++id)}}, grant(id, 1)});
      SCOPED_TRACE(std::string(to_string(outcome)) + " leaves " + to_string(state));
      if (std::find(states.begin(), states.end(), state) == states.end()) {
        const absl::Status status = apply(store(), {end(id, 1, outcome, state)});
        EXPECT_EQ(reason_of(status), "WRONG_STATE") << status;
        EXPECT_EQ(store().stage(id)->state, StageState::kRunning);
      } else {
        must({end(id, 1, outcome, state)});
        EXPECT_EQ(store().stage(id)->state, state);
      }
    }
  }
}

SaveExperiment sharing_experiment() {  // its trials take the training of stage 1, the second one is retired
  SaveExperiment m;
  m.row.id = 2;
  m.row.name = "sharing";
  m.row.spec_json = "{}";
  m.row.catalog_digest = "digest";
  m.cells = {{0, "{}", "none", "{}"}};
  m.trials = {{0, 0, 0, false}, {1, 0, 1, true}};
  m.trial_stages = {{0, "train", 1, 30}, {1, "train", 1, 30}};
  return m;
}

struct Wants {
  std::int64_t first, second, retired;
  bool first_cancelled, second_cancelled;
  bool released;
};

TEST_P(ParkingContract, KeepsItsCheckpointsWhileSomeLiveLinkWantsAStepOfIt) {
  make_world();
  must({sharing_experiment()});
  park();
  const Wants cases[] = {
      {30, 30, -1, false, false, false}, {-1, 30, -1, false, false, false}, {-1, 0, -1, false, false, false},
      {0, -1, -1, false, false, false},  {-1, -1, -1, false, false, true},  {-1, -1, 30, false, false, true},
      {-1, 30, -1, false, true, true},   {-1, -1, -1, false, true, true},   {30, -1, -1, true, false, true},
      {30, 30, 30, true, true, false},   {-1, -1, -1, true, true, false},  // kept as those of a cancelled stage
  };
  for (const Wants& one : cases) {
    SCOPED_TRACE(std::to_string(one.first) + ", " + std::to_string(one.second) + ", " + std::to_string(one.retired) +
                 (one.first_cancelled ? ", first cancelled" : "") + (one.second_cancelled ? ", second cancelled" : ""));
    must({ResolveTrials{.id = 1, .trial_stages = {{0, "train", 1, one.first}}},
          ResolveTrials{.id = 2, .trial_stages = {{0, "train", 1, one.second}, {1, "train", 1, one.retired}}}});
    std::vector<Mutation> cancel, revive;
    for (const ExperimentId id : {1, 2}) {
      if (!(id == 1 ? one.first_cancelled : one.second_cancelled)) continue;
      cancel.push_back(SetExperimentState{id, ExperimentState::kActive, ExperimentState::kCancelled});
      revive.push_back(SetExperimentState{id, ExperimentState::kCancelled, ExperimentState::kActive});
    }
    must(cancel);
    EXPECT_EQ(get(store().stages_to_release(0, 10)), one.released ? std::vector<StageId>{1} : std::vector<StageId>{});
    must(revive);
  }
}

TEST_P(ParkingContract, IsReleasedInTheTransactionThatSettlesIt) {
  make_world();
  park();
  must({ReleaseCheckpoints{1}});
  EXPECT_THAT(checkpoint_steps(), ElementsAre(10, 20, 30)) << "the best, the one before, and where it goes on";
  must({ResolveTrials{.id = 1, .trial_stages = {{0, "train", 1, kNoFurther}}}, ReleaseCheckpoints{1}});
  EXPECT_THAT(checkpoint_steps(), ElementsAre(20)) << "somebody pinned it";
  must({CollectArtifact{kShaA, kNow + 1}});
  // Wanted again, it begins afresh.
  must({ResolveTrials{.id = 1, .trial_stages = {{0, "train", 1, kToTheEnd}}}, PinArtifact{kShaB, false},
        moved(1, 1, StageState::kParked, StageState::kQueued)});
  EXPECT_EQ(get(store().load()).resume.at(1).step, 20) << "or from what is left";
}

TEST_P(ParkingContract, KeepsTheCheckpointsOfWhatRunsOrWaitsWhateverIsWanted) {
  make_world();
  park();
  must({moved(1, 1, StageState::kParked, StageState::kQueued),
        ResolveTrials{.id = 1, .trial_stages = {{0, "train", 1, kNoFurther}}}});
  EXPECT_THAT(get(store().stages_to_release(0, 10)), ElementsAre());
  must({grant(1, 2, 30, kShaA)});
  EXPECT_THAT(get(store().stages_to_release(0, 10)), ElementsAre());
}

TEST_P(ParkingContract, GoesWithItsExperiment) {
  make_world();
  park();
  const Deletion planned = get(store().deletion(1));
  EXPECT_THAT(planned.stages, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(planned.stages_unfinished, 3) << "what has parked waits for nobody";
  must({DeleteExperiment{1}, PurgeDeleted{10}});
  EXPECT_EQ(reason_of(store().stage(1).status()), "STAGE_NOT_FOUND");
}

}  // namespace
}  // namespace locus::testing
