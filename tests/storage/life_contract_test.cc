// Contract: what comes and goes: logs, pins, collection, retention, deletion.
#include "core/limits.h"
#include "tests/storage/store_contract.h"

namespace locus::testing {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;

class LifeContract : public StoreContract {
 protected:
  std::vector<std::int64_t> checkpoint_steps(StageId id) {
    std::vector<std::int64_t> out;
    const auto rows = store().checkpoints(id).value();
    for (const CheckpointRow& row : rows) out.push_back(row.step);
    return out;
  }
  // Takes away what deleted experiments leave, so many trials at once; what went altogether.
  Purge purge(int trials) {
    Purge all;
    for (Purge next = store().next_purge(trials).value(); next.left; next = store().next_purge(trials).value()) {
      all.stages.insert(all.stages.end(), next.stages.begin(), next.stages.end());
      all.artifacts.insert(all.artifacts.end(), next.artifacts.begin(), next.artifacts.end());
      must({PurgeDeleted{trials}});
    }
    return all;
  }
  std::string put(int n) {
    std::string sha = std::to_string(n);
    sha = std::string(64 - sha.size(), '0') + sha;
    must({PutArtifact{sha, "checkpoint", "store:" + sha, 100}});
    return sha;
  }
};
LOCUS_STORE_CONTRACT(LifeContract);

TEST_P(LifeContract, AppendsLogsWithoutGapsAndIgnoresWhatItHas) {
  make_world();
  must({grant(1, 1)});
  must({AppendLog{1, 1, "session-a", 0, "one\n"}});
  must({AppendLog{1, 1, "session-a", 2, "e\ntwo\n"}});
  must({AppendLog{1, 1, "session-a", 0, "one\n"}});
  EXPECT_EQ(store().log(1, 1, 0, 100)->text, "one\ntwo\n");
  EXPECT_EQ(store().log(1, 1, 4, 2)->text, "tw");
  EXPECT_EQ(store().log(1, 1, 4, 2)->total, 8);
  EXPECT_EQ(store().log(1, 1, 99, 2)->text, "");
  EXPECT_EQ(store().attempts(1).value()[0].log_bytes, 8);
  expect_refused({AppendLog{1, 1, "session-a", 9, "x"}}, StatusCode::kOutOfRange, "SEQUENCE_GAP");
  expect_refused({AppendLog{1, 1, "another", 8, "x"}}, StatusCode::kAborted, "STALE_ATTEMPT");
  expect_refused({AppendLog{1, 2, "session-a", 0, "x"}}, StatusCode::kAborted, "STALE_ATTEMPT");
  expect_refused({AppendLog{9, 1, "session-a", 0, "x"}}, StatusCode::kNotFound, "STAGE_NOT_FOUND");
  expect_refused({AppendLog{1, 1, "session-a", 8, std::string(kLogPieceBytes + 1, 'x')}},
                 StatusCode::kResourceExhausted, "LIMIT_EXCEEDED");
  EXPECT_EQ(reason_of(store().log(1, 2, 0, 1).status()), "ATTEMPT_NOT_FOUND");
}

TEST_P(LifeContract, TakesTheEndOfALogAfterTheAttemptIsOver) {
  make_world();
  must({grant(1, 1), end(1, 1, AttemptState::kFailed, StageState::kQueued)});
  must({AppendLog{1, 1, "session-a", 0, "last words"}});
  EXPECT_EQ(store().log(1, 1, 0, 100)->text, "last words");
}

TEST_P(LifeContract, KeepsTheEndOfALongLog) {
  make_world();
  must({grant(1, 1)});
  for (std::int64_t i = 0; i < 6; ++i) {
    must({AppendLog{1, 1, "session-a", i * kLogPieceBytes, std::string(kLogPieceBytes, static_cast<char>('a' + i))}});
  }
  const LogView all = store().log(1, 1, 0, kLogBytes).value();
  EXPECT_EQ(all.total, 6 * kLogPieceBytes);
  EXPECT_EQ(all.offset, all.total - kLogBytes);
  EXPECT_EQ(static_cast<std::int64_t>(all.text.size()), kLogBytes);
  EXPECT_EQ(all.text.front(), 'c');
  EXPECT_EQ(all.text.back(), 'f');
}

TEST_P(LifeContract, CollectsOnlyWhatNothingNames) {
  make_world();
  must({grant(1, 1), CommitCheckpoint{1, 1, 10, kShaA, false}});
  expect_refused({CollectArtifact{kShaA, kNow + 1}}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  expect_refused({CollectArtifact{kShaB, kNow}}, StatusCode::kFailedPrecondition, "WRONG_STATE");  // too young
  must({PinArtifact{kShaB, true}});
  expect_refused({CollectArtifact{kShaB, kNow + 1}}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  must({PinArtifact{kShaB, false}});
  must({CollectArtifact{kShaB, kNow + 1}});
  EXPECT_EQ(reason_of(store().artifact(kShaB).status()), "ARTIFACT_NOT_FOUND");
  expect_refused({CollectArtifact{kShaB, kNow + 1}}, StatusCode::kNotFound, "ARTIFACT_NOT_FOUND");
  expect_refused({PinArtifact{kShaB, true}}, StatusCode::kNotFound, "ARTIFACT_NOT_FOUND");
  const auto views = store().artifacts("", 10).value();
  ASSERT_EQ(views.size(), 1u);
  EXPECT_TRUE(views[0].named);
}

TEST_P(LifeContract, NamesWhatAnInputOutputOrRunningAttemptUses) {
  make_world();
  EndAttempt done = end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded);
  done.outputs = {{"checkpoint", kShaA, 10}};
  must({grant(1, 1), done, grant(3, 1, 5, kShaB)});
  for (const std::string& sha : {kShaA, kShaB})
    expect_refused({CollectArtifact{sha, kNow + 1}}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  must({end(3, 1, AttemptState::kLost, StageState::kQueued)});
  must({CollectArtifact{kShaB, kNow + 1}});
}

TEST_P(LifeContract, ReleasesAllCheckpointsButResumePointBestLastAndPinned) {
  make_world();
  must({grant(1, 1)});
  std::vector<std::string> sha;
  for (int i = 0; i < 6; ++i) sha.push_back(put(i));
  for (int i = 0; i < 6; ++i) must({CommitCheckpoint{1, 1, 10 * (i + 1), sha[static_cast<std::size_t>(i)], i == 1}});
  must({PinArtifact{sha[0], true}});
  EXPECT_THAT(store().stages_to_release(0, 10).value(), ElementsAre(1));
  must({ReleaseCheckpoints{1}});
  EXPECT_THAT(checkpoint_steps(1), ElementsAre(10, 20, 50, 60));  // pinned, best, last but one, resume
  EXPECT_THAT(store().stages_to_release(0, 10).value(), ElementsAre());
  EXPECT_EQ(store().load()->resume.at(1).step, 60);
}

TEST_P(LifeContract, NeverReleasesAResumePointThatALaterAttemptFellBackTo) {
  make_world();
  const std::string early = put(1), late = put(2), later = put(3);
  must({grant(1, 1), CommitCheckpoint{1, 1, 10, early, false}, CommitCheckpoint{1, 1, 20, late, false},
        CommitCheckpoint{1, 1, 30, later, false}, end(1, 1, AttemptState::kLost, StageState::kQueued)});
  // It resumed from step 10: the checkpoints past it are superseded.
  must({grant(1, 2, 10, early), ReleaseCheckpoints{1}});
  EXPECT_THAT(checkpoint_steps(1), ElementsAre(10));
}

TEST_P(LifeContract, KeepsOfASucceededStageItsOutputAndItsBest) {
  make_world();
  const std::string best = put(1), middle = put(2), last = put(3);
  EndAttempt done = end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded);
  done.outputs = {{"checkpoint", last, 30}};
  must({grant(1, 1), CommitCheckpoint{1, 1, 10, best, true}, CommitCheckpoint{1, 1, 20, middle, false},
        CommitCheckpoint{1, 1, 30, last, false}, done, ReleaseCheckpoints{1}});
  EXPECT_THAT(checkpoint_steps(1), ElementsAre(10, 30));
}

SaveExperiment other_experiment() {  // its one trial takes the first stage of the world
  SaveExperiment m;
  m.row.id = 2;
  m.row.name = "other";
  m.row.spec_json = "{}";
  m.row.catalog_digest = "digest";
  m.cells = {{0, "{}", "none", "{}"}};
  m.trials = {{0, 0, 0, false}};
  m.trial_stages = {{0, "train", 1}};
  return m;
}

TEST_P(LifeContract, DeletesAnExperimentWithEverythingOfItsOwn) {
  make_world();
  must({grant(3, 1), CommitCheckpoint{3, 1, 10, kShaB, false}, AppendLog{3, 1, "session-a", 0, "hm"}});
  must_append(points_of(3, 1, 1, ramp(1, 5)));
  must({end(3, 1, AttemptState::kFailed, StageState::kFailed), other_experiment()});
  const Deletion planned = store().deletion(1).value();
  EXPECT_THAT(planned.stages, ElementsAre(2, 3, 4));
  EXPECT_EQ(planned.stages_kept, 1);
  EXPECT_THAT(planned.kept_for, ElementsAre("other"));
  EXPECT_EQ(planned.stages_unfinished, 2);
  EXPECT_EQ(planned.trials, 2);
  EXPECT_EQ(planned.attempts, 1);
  EXPECT_EQ(planned.points, 5);
  EXPECT_THAT(planned.artifacts, ElementsAre(kShaB));
  EXPECT_EQ(planned.bytes, 20);
  must({DeleteExperiment{1}});
  EXPECT_EQ(purge(2).stages, planned.stages);
  EXPECT_EQ(reason_of(store().experiment(1).status()), "EXPERIMENT_NOT_FOUND");
  EXPECT_EQ(reason_of(store().experiment_of_request("request-1").status()), "EXPERIMENT_NOT_FOUND");
  EXPECT_TRUE(store().stage(1).ok());
  for (const StageId id : {2, 3, 4}) EXPECT_EQ(reason_of(store().stage(id).status()), "STAGE_NOT_FOUND");
  EXPECT_EQ(store().attempts_started().value(), 1) << "counted over the store's whole life";
  must({CollectArtifact{kShaB, kNow + 1}});
  EXPECT_TRUE(store().check()->problems.empty());
  expect_refused({DeleteExperiment{1}}, StatusCode::kNotFound, "EXPERIMENT_NOT_FOUND");
}

TEST_P(LifeContract, NeverGivesADeletedIdAgain) {
  make_world();
  for (const bool purged : {false, true}) {
    if (purged) {
      purge(1);
    } else {
      must({DeleteExperiment{1}});
    }
    const Snapshot snapshot = store().load().value();
    EXPECT_EQ(snapshot.next_experiment, 2);
    EXPECT_EQ(snapshot.next_stage, 5);
  }
}

TEST_P(LifeContract, ShowsNothingOfADeletedExperimentWhileItsRowsGo) {
  make_world();
  must({grant(1, 1), end(1, 1, AttemptState::kCancelled, StageState::kCancelled)});
  must({DeleteExperiment{1}});
  for (int piece = 0; store().next_purge(1)->left; ++piece) {
    ASSERT_LT(piece, 10);
    const std::string name = store().next_purge(1)->stages.empty() ? "its cells" : "its trials";
    EXPECT_EQ(reason_of(store().experiment(1).status()), "EXPERIMENT_NOT_FOUND") << name;
    EXPECT_EQ(reason_of(store().counts(1).status()), "EXPERIMENT_NOT_FOUND") << name;
    EXPECT_EQ(reason_of(store().trials(1, -1, 10).status()), "EXPERIMENT_NOT_FOUND") << name;
    EXPECT_EQ(reason_of(store().deletion(1).status()), "EXPERIMENT_NOT_FOUND") << name;
    EXPECT_TRUE(store().experiments(0, 10)->empty()) << name;
    EXPECT_TRUE(store().load()->experiments.empty()) << name;
    EXPECT_TRUE(store().load()->references.empty()) << name;
    expect_refused({DeleteExperiment{1}}, StatusCode::kNotFound, "EXPERIMENT_NOT_FOUND");
    must({PurgeDeleted{1}});
  }
  EXPECT_TRUE(store().stages_by_identity(std::vector<std::string>{"identity-1", "identity-2"})->empty());
  must({PurgeDeleted{1}});  // nothing left is no error
  expect_refused({PurgeDeleted{0}}, StatusCode::kInvalidArgument, "INVALID_ARGUMENT");
}

TEST_P(LifeContract, FreesTheNameOfADeletedExperimentAtOnce) {
  make_world();
  must({DeleteExperiment{1}});
  SaveExperiment again = other_experiment();
  again.row.name = "priors";
  must({again});
  purge(1);
  EXPECT_EQ(store().experiment("priors")->id, 2);
  EXPECT_EQ(store().trials(2, -1, 10)->size(), 1u);
}

TEST_P(LifeContract, LeavesAStageThatAnotherExperimentLinkedBeforeItsTurnCame) {
  make_world();
  must({DeleteExperiment{1}, other_experiment()});
  purge(1);
  EXPECT_TRUE(store().stage(1).ok());
  for (const StageId id : {2, 3, 4}) EXPECT_EQ(reason_of(store().stage(id).status()), "STAGE_NOT_FOUND");
  must({DeleteExperiment{2}});
  purge(1);
  EXPECT_EQ(reason_of(store().stage(1).status()), "STAGE_NOT_FOUND");
}

TEST_P(LifeContract, RefusesToDeleteWhatRuns) {
  make_world();
  must({grant(1, 1)});
  expect_refused({DeleteExperiment{1}}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  must({end(1, 1, AttemptState::kCancelled, StageState::kCancelled), DeleteExperiment{1}});
}

TEST_P(LifeContract, RollsADeletionBackWholly) {
  make_world();
  must({grant(1, 1)});
  must_append(points_of(1, 1, 1, ramp(1, 5)));
  must({end(1, 1, AttemptState::kFailed, StageState::kFailed)});
  expect_refused({DeleteExperiment{1}, DeleteExperiment{1}}, StatusCode::kNotFound, "EXPERIMENT_NOT_FOUND");
}

TEST_P(LifeContract, RemembersDrainsAndReasons) {
  make_world();
  WorkerRow worker = store().workers().value()[0];
  worker.drain = Drain::kStopWork;
  worker.reason = "odd noises";
  worker.drain_from_us = 1'796'083'200'000'000;
  must({PutWorker{worker}, SetExperimentState{1, ExperimentState::kActive, ExperimentState::kPaused, "all fail"}});
  EXPECT_EQ(store().workers().value()[0].drain, Drain::kStopWork);
  EXPECT_EQ(store().workers().value()[0].reason, "odd noises");
  EXPECT_EQ(store().workers().value()[0].drain_from_us, worker.drain_from_us);
  EXPECT_EQ(store().load()->workers[0].drain_from_us, worker.drain_from_us);
  EXPECT_EQ(store().experiment(1)->reason, "all fail");
  EXPECT_EQ(store().load()->experiments[0].reason, "all fail");
}

TEST_P(LifeContract, ListsAWorkersAttemptsNewestFirst) {
  make_world();
  must({grant(1, 1), end(1, 1, AttemptState::kLost, StageState::kQueued), grant(1, 2)});
  const auto attempts = store().attempts_of_worker(1, 10).value();
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].number, 2);
  EXPECT_EQ(store().attempts_of_worker(1, 1).value().size(), 1u);
  EXPECT_TRUE(store().attempts_of_worker(9, 10).value().empty());
}

TEST_P(LifeContract, TellsWhichExperimentsHaveProvenThemselves) {
  make_world();
  EXPECT_TRUE(store().load()->proven.empty());
  EXPECT_EQ(store().load()->cells.at(1), 1);
  must({grant(1, 1), end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded)});
  EXPECT_TRUE(store().load()->proven.contains(1));
}

}  // namespace
}  // namespace locus::testing
