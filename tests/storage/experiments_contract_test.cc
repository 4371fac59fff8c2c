// Contract: catalogs, experiments, cells, trials, stages of a submission, request ids.
#include "tests/storage/store_contract.h"

namespace locus::testing {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;

class ExperimentContract : public StoreContract {};
LOCUS_STORE_CONTRACT(ExperimentContract);

SaveExperiment extension() {  // revision 2: trial 1 retired, trial 2 added with a shared and a new stage
  SaveExperiment m;
  m.expected_revision = 1;
  m.row = small_experiment().row;
  m.row.revision = 2;
  m.row.spec_json = R"({"version":1,"more":true})";
  m.row.priority = 7;
  m.trials = {{1, 0, 1, true}, {2, 0, 2, false}};
  m.stages = {train_stage(5)};
  m.trial_stages = {{2, "train", 5}, {2, "evaluate", 2}};
  m.request_id = "request-2";
  return m;
}

TEST_P(ExperimentContract, KeepsACatalogByDigestAndTheFirstTextOfIt) {
  must({PutCatalog{"digest", "first"}});
  must({PutCatalog{"digest", "second"}});
  EXPECT_EQ(store().catalog("digest").value(), "first");
  EXPECT_EQ(store().catalog("other").status().code(), StatusCode::kNotFound);
}

TEST_P(ExperimentContract, CountsAStageInEveryExperimentThatLinksItAndInNoOther) {
  make_world();
  SaveExperiment other;
  other.row = small_experiment().row;
  other.row.id = 2, other.row.name = "other";
  other.cells = small_experiment().cells;
  other.trials = {{0, 0, 0, false}};
  other.stages = {train_stage(5)};
  other.trial_stages = {{0, "train", 1}, {0, "train-2", 5}};
  must({other});
  const auto running = [this](ExperimentId id) {
    const StageCounts counts = get(store().counts(id));
    const auto found = counts.by_state.find(StageState::kRunning);
    return found == counts.by_state.end() ? 0 : found->second;
  };
  EXPECT_EQ(running(1), 0);
  EXPECT_EQ(running(2), 0);
  must({grant(1, 1)});
  EXPECT_EQ(running(1), 1);
  EXPECT_EQ(running(2), 1) << "they share it";
  must({grant(5, 1)});
  EXPECT_EQ(running(1), 1);
  EXPECT_EQ(running(2), 2);
}

TEST_P(ExperimentContract, ReadsBackWhatWasSaved) {
  make_world();
  for (const auto& row : {store().experiment(1), store().experiment("priors")}) {
    ASSERT_TRUE(row.ok()) << row.status();
    EXPECT_EQ(row->id, 1);
    EXPECT_EQ(row->name, "priors");
    EXPECT_EQ(row->owner, "ada");
    EXPECT_EQ(row->spec_json, R"({"version":1})");
    EXPECT_EQ(row->revision, 1);
    EXPECT_EQ(row->state, ExperimentState::kActive);
    EXPECT_EQ(row->catalog_digest, "digest");
    EXPECT_EQ(row->created_us, 77);
  }
  const auto cells = store().cells(1).value();
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].row_key, R"({"prior":"none"})");
  EXPECT_EQ(cells[0].label, "none");
  EXPECT_EQ(cells[0].assignment_json, R"({"prior":[]})");
  const StageRow stage = store().stage(2).value();
  EXPECT_EQ(stage.identity, "identity-2");
  EXPECT_EQ(stage.kind, "evaluate");
  EXPECT_EQ(stage.config_json, R"({"resolution":28})");
  EXPECT_EQ(stage.seed, 2);
  EXPECT_EQ(stage.state, StageState::kBlocked);
  ASSERT_EQ(stage.inputs.size(), 1u);
  EXPECT_EQ(stage.inputs[0].slot, "checkpoint");
  EXPECT_EQ(stage.inputs[0].from_stage, 1);
  EXPECT_EQ(stage.inputs[0].artifact_sha256, "");
}

