// Contract: stage states, grants, ends of attempts, checkpoints, artifacts, workers: everything the token
// fences.
#include <cmath>
#include <limits>

#include "tests/storage/store_contract.h"

namespace locus::testing {
namespace {

using absl::StatusCode;

class AttemptContract : public StoreContract {};
LOCUS_STORE_CONTRACT(AttemptContract);

SetStageState move_stage(StageId id, std::int64_t attempt, StageState from, StageState to) {
  SetStageState m;
  m.stage_id = id;
  m.attempt = attempt;
  m.from = from;
  m.to = to;
  return m;
}

TEST_P(AttemptContract, UnblocksAStageAndFillsItsInputs) {
  make_world();
  SetStageState m = move_stage(2, 0, StageState::kBlocked, StageState::kQueued);
  m.inputs = {{"checkpoint", kShaA}};
  m.reason = "waits for a worker";
  must({m});
  const StageRow stage = store().stage(2).value();
  EXPECT_EQ(stage.state, StageState::kQueued);
  EXPECT_EQ(stage.reason, "waits for a worker");
  EXPECT_EQ(stage.inputs[0].artifact_sha256, kShaA);
  EXPECT_EQ(stage.inputs[0].from_stage, 1);
}

TEST_P(AttemptContract, RefusesAStageMoveUnderAStaleToken) {
  make_world();
  expect_refused({move_stage(1, 1, StageState::kQueued, StageState::kHeld)}, StatusCode::kAborted, "STALE_ATTEMPT");
  expect_refused({move_stage(1, 0, StageState::kBlocked, StageState::kQueued)}, StatusCode::kAborted, "STALE_ATTEMPT");
  expect_refused({move_stage(9, 0, StageState::kQueued, StageState::kHeld)}, StatusCode::kNotFound, "STAGE_NOT_FOUND");
}

TEST_P(AttemptContract, RefusesStageMovesThatOnlyAttemptsMake) {
  make_world();
  expect_refused({move_stage(1, 0, StageState::kQueued, StageState::kRunning)}, StatusCode::kFailedPrecondition,
                 "WRONG_STATE");
  must({grant(1, 1)});
  expect_refused({move_stage(1, 1, StageState::kRunning, StageState::kQueued)}, StatusCode::kFailedPrecondition,
                 "WRONG_STATE");
  must({end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded)});
  expect_refused({move_stage(1, 1, StageState::kSucceeded, StageState::kQueued)}, StatusCode::kFailedPrecondition,
                 "WRONG_STATE");
}

TEST_P(AttemptContract, RefusesAnInputSlotTheStageDoesNotHave) {
  make_world();
  SetStageState m = move_stage(2, 0, StageState::kBlocked, StageState::kQueued);
  m.inputs = {{"checkpoint", kShaA}, {"teacher", kShaB}};
  expect_refused({m}, StatusCode::kInvalidArgument, "INVALID_ARGUMENT");
}

TEST_P(AttemptContract, ForgivesCountersOnlyWhenAsked) {
  make_world();
  EndAttempt failure = end(1, 1, AttemptState::kFailed, StageState::kFailed);
  failure.counts_as_failure = failure.counts_as_fault = true;
  must({grant(1, 1), failure});
  must({move_stage(1, 1, StageState::kFailed, StageState::kHeld)});
  EXPECT_EQ(store().stage(1).value().failures, 1);
  EXPECT_EQ(store().stage(1).value().faults, 1);
  SetStageState again = move_stage(1, 1, StageState::kHeld, StageState::kQueued);
  again.forgive = true;
  must({again});
  EXPECT_EQ(store().stage(1).value().failures, 0);
  EXPECT_EQ(store().stage(1).value().faults, 0);
  EXPECT_EQ(store().stage(1).value().attempt, 1);  // tokens never go back
}

TEST_P(AttemptContract, GrantsTheNextNumberOfAQueuedStage) {
  make_world();
  must({grant(1, 1, 40, kShaA)});
  const StageRow stage = store().stage(1).value();
  EXPECT_EQ(stage.state, StageState::kRunning);
  EXPECT_EQ(stage.attempt, 1);
  const auto attempts = store().attempts(1).value();
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].state, AttemptState::kRunning);
  EXPECT_EQ(attempts[0].worker_id, 1);
  EXPECT_EQ(attempts[0].session, "session-a");
  EXPECT_THAT(attempts[0].slots, ::testing::ElementsAre(0, 1));
  EXPECT_EQ(attempts[0].resume_step, 40);
  EXPECT_EQ(attempts[0].resume_sha256, kShaA);
  EXPECT_EQ(attempts[0].started_us, 1000);
  EXPECT_EQ(attempts[0].acked_seq, 0);
  EXPECT_EQ(store().attempts_started().value(), 1);
}

