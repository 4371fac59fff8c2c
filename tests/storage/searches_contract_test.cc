// Contract: the logs of searches, and what their decisions add to an experiment.
#include "tests/storage/store_contract.h"

namespace locus::testing {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;

DecisionRow decision(std::int64_t number, std::string request_id = {}) {
  DecisionRow row;
  row.number = number;
  row.generation = 2;
  row.phase = 1;
  row.kind = number == 1 ? "begin" : "propose";
  row.json = R"({"units":[)" + std::to_string(number) + "]}";
  row.rule = "halve";
  row.rule_revision = 3;
  row.principal = request_id.empty() ? "" : "ada";
  row.request_id = std::move(request_id);
  return row;
}

AppendDecisions decided(std::int64_t expected, std::vector<DecisionRow> rows, ExperimentId experiment = 1) {
  return {.experiment_id = experiment, .expected = expected, .rows = std::move(rows)};
}

// Another experiment, whose one trial waits.
SaveExperiment waiting_experiment(ExperimentId id) {
  SaveExperiment m;
  m.row.id = id;
  m.row.name = "waiting-" + std::to_string(id);
  m.row.spec_json = "{}";
  m.row.catalog_digest = "digest";
  m.cells = {{0, "{}", "none", "{}"}};
  m.trials = {{0, 0, 0, false}};
  return m;
}

class SearchContract : public StoreContract {
 protected:
  std::vector<std::int64_t> numbers(std::int64_t after, int limit) {
    std::vector<std::int64_t> out;
    const auto rows = get(store().decisions(1, after, limit));
    for (const DecisionRow& row : rows) out.push_back(row.number);
    return out;
  }
  std::vector<ExperimentId> running() {
    std::vector<ExperimentId> out;
    const auto rows = get(store().running_searches());
    for (const SearchRow& row : rows) out.push_back(row.experiment_id);
    return out;
  }
  // The links of a trial of experiment 1, as "role>stage@stop point", in order.
  std::vector<std::string> links(std::size_t trial) {
    std::vector<std::string> out;
    const auto views = get(store().trials(1, -1, 100));
    for (const TrialStageView& view : views.at(trial).stages) {
      out.push_back(view.link.role + ">" + std::to_string(view.link.stage_id) + "@" +
                    std::to_string(view.link.until_step));
    }
    return out;
  }
};
LOCUS_STORE_CONTRACT(SearchContract);

TEST_P(SearchContract, BeginsALogAndGoesOnWithIt) {
  make_world();
  EXPECT_EQ(reason_of(store().search(1).status()), "SEARCH_NOT_FOUND");
  EXPECT_EQ(reason_of(store().search(9).status()), "EXPERIMENT_NOT_FOUND");
  EXPECT_TRUE(store().decisions(1, 0, 0)->empty());
  EXPECT_EQ(reason_of(store().decisions(9, 0, 0).status()), "EXPERIMENT_NOT_FOUND");
  DecisionRow first = decision(1), second = decision(2), third = decision(3, "ask-1");
  first.time_us = 99;  // is not the caller's to say
  must({decided(0, {first, second})});
  SearchRow search = get(store().search(1));
  EXPECT_EQ(search.experiment_id, 1);
  EXPECT_EQ(search.generation, 2);
  EXPECT_EQ(search.decided, 2);
  EXPECT_EQ(search.state, SearchState::kRunning);
  EXPECT_EQ(search.reason, "");
  third.generation = 3;
  AppendDecisions ended = decided(2, {third});
  ended.state = SearchState::kEnded;
  ended.reason = "every unit of the last rung has finished";
  must({ended});
  search = get(store().search(1));
  EXPECT_EQ(search.generation, 3) << "that of the last decision";
  EXPECT_EQ(search.decided, 3);
  EXPECT_EQ(search.state, SearchState::kEnded);
  EXPECT_EQ(search.reason, ended.reason);
  first.time_us = second.time_us = third.time_us = kNow;
  EXPECT_THAT(get(store().decisions(1, 0, 0)), ElementsAre(first, second, third));
  EXPECT_TRUE(store().check()->problems.empty());
}

TEST_P(SearchContract, RefusesDecisionsJudgedByAnotherLogThanTheStoredOne) {
  make_world();
  expect_refused({decided(1, {decision(2)})}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  expect_refused({decided(0, {})}, StatusCode::kInvalidArgument, "INVALID_ARGUMENT");
  expect_refused({decided(0, {decision(1)}, 9)}, StatusCode::kNotFound, "EXPERIMENT_NOT_FOUND");
  must({decided(0, {decision(1), decision(2)})});
  for (const std::int64_t expected : {-1, 0, 1, 3}) {
    expect_refused({decided(expected, {decision(expected + 1)})}, StatusCode::kFailedPrecondition, "WRONG_STATE");
    expect_refused({decided(expected, {})}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  }
  expect_refused({decided(2, {decision(3)}), decided(2, {decision(3)})}, StatusCode::kFailedPrecondition,
                 "WRONG_STATE");
}

TEST_P(SearchContract, RefusesNumbersWithAGap) {
  make_world();
  expect_refused({decided(0, {decision(0)})}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  expect_refused({decided(0, {decision(2)})}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  must({decided(0, {decision(1)})});
  expect_refused({decided(1, {decision(2), decision(4)})}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  expect_refused({decided(1, {decision(2), decision(2)})}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  expect_refused({decided(1, {decision(3), decision(2)})}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  expect_refused({decided(1, {decision(1)})}, StatusCode::kFailedPrecondition, "WRONG_STATE");
}

TEST_P(SearchContract, DecidesARequestOnce) {
  make_world();
  must({waiting_experiment(2)});
  expect_refused({decided(0, {decision(1, "ask-1"), decision(2, "ask-1")})}, StatusCode::kFailedPrecondition,
                 "WRONG_STATE");
  must({decided(0, {decision(1), decision(2, "ask-1"), decision(3)})});
  expect_refused({decided(3, {decision(4, "ask-1")})}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  expect_refused({decided(0, {decision(1, "ask-1")}, 2)}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  must({decided(0, {decision(1, "ask-2")}, 2)});
  EXPECT_EQ(get(store().decision_of_request("ask-1")), (std::pair<ExperimentId, std::int64_t>(1, 2)));
  EXPECT_EQ(get(store().decision_of_request("ask-2")), (std::pair<ExperimentId, std::int64_t>(2, 1)));
  for (const char* unknown : {"ask-3", ""})
    EXPECT_EQ(store().decision_of_request(unknown).status().code(), StatusCode::kNotFound) << unknown;
}

TEST_P(SearchContract, TakesAStateWithoutADecisionFromWhoKnowsTheLog) {
  make_world();
  must({decided(0, {decision(1)})});
  AppendDecisions ended = decided(1, {});
  ended.state = SearchState::kEnded;
  ended.reason = "nothing is left of it";
  must({ended});
  EXPECT_EQ(store().search(1)->state, SearchState::kEnded);
  EXPECT_EQ(store().search(1)->reason, ended.reason);
  EXPECT_EQ(store().search(1)->decided, 1);
  EXPECT_EQ(store().search(1)->generation, 2);
}

TEST_P(SearchContract, ListsTheRunningSearchesOfExperimentsThatAreThere) {
  make_world();
  EXPECT_THAT(running(), ElementsAre());
  for (const ExperimentId id : {4, 2, 3}) must({waiting_experiment(id)});
  for (const ExperimentId id : {4, 1, 3, 2}) must({decided(0, {decision(1)}, id)});
  EXPECT_THAT(running(), ElementsAre(1, 2, 3, 4));
  must({SetExperimentState{4, ExperimentState::kActive, ExperimentState::kCancelled}, DeleteExperiment{2}});
  EXPECT_THAT(running(), ElementsAre(1, 3, 4));
  AppendDecisions end = decided(1, {decision(2)}, 3);
  end.state = SearchState::kEnded;
  must({end});
  EXPECT_THAT(running(), ElementsAre(1, 4));
  must({decided(2, {decision(3)}, 3)});
  EXPECT_THAT(running(), ElementsAre(1, 3, 4)) << "what has ended may go on";
}

TEST_P(SearchContract, IsReadByPages) {
  make_world();
  std::vector<DecisionRow> rows;
  for (int number = 1; number <= 7; ++number) rows.push_back(decision(number));
  must({decided(0, rows)});
  EXPECT_THAT(numbers(0, 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(numbers(3, 3), ElementsAre(4, 5, 6));
  EXPECT_THAT(numbers(6, 3), ElementsAre(7));
  EXPECT_THAT(numbers(7, 3), ElementsAre());
  EXPECT_THAT(numbers(4, 0), ElementsAre(5, 6, 7));
  EXPECT_THAT(numbers(0, 0), ElementsAre(1, 2, 3, 4, 5, 6, 7));
}

TEST_P(SearchContract, LinksTrialsThatWaited) {
  make_world();
  const std::int64_t revision = store().experiment(1)->revision;
  EXPECT_EQ(store().counts(1)->trials, 2);
  ResolveTrials m{.id = 1};
  m.cells = {{1, R"({"prior":"violin"})", "violin", R"({"prior":[{"violin":{}}]})"}};
  m.trials = {{2, 1, 0, false}, {3, 1, 1, false}};
  m.stages = {train_stage(5)};
  m.trial_stages = {{2, "train", 5, 30}};
  must({decided(0, {decision(1)}), m});
  EXPECT_EQ(store().experiment(1)->revision, revision) << "a revision is a person's doing";
  EXPECT_EQ(store().cells(1)->size(), 2u);
  EXPECT_THAT(links(2), ElementsAre("train>5@30"));
  EXPECT_THAT(links(3), ElementsAre()) << "it waits still";
  EXPECT_EQ(store().counts(1)->trials, 4);
  EXPECT_EQ(store().counts(1)->by_state.at(StageState::kQueued), 3);
  // Sent to the end, the rest is linked behind what was, whatever comes first in the call.
  ResolveTrials rest{.id = 1};
  rest.stages = {evaluate_stage(6, 5)};
  rest.trial_stages = {{2, "evaluate", 6, kToTheEnd}, {2, "train", 5, kToTheEnd}};
  must({decided(1, {decision(2)}), rest});
  EXPECT_THAT(links(2), ElementsAre("train>5@0", "evaluate>6@0"));
  EXPECT_EQ(store().stage(6)->inputs.at(0).from_stage, 5);
  EXPECT_EQ(get(store().load()).next_stage, 7);
}

TEST_P(SearchContract, MovesStopPointsAndTellsThemWithEveryReference) {
  make_world();
  EXPECT_THAT(links(0), ElementsAre("train>1@0", "evaluate>2@0"));
  must({ResolveTrials{.id = 1, .trial_stages = {{0, "train", 1, 10}, {1, "train", 1, 20}}}});
  must({ResolveTrials{.id = 1, .trial_stages = {{0, "train", 1, kNoFurther}}}});
  EXPECT_THAT(links(0), ElementsAre("train>1@-1", "evaluate>2@0"));
  EXPECT_THAT(links(1), ElementsAre("train>1@20", "evaluate>4@0"));
  const auto references = get(store().references(1));
  ASSERT_EQ(references.size(), 2u);
  EXPECT_EQ(references[0].until_step, kNoFurther);
  EXPECT_EQ(references[1].until_step, 20);
  std::map<std::pair<std::int64_t, StageId>, std::int64_t> loaded;
  const Snapshot snapshot = get(store().load());
  for (const StageReference& reference : snapshot.references)
    loaded[{reference.trial, reference.stage}] = reference.until_step;
  EXPECT_EQ(loaded, (std::map<std::pair<std::int64_t, StageId>, std::int64_t>{
                        {{0, 1}, -1}, {{0, 2}, 0}, {{1, 1}, 20}, {{1, 4}, 0}}));
}

TEST_P(SearchContract, KeepsStopPointsThatASubmissionGives) {
  SaveExperiment m = small_experiment();
  m.trial_stages = {{0, "train", 1, 50}, {0, "evaluate", 2}};
  must({m});
  EXPECT_THAT(links(0), ElementsAre("train>1@50", "evaluate>2@0"));
  m.expected_revision = 1, m.row.revision = 2, m.request_id = "request-2";
  m.stages.clear();
  m.trial_stages = {{0, "train", 1, 70}, {0, "evaluate", 2}};
  must({m});
  EXPECT_THAT(links(0), ElementsAre("train>1@70", "evaluate>2@0"));
  m.expected_revision = 2, m.row.revision = 3;
  m.trial_stages = {{0, "train", 1, -2}};
  expect_refused({m}, StatusCode::kInvalidArgument, "INVALID_ARGUMENT");
}

TEST_P(SearchContract, RefusesToResolveWhatDoesNotFit) {
  make_world();
  const auto resolve = [](std::vector<TrialStageRow> links) {
    return ResolveTrials{.id = 1, .trial_stages = std::move(links)};
  };
  expect_refused({ResolveTrials{.id = 9}}, StatusCode::kNotFound, "EXPERIMENT_NOT_FOUND");
  expect_refused({resolve({{9, "train", 1}})}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  expect_refused({resolve({{0, "train", 9}})}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  expect_refused({resolve({{0, "train", 3, 10}, {0, "train", 1, -2}})}, StatusCode::kInvalidArgument,
                 "INVALID_ARGUMENT");
  ResolveTrials known{.id = 1}, same{.id = 1}, homeless{.id = 1}, parked{.id = 1};
  known.stages = {train_stage(3)};
  same.stages = {train_stage(5)};
  same.stages[0].identity = train_stage(3).identity;
  homeless.trials = {{2, 7, 0, false}};
  parked.stages = {train_stage(5)};
  parked.stages[0].state = StageState::kParked;
  expect_refused({known}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  expect_refused({same}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  expect_refused({homeless}, StatusCode::kInvalidArgument, "INVALID_ARGUMENT");
  expect_refused({parked}, StatusCode::kFailedPrecondition, "WRONG_STATE");
}

TEST_P(SearchContract, IsWrittenWithItsEffectOrNotAtAll) {
  make_world();
  must({decided(0, {decision(1)})});
  ResolveTrials good{.id = 1, .stages = {train_stage(5)}, .trial_stages = {{0, "train", 5, 10}}};
  ResolveTrials bad{.id = 1, .trial_stages = {{0, "train", 9, 10}}};
  expect_refused({decided(1, {decision(2, "ask-1")}), bad}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  EXPECT_FALSE(store().decision_of_request("ask-1").ok());
  expect_refused({good, decided(0, {decision(2)})}, StatusCode::kFailedPrecondition, "WRONG_STATE");
  must({decided(1, {decision(2, "ask-1")}), good, AppendEvent{"experiments/priors", "search-decided", "{}"}});
  EXPECT_THAT(links(0), ElementsAre("train>5@10", "evaluate>2@0"));
}

TEST_P(SearchContract, GoesWithItsExperimentPieceByPiece) {
  make_world();
  must({waiting_experiment(2)});
  std::vector<DecisionRow> rows;
  for (int number = 1; number <= 5; ++number) rows.push_back(decision(number, "ask-" + std::to_string(number)));
  must({decided(0, rows), decided(0, {decision(1, "other")}, 2), DeleteExperiment{1}});
  int pieces = 0;
  for (; store().next_purge(2)->left; ++pieces) {
    ASSERT_LT(pieces, 20);
    EXPECT_EQ(reason_of(store().search(1).status()), "EXPERIMENT_NOT_FOUND");
    EXPECT_EQ(reason_of(store().decisions(1, 0, 0).status()), "EXPERIMENT_NOT_FOUND");
    EXPECT_FALSE(store().decision_of_request("ask-1").ok());
    EXPECT_THAT(running(), ElementsAre(2));
    EXPECT_TRUE(store().check()->problems.empty()) << "a log that goes has no gap";
    expect_refused({decided(1, {decision(2, "ask-1")}, 2)}, StatusCode::kFailedPrecondition, "WRONG_STATE");
    must({PurgeDeleted{2}});
  }
  EXPECT_GE(pieces, 4) << "trials, then two, two and one of its decisions";
  EXPECT_TRUE(store().check()->problems.empty());
  must({decided(1, {decision(2, "ask-1")}, 2)});
  EXPECT_EQ(store().search(2)->decided, 2) << "another's log is untouched";
}

}  // namespace
}  // namespace locus::testing