TEST_P(ExperimentContract, NamesTheNounOfWhatIsAbsent) {
  EXPECT_EQ(reason_of(store().experiment("x").status()), "EXPERIMENT_NOT_FOUND");
  EXPECT_EQ(reason_of(store().experiment(9).status()), "EXPERIMENT_NOT_FOUND");
  EXPECT_EQ(reason_of(store().counts(9).status()), "EXPERIMENT_NOT_FOUND");
  EXPECT_EQ(reason_of(store().cells(9).status()), "EXPERIMENT_NOT_FOUND");
  EXPECT_EQ(reason_of(store().trials(9, -1, 10).status()), "EXPERIMENT_NOT_FOUND");
  EXPECT_EQ(reason_of(store().results(9).status()), "EXPERIMENT_NOT_FOUND");
  EXPECT_EQ(reason_of(store().series_of(9).status()), "EXPERIMENT_NOT_FOUND");
  EXPECT_EQ(reason_of(store().stage(9).status()), "STAGE_NOT_FOUND");
  EXPECT_EQ(reason_of(store().attempts(9).status()), "STAGE_NOT_FOUND");
  EXPECT_EQ(reason_of(store().checkpoints(9).status()), "STAGE_NOT_FOUND");
  EXPECT_EQ(reason_of(store().references(9).status()), "STAGE_NOT_FOUND");
  EXPECT_EQ(reason_of(store().stage_results(9).status()), "STAGE_NOT_FOUND");
  EXPECT_EQ(reason_of(store().series(9).status()), "STAGE_NOT_FOUND");
  EXPECT_EQ(reason_of(store().points(9, {"loss", "", "{}"}, 0).status()), "STAGE_NOT_FOUND");
  EXPECT_EQ(reason_of(store().artifact(kShaA).status()), "ARTIFACT_NOT_FOUND");
  EXPECT_EQ(store().experiment_of_request("x").status().code(), StatusCode::kNotFound);
}

TEST_P(ExperimentContract, RefusesATakenName) {
  make_world();
  SaveExperiment again = small_experiment();
  again.row.id = 2;
  again.stages.clear();
  expect_refused({again}, StatusCode::kAlreadyExists, "EXPERIMENT_EXISTS");
}

TEST_P(ExperimentContract, RefusesATakenId) {
  make_world();
  SaveExperiment again = small_experiment();
  again.row.name = "other";
  again.stages.clear();
  expect_refused({again}, StatusCode::kFailedPrecondition, "WRONG_STATE");
}

TEST_P(ExperimentContract, LinksAKeptTrialToWhatItsNewRevisionGivesAlone) {
  make_world();
  SaveExperiment shorter = extension();
  shorter.trials = {{0, 0, 0, false}, {1, 0, 1, true}};
  shorter.stages.clear();
  shorter.trial_stages = {{0, "train", 1}};
  must({shorter});
  const auto trials = store().trials(1, -1, 100).value();
  ASSERT_EQ(trials[0].stages.size(), 1u) << "its evaluation is wanted no more";
  for (const auto loaded = get(store().load()); const auto& reference : loaded.references)
    EXPECT_NE(reference.stage, 2) << "nobody wants it after a restart";
}

TEST_P(ExperimentContract, ExtendsARevisionAndRetiresTrials) {
  make_world();
  must({extension()});
  const ExperimentRow row = store().experiment(1).value();
  EXPECT_EQ(row.revision, 2);
  EXPECT_EQ(row.priority, 7);
  EXPECT_EQ(row.spec_json, R"({"version":1,"more":true})");
  const auto trials = store().trials(1, -1, 100).value();
  ASSERT_EQ(trials.size(), 3u);
  EXPECT_FALSE(trials[0].trial.retired);
  EXPECT_EQ(trials[0].stages.size(), 2u) << "the revision does not name it";
  EXPECT_TRUE(trials[1].trial.retired);
  EXPECT_EQ(trials[1].stages.size(), 2u) << "what it ran stays with it";
  EXPECT_TRUE(trials[2].stages[0].stage.id == 5 && trials[2].stages[1].stage.id == 2);
  EXPECT_EQ(store().counts(1).value().trials, 2);
  EXPECT_EQ(store().experiment_of_request("request-1").value(), "priors");
  EXPECT_EQ(store().experiment_of_request("request-2").value(), "priors");
}