TEST_P(AttemptContract, RefusesAGrantOutOfTurn) {
  make_world();
  expect_refused({grant(1, 2)}, StatusCode::kAborted, "STALE_ATTEMPT");
  expect_refused({grant(1, 0)}, StatusCode::kAborted, "STALE_ATTEMPT");
  expect_refused({grant(2, 1)}, StatusCode::kAborted, "STALE_ATTEMPT");  // blocked
  expect_refused({grant(9, 1)}, StatusCode::kNotFound, "STAGE_NOT_FOUND");
  expect_refused({grant(1, 1), grant(1, 1)}, StatusCode::kAborted, "STALE_ATTEMPT");
  expect_refused({grant(1, 1), grant(1, 2)}, StatusCode::kAborted, "STALE_ATTEMPT");  // running
}

TEST_P(AttemptContract, RefusesAGrantToAnUnknownWorker) {
  make_world();
  GrantAttempt m = grant(1, 1);
  m.worker_id = 9;
  expect_refused({m}, StatusCode::kNotFound, "WORKER_NOT_FOUND");
}

TEST_P(AttemptContract, ClearsTheTraceOfTheLastFailureAtAGrant) {
  make_world();
  EndAttempt failure = end(1, 1, AttemptState::kFailed, StageState::kQueued);
  failure.failure_class = FailureClass::kOutOfMemory;
  failure.reason = "out of memory";
  failure.retry_delay_us = 2'000'000;
  failure.counts_as_failure = true;
  must({grant(1, 1), failure});
  StageRow stage = store().stage(1).value();
  EXPECT_EQ(stage.failure_class, FailureClass::kOutOfMemory);
  EXPECT_EQ(stage.reason, "out of memory");
  EXPECT_EQ(stage.retry_delay_us, 2'000'000);
  must({grant(1, 2)});
  stage = store().stage(1).value();
  EXPECT_EQ(stage.failure_class, FailureClass::kNone);
  EXPECT_EQ(stage.reason, "");
  EXPECT_EQ(stage.retry_delay_us, 0);
  EXPECT_EQ(stage.failures, 1);
}

TEST_P(AttemptContract, EndsAnAttemptWithResultsAndOutputs) {
  make_world();
  EndAttempt m = end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded);
  m.environment_json = R"({"device":"cpu"})";
  m.results = {{{"top1", "test", R"({"resolution":42})"}, "last", 0.8, 100},
               {{"top1", "test", R"({"resolution":28})"}, "last", 0.9, 100}};
  m.outputs = {{"checkpoint", kShaA, 100}};
  must({grant(1, 1), m});
  const auto attempts = store().attempts(1).value();
  EXPECT_EQ(attempts[0].state, AttemptState::kSucceeded);
  EXPECT_EQ(attempts[0].ended_us, 1500);
  EXPECT_EQ(attempts[0].environment_json, R"({"device":"cpu"})");
  const StageRow stage = store().stage(1).value();
  ASSERT_EQ(stage.outputs.size(), 1u);
  EXPECT_EQ(stage.outputs[0].sha256, kShaA);
  EXPECT_EQ(stage.outputs[0].step, 100);
  const auto results = store().stage_results(1).value();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].key.labels, R"({"resolution":28})");
  EXPECT_EQ(results[0].value, 0.9);
  EXPECT_EQ(results[0].reducer, "last");
  EXPECT_EQ(results[0].step, 100);
  const auto of_experiment = store().results(1).value();
  ASSERT_EQ(of_experiment.size(), 2u);
  EXPECT_EQ(of_experiment[1].stage_id, 1);
  EXPECT_EQ(of_experiment[1].result.value, 0.8);
}

TEST_P(AttemptContract, TellsTablesWhatEveryTrialRanOnAndTheResultsOfOneMetric) {
  make_world();
  EndAttempt m = end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded);
  m.environment_json = R"({"device":"cpu"})";
  m.results = {{{"top1", "test", "{}"}, "last", 0.8, 100}, {{"loss", "test", "{}"}, "last", 1.5, 100}};
  must({grant(1, 1), end(1, 1, AttemptState::kLost, StageState::kQueued), grant(1, 2)});
  m.attempt = 2;
  must({m});
  const StageBriefs briefs = store().briefs(1).value();
  const auto first =
      std::find_if(briefs.stages.begin(), briefs.stages.end(), [](const auto& b) { return b.stage == 1; });
  ASSERT_NE(first, briefs.stages.end());
  EXPECT_EQ(first->trial, 0);
  EXPECT_EQ(first->state, StageState::kSucceeded);
  ASSERT_EQ(briefs.environments.size(), 1u);
  EXPECT_EQ(briefs.environments[0], R"({"device":"cpu"})");
  EXPECT_EQ(first->environment, 0);
  for (const StageBrief& brief : briefs.stages) {
    if (brief.stage != 1) {
      EXPECT_EQ(brief.environment, -1);
    }
  }
  const auto views = store().trials(1, -1, 100).value();
  std::size_t stages = 0;
  for (const TrialView& view : views) stages += view.trial.retired ? 0 : view.stages.size();
  EXPECT_EQ(briefs.stages.size(), stages);
  const auto losses = store().results(1, "loss").value();
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].result.value, 1.5);
  EXPECT_TRUE(store().results(1, "nothing").value().empty());
  EXPECT_EQ(store().briefs(99).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(store().results(99, "loss").status().code(), StatusCode::kNotFound);
}