TEST_P(ExperimentContract, KeepsTheCreationTimeOfAnExtendedExperiment) {
  make_world();
  SaveExperiment m = extension();
  m.row.created_us = 999;
  must({m});
  EXPECT_EQ(store().experiment(1).value().created_us, 77);
}

TEST_P(ExperimentContract, RefusesAnExtensionOfAnotherRevision) {
  make_world();
  SaveExperiment late = extension();
  late.expected_revision = 2;
  late.row.revision = 3;
  expect_refused({late}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  SaveExperiment skips = extension();
  skips.row.revision = 3;
  expect_refused({skips}, StatusCode::kInvalidArgument, "INVALID_ARGUMENT");
  SaveExperiment renamed = extension();
  renamed.row.name = "other";
  expect_refused({renamed}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  SaveExperiment absent = extension();
  absent.row.id = 9;
  expect_refused({absent}, StatusCode::kNotFound, "EXPERIMENT_NOT_FOUND");
}

TEST_P(ExperimentContract, RefusesAStageStoredAlready) {
  make_world();
  SaveExperiment same_id = extension();
  same_id.stages[0].id = 1;
  expect_refused({same_id}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  SaveExperiment same_identity = extension();
  same_identity.stages[0].identity = "identity-1";
  expect_refused({same_identity}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  SaveExperiment twice = extension();
  twice.stages.push_back(twice.stages[0]);
  twice.stages[1].id = 6;
  expect_refused({twice}, StatusCode::kFailedPrecondition, "WRONG_STATE");
}

TEST_P(ExperimentContract, RefusesANewStageThatHasRun) {
  make_world();
  for (const StageState state : {StageState::kRunning, StageState::kSucceeded}) {
    SaveExperiment m = extension();
    m.stages[0].state = state;
    expect_refused({m}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  }
  SaveExperiment tried = extension();
  tried.stages[0].attempt = 1;
  expect_refused({tried}, StatusCode::kFailedPrecondition, "WRONG_STATE");
}

TEST_P(ExperimentContract, RefusesDanglingReferences) {
  make_world();
  SaveExperiment cell = extension();
  cell.trials[1].cell = 9;
  expect_refused({cell}, StatusCode::kInvalidArgument, "INVALID_ARGUMENT");
  SaveExperiment trial = extension();
  trial.trial_stages[0].trial = 9;
  expect_refused({trial}, StatusCode::kNotFound, "TRIAL_NOT_FOUND");
  SaveExperiment stage = extension();
  stage.trial_stages[1].stage_id = 99;
  expect_refused({stage}, StatusCode::kNotFound, "STAGE_NOT_FOUND");
  SaveExperiment source = extension();
  source.stages[0].inputs = {{"checkpoint", 99, ""}};
  expect_refused({source}, StatusCode::kNotFound, "STAGE_NOT_FOUND");
}

TEST_P(ExperimentContract, AcceptsAStageListedBeforeItsSource) {
  make_world();
  SaveExperiment m = extension();
  m.stages = {evaluate_stage(5, 6), train_stage(6)};
  must({m});
  EXPECT_EQ(store().stage(5).value().inputs[0].from_stage, 6);
}

TEST_P(ExperimentContract, RefusesARequestIdOfAnotherExperiment) {
  make_world();
  SaveExperiment other;
  other.row.id = 2;
  other.row.name = "other";
  other.request_id = "request-1";
  expect_refused({other}, StatusCode::kFailedPrecondition, "WRONG_STATE");
}

TEST_P(ExperimentContract, MovesAnExperimentOnlyFromTheNamedState) {
  make_world();
  must({SetExperimentState{1, ExperimentState::kActive, ExperimentState::kPaused}});
  EXPECT_EQ(store().experiment(1).value().state, ExperimentState::kPaused);
  expect_refused({SetExperimentState{1, ExperimentState::kActive, ExperimentState::kCancelled}},
                 StatusCode::kFailedPrecondition, "WRONG_STATE");
  expect_refused({SetExperimentState{9, ExperimentState::kActive, ExperimentState::kCancelled}}, StatusCode::kNotFound,
                 "EXPERIMENT_NOT_FOUND");
}

TEST_P(ExperimentContract, AppliesAllMutationsOfACallOrNone) {
  make_world();
  SaveExperiment second;
  second.row.id = 2;
  second.row.name = "second";
  second.cells = {{0, "{}", "", "{}"}};
  second.trials = {{0, 0, 0, false}};
  second.stages = {train_stage(5)};
  second.trial_stages = {{0, "train", 5}};
  WorkerRow worker;
  worker.id = 2;
  worker.name = "node-b";
  // Everything before the last is fine by itself; one of every kind that can be.
  expect_refused(
      {PutCatalog{"digest-2", "{}"}, second, SetExperimentState{1, ExperimentState::kActive, ExperimentState::kPaused},
       PutWorker{worker}, PutArtifact{kShaUnknown, "checkpoint", "uri", 1}, grant(1, 1),
       CommitCheckpoint{1, 1, 10, kShaA, true}, end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded),
       SetStageState{2, 0, StageState::kBlocked, StageState::kQueued, {}, "", 0, false, {{"checkpoint", kShaA}}},
       AppendEvent{"stages/1", "stage-state"}, SetExperimentState{9}},
      StatusCode::kNotFound, "EXPERIMENT_NOT_FOUND");
}

TEST_P(ExperimentContract, LetsAMutationRestOnAnEarlierOneOfTheSameCall) {
  make_world();
  must({grant(1, 1), CommitCheckpoint{1, 1, 10, kShaA, true},
        end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded),
        SetStageState{2, 0, StageState::kBlocked, StageState::kQueued, {}, "", 0, false, {{"checkpoint", kShaA}}},
        grant(2, 1)});
  EXPECT_EQ(store().stage(2).value().state, StageState::kRunning);
}

TEST_P(ExperimentContract, ListsExperimentsNewestFirstByPages) {
  make_world();
  for (ExperimentId id = 2; id <= 5; ++id) {
    SaveExperiment m;
    m.row.id = id;
    m.row.name = "experiment-" + std::to_string(id);
    must({m});
  }
  const auto ids = [&](ExperimentId before, int limit) {
    std::vector<ExperimentId> out;
    for (const auto& row : get(store().experiments(before, limit))) out.push_back(row.id);
    return out;
  };
  EXPECT_THAT(ids(0, 2), ElementsAre(5, 4));
  EXPECT_THAT(ids(4, 2), ElementsAre(3, 2));
  EXPECT_THAT(ids(2, 2), ElementsAre(1));
  EXPECT_THAT(ids(1, 2), ElementsAre());
  EXPECT_THAT(ids(0, 0), ElementsAre());
}

TEST_P(ExperimentContract, ListsTrialsByOrdinalWithStagesInTheOrderGiven) {
  make_world();
  const auto first = store().trials(1, -1, 1).value();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].trial.ordinal, 0);
  ASSERT_EQ(first[0].stages.size(), 2u);
  EXPECT_EQ(first[0].stages[0].link.role, "train");
  EXPECT_EQ(first[0].stages[1].link.role, "evaluate");
  EXPECT_EQ(first[0].stages[1].link.stage_id, 2);
  EXPECT_EQ(first[0].stages[1].stage.identity, "identity-2");
  const auto rest = store().trials(1, 0, 10).value();
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].trial.ordinal, 1);
  EXPECT_EQ(rest[0].trial.seed, 1);
  EXPECT_TRUE(store().trials(1, 1, 10).value().empty());
}

TEST_P(ExperimentContract, FindsStagesByIdentity) {
  make_world();
  const std::vector<std::string> asked = {"identity-2", "absent", "identity-3", "identity-2"};
  const auto found = store().stages_by_identity(asked).value();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found.at("identity-2").id, 2);
  EXPECT_EQ(found.at("identity-2").inputs.size(), 1u);
  EXPECT_EQ(found.at("identity-3").id, 3);
}

TEST_P(ExperimentContract, CountsDistinctStagesOfUnretiredTrials) {
  make_world();
  must({grant(1, 1), end(1, 1, AttemptState::kFailed, StageState::kQueued)});
  must({grant(1, 2), end(1, 2, AttemptState::kSucceeded, StageState::kSucceeded)});
  must({extension()});  // trial 2 shares stage 2 with trial 0; trial 1 with stages 3 and 4 is retired
  const StageCounts counts = store().counts(1).value();
  EXPECT_EQ(counts.trials, 2);
  EXPECT_EQ(counts.trials_done, 0);
  const std::map<StageState, std::int64_t> expected = {
      {StageState::kSucceeded, 1}, {StageState::kBlocked, 1}, {StageState::kQueued, 1}};
  EXPECT_EQ(counts.by_state, expected);
  EXPECT_EQ(counts.by_kind.at("train").total, 2);
  EXPECT_EQ(counts.by_kind.at("train").succeeded, 1);
  EXPECT_EQ(counts.by_kind.at("train").busy_us, 1000);  // both attempts of stage 1, 500 each
  EXPECT_EQ(counts.by_kind.at("evaluate").total, 1);
  EXPECT_EQ(counts.by_kind.at("evaluate").busy_us, 0);
  EXPECT_EQ(counts.last_ended_us, 2500);
}