TEST_P(AttemptContract, KeepsEveryDoubleOfAResultAsItWas) {
  make_world();
  const std::vector<double> values = {
      std::nan(""), std::numeric_limits<double>::infinity(),   -std::numeric_limits<double>::infinity(), -0.0,
      0.1 + 0.2,    std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max(),       5};
  EndAttempt m = end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded);
  for (std::size_t i = 0; i < values.size(); ++i) {
    m.results.push_back({{"metric", "test", "{}"}, "r" + std::to_string(i), values[i], 1});
  }
  must({grant(1, 1), m});
  const auto results = store().stage_results(1).value();
  ASSERT_EQ(results.size(), values.size());
  EXPECT_TRUE(std::isnan(results[0].value));
  for (std::size_t i = 1; i < values.size(); ++i) {
    EXPECT_EQ(results[i].value, values[i]) << i;
    EXPECT_EQ(std::signbit(results[i].value), std::signbit(values[i])) << i;
  }
}

TEST_P(AttemptContract, LeavesResultsOfRetiredTrialsOut) {
  make_world();
  EndAttempt m = end(3, 1, AttemptState::kSucceeded, StageState::kSucceeded);
  m.results = {{{"top1", "test", "{}"}, "last", 0.5, 1}};
  must({grant(3, 1), m});
  ASSERT_EQ(store().results(1).value().size(), 1u);
  SaveExperiment retire;
  retire.expected_revision = 1;
  retire.row = small_experiment().row;
  retire.row.revision = 2;
  retire.trials = {{1, 0, 1, true}};
  must({retire});
  EXPECT_TRUE(store().results(1).value().empty());
  EXPECT_EQ(store().stage_results(3).value().size(), 1u);
}

TEST_P(AttemptContract, IgnoresResultsOfAnAttemptThatDidNotSucceed) {
  make_world();
  EndAttempt m = end(1, 1, AttemptState::kFailed, StageState::kFailed);
  m.results = {{{"top1", "test", "{}"}, "last", 0.5, 1}};
  m.outputs = {{"checkpoint", kShaUnknown, 1}};
  must({grant(1, 1), m});
  EXPECT_TRUE(store().stage_results(1).value().empty());
  EXPECT_TRUE(store().stage(1).value().outputs.empty());
}

TEST_P(AttemptContract, RefusesToEndAnAttemptTwiceOrUnderAnOldToken) {
  make_world();
  const auto lost = end(1, 1, AttemptState::kLost, StageState::kQueued);
  expect_refused({lost}, StatusCode::kAborted, "STALE_ATTEMPT");
  must({grant(1, 1), lost});
  expect_refused({lost}, StatusCode::kAborted, "STALE_ATTEMPT");
  must({grant(1, 2)});
  expect_refused({end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded)}, StatusCode::kAborted, "STALE_ATTEMPT");
  expect_refused({end(1, 3, AttemptState::kSucceeded, StageState::kSucceeded)}, StatusCode::kAborted, "STALE_ATTEMPT");
  expect_refused({end(9, 1, AttemptState::kLost, StageState::kQueued)}, StatusCode::kNotFound, "STAGE_NOT_FOUND");
}

TEST_P(AttemptContract, RefusesAnEndThatContradictsItself) {
  make_world();
  must({grant(1, 1)});
  for (const auto& [outcome, state] :
       std::vector<std::pair<AttemptState, StageState>>{{AttemptState::kRunning, StageState::kQueued},
                                                        {AttemptState::kFailed, StageState::kSucceeded},
                                                        {AttemptState::kLost, StageState::kRunning},
                                                        {AttemptState::kLost, StageState::kBlocked}}) {
    expect_refused({end(1, 1, outcome, state)}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  }
}

TEST_P(AttemptContract, RefusesAnOutputThatIsNoStoredArtifact) {
  make_world();
  must({grant(1, 1)});
  EndAttempt m = end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded);
  m.outputs = {{"checkpoint", kShaUnknown, 1}};
  expect_refused({m}, StatusCode::kNotFound, "ARTIFACT_NOT_FOUND");
}

TEST_P(AttemptContract, CommitsCheckpointsAndMovesTheBestMark) {
  make_world();
  must({grant(1, 1), CommitCheckpoint{1, 1, 10, kShaA, true}});
  must({CommitCheckpoint{1, 1, 20, kShaB, true}});
  must({CommitCheckpoint{1, 1, 10, kShaA, true}});  // a resend
  const auto checkpoints = store().checkpoints(1).value();
  ASSERT_EQ(checkpoints.size(), 2u);
  EXPECT_EQ(checkpoints[0].step, 10);
  EXPECT_EQ(checkpoints[0].sha256, kShaA);
  EXPECT_FALSE(checkpoints[0].best);
  EXPECT_EQ(checkpoints[1].attempt, 1);
  EXPECT_TRUE(checkpoints[1].best);
}

TEST_P(AttemptContract, FencesCheckpoints) {
  make_world();
  expect_refused({CommitCheckpoint{1, 0, 10, kShaA}}, StatusCode::kAborted, "STALE_ATTEMPT");  // queued
  expect_refused({CommitCheckpoint{9, 1, 10, kShaA}}, StatusCode::kNotFound, "STAGE_NOT_FOUND");
  must({grant(1, 1)});
  expect_refused({CommitCheckpoint{1, 1, 10, kShaUnknown}}, StatusCode::kNotFound, "ARTIFACT_NOT_FOUND");
  expect_refused({CommitCheckpoint{1, 2, 10, kShaA}}, StatusCode::kAborted, "STALE_ATTEMPT");
  must({end(1, 1, AttemptState::kLost, StageState::kQueued)});
  expect_refused({CommitCheckpoint{1, 1, 10, kShaA}}, StatusCode::kAborted, "STALE_ATTEMPT");
  must({grant(1, 2)});
  expect_refused({CommitCheckpoint{1, 1, 10, kShaA}}, StatusCode::kAborted, "STALE_ATTEMPT");
}

TEST_P(AttemptContract, KeepsTheFirstRowOfAnArtifact) {
  must({PutArtifact{kShaA, "checkpoint", "store:" + kShaA, 10}});
  must({PutArtifact{kShaA, "picture", "elsewhere", 11}});
  const ArtifactRow row = store().artifact(kShaA).value();
  EXPECT_EQ(row.kind, "checkpoint");
  EXPECT_EQ(row.uri, "store:" + kShaA);
  EXPECT_EQ(row.bytes, 10);
  EXPECT_FALSE(row.pinned);
}

TEST_P(AttemptContract, ReplacesAWorkerByIdAndRefusesATakenName) {
  make_world();
  WorkerRow row;
  row.id = 1;
  row.name = "node-a";
  row.session = "session-b";
  row.host = "host";
  row.version = "1.2";
  row.catalog_digest = "digest";
  row.state = WorkerState::kDraining;
  row.seen_us = 9;
  row.instance = "folder@boot";
  row.since_us = 7;
  row.data_json = R"({"held":["fashion-mnist"]})";
  row.forgotten = true;
  must({PutWorker{row}});
  const auto workers = store().workers().value();
  ASSERT_EQ(workers.size(), 1u);
  EXPECT_EQ(workers[0].session, "session-b");
  EXPECT_EQ(workers[0].state, WorkerState::kDraining);
  EXPECT_EQ(workers[0].slots_json, "");
  EXPECT_EQ(workers[0].seen_us, 9);
  EXPECT_EQ(workers[0].instance, "folder@boot");
  EXPECT_EQ(workers[0].since_us, 7);
  EXPECT_EQ(workers[0].data_json, R"({"held":["fashion-mnist"]})");
  EXPECT_TRUE(workers[0].forgotten);
  row.id = 2;
  expect_refused({PutWorker{row}}, StatusCode::kFailedPrecondition, "WRONG_STATE");
}

TEST_P(AttemptContract, KeepsTextAsItWas) {
  make_world();
  const std::string odd =
      std::string("quote ' \" \\ ; DROP TABLE stage; -- \n") + '\0' + "after NUL, \xc3\xa9 \xe2\x9c\x93";
  EndAttempt m = end(1, 1, AttemptState::kFailed, StageState::kFailed);
  m.reason = odd;
  must({grant(1, 1), m});
  EXPECT_EQ(store().stage(1).value().reason, odd);
  EXPECT_EQ(store().attempts(1).value()[0].reason, odd);
}

}  // namespace
}  // namespace locus::testing