TEST_P(ExperimentContract, CountsAgainAfterEveryWrite) {
  make_world();
  EXPECT_EQ(store().counts(1).value().by_state.count(StageState::kRunning), 0u);
  must({grant(1, 1)});
  EXPECT_EQ(store().counts(1).value().by_state.at(StageState::kRunning), 1);
  must({end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded)});
  EXPECT_EQ(store().counts(1).value().by_state.at(StageState::kSucceeded), 1);
  SetStageState cancelled;
  cancelled.stage_id = 4;
  cancelled.from = StageState::kBlocked;
  cancelled.to = StageState::kCancelled;
  must({cancelled});
  EXPECT_EQ(store().counts(1).value().by_state.at(StageState::kCancelled), 1);
  must({extension()});
  EXPECT_EQ(store().counts(1).value().by_state.count(StageState::kCancelled), 0u) << "its trial is retired";
  must({DeleteExperiment{1}});
  EXPECT_EQ(reason_of(store().counts(1).status()), "EXPERIMENT_NOT_FOUND");
}

TEST_P(ExperimentContract, ListsTheSeriesOfUnretiredTrialsByStageAndKey) {
  make_world();
  must({grant(1, 1), grant(3, 1)});
  const SeriesKey loss{"loss", "train", "{}"}, rate{"lr", "train", "{}"};
  must_append(points_of(3, 1, 1, ramp(1, 2, loss)));
  must_append(points_of(1, 1, 1, ramp(1, 2, rate)));
  must_append(points_of(1, 1, 3, ramp(3, 2, loss)));
  const auto keys = [&] {
    std::vector<std::pair<StageId, std::string>> out;
    const auto rows = store().series_of(1).value();
    for (const SeriesRow& row : rows) out.emplace_back(row.stage_id, row.key.metric);
    return out;
  };
  const std::vector<std::pair<StageId, std::string>> all = {{1, "loss"}, {1, "lr"}, {3, "loss"}};
  EXPECT_EQ(keys(), all);
  EXPECT_EQ(store().series_of(1).value()[1].id, store().series(1).value()[1].id);
  must({extension()});  // retires trial 1 with stage 3
  const std::vector<std::pair<StageId, std::string>> left = {{1, "loss"}, {1, "lr"}};
  EXPECT_EQ(keys(), left);
}

TEST_P(ExperimentContract, CallsATrialDoneWhenAllItsStagesSucceeded) {
  make_world();
  must({grant(1, 1), end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded)});
  EXPECT_EQ(store().counts(1).value().trials_done, 0);
  SetStageState unblocked;
  unblocked.stage_id = 2;
  unblocked.from = StageState::kBlocked;
  unblocked.to = StageState::kQueued;
  must({unblocked, grant(2, 1), end(2, 1, AttemptState::kSucceeded, StageState::kSucceeded)});
  EXPECT_EQ(store().counts(1).value().trials_done, 1);
}

}  // namespace
}  // namespace locus::testing
