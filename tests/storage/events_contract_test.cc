// Contract: events, commit callbacks, what a starting scheduler loads, many threads at once.
#include <atomic>
#include <thread>

#include "tests/storage/store_contract.h"

namespace locus::testing {
namespace {

using ::testing::ElementsAre;

class EventContract : public StoreContract {};
LOCUS_STORE_CONTRACT(EventContract);

TEST_P(EventContract, NumbersEventsInCommitOrderAndStampsTheCommitTime) {
  must({AppendEvent{"experiments/a", "experiment-created", R"({"a":1})"}, AppendEvent{"stages/1", "stage-state"}});
  ASSERT_TRUE(store().apply(std::vector<Mutation>{AppendEvent{"workers/w", "worker-registered"}}, kNow + 1).ok());
  const auto events = store().events(0, 10).value();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].id, 1);
  EXPECT_EQ(events[0].time_us, kNow);
  EXPECT_EQ(events[0].subject, "experiments/a");
  EXPECT_EQ(events[0].kind, "experiment-created");
  EXPECT_EQ(events[0].json, R"({"a":1})");
  EXPECT_EQ(events[1].json, "{}");
  EXPECT_EQ(events[2].time_us, kNow + 1);
  EXPECT_EQ(store().last_event().value(), 3);
}

TEST_P(EventContract, PagesEventsByCursor) {
  EXPECT_EQ(store().last_event().value(), 0);
  for (int i = 0; i < 5; ++i) must({AppendEvent{"s", "kind-" + std::to_string(i)}});
  const auto page = store().events(2, 2).value();
  ASSERT_EQ(page.size(), 2u);
  EXPECT_EQ(page[0].id, 3);
  EXPECT_EQ(page[1].kind, "kind-3");
  EXPECT_TRUE(store().events(5, 10).value().empty());
  EXPECT_TRUE(store().events(0, 0).value().empty());
}

TEST_P(EventContract, GivesARefusedCallNoEventNumber) {
  must({AppendEvent{"s", "first"}});
  EXPECT_FALSE(apply(store(), {AppendEvent{"s", "never"}, SetExperimentState{9}}).ok());
  must({AppendEvent{"s", "second"}});
  EXPECT_EQ(store().last_event().value(), 2);
}

TEST_P(EventContract, TellsWatchersOfCommitsThatWroteEventsOrPoints) {
  make_world();
  must({grant(1, 1)});
  std::vector<std::int64_t> told;
  store().on_commit([&](std::int64_t last) { told.push_back(last); });
  must({AppendEvent{"s", "one"}});
  must({PutCatalog{"digest-2", "{}"}});  // neither events nor points
  must_append(points_of(1, 1, 1, ramp(1, 1)));
  must_append(points_of(1, 1, 1, ramp(1, 1)));  // nothing new
  EXPECT_FALSE(apply(store(), {AppendEvent{"s", "never"}, SetExperimentState{9}}).ok());
  EXPECT_THAT(told, ElementsAre(2, 2));
  store().on_commit(nullptr);
  must({AppendEvent{"s", "two"}});
  EXPECT_THAT(told, ElementsAre(2, 2));
}

TEST_P(EventContract, LetsAWatcherReadWhatItIsToldOf) {
  std::int64_t seen = 0;
  store().on_commit([&](std::int64_t) { seen = store().last_event().value(); });
  must({AppendEvent{"s", "one"}});
  EXPECT_EQ(seen, 1);
  store().on_commit(nullptr);
}

TEST_P(EventContract, LoadsNothingFromAnEmptyStore) {
  const Snapshot snapshot = store().load().value();
  EXPECT_TRUE(snapshot.experiments.empty());
  EXPECT_TRUE(snapshot.stages.empty());
  EXPECT_EQ(snapshot.next_experiment, 1);
  EXPECT_EQ(snapshot.next_stage, 1);
  EXPECT_EQ(snapshot.next_worker, 1);
  EXPECT_EQ(store().attempts_started().value(), 0);
}

TEST_P(EventContract, LoadsOnlyWhatIsNotFinished) {
  make_world();
  must({grant(1, 1), CommitCheckpoint{1, 1, 10, kShaA}, end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded),
        grant(3, 1)});
  SaveExperiment cancelled;
  cancelled.row.id = 2;
  cancelled.row.name = "cancelled";
  cancelled.row.state = ExperimentState::kCancelled;
  SaveExperiment paused;
  paused.row.id = 5;
  paused.row.name = "paused";
  paused.row.state = ExperimentState::kPaused;
  must({cancelled, paused});
  const Snapshot snapshot = store().load().value();
  std::vector<ExperimentId> experiments;
  for (const auto& row : snapshot.experiments) experiments.push_back(row.id);
  EXPECT_THAT(experiments, ElementsAre(1, 5));
  std::vector<StageId> stages;
  for (const auto& row : snapshot.stages) stages.push_back(row.id);
  EXPECT_THAT(stages, ElementsAre(2, 3, 4));
  EXPECT_EQ(snapshot.stages[0].inputs.size(), 1u);
  ASSERT_EQ(snapshot.running.size(), 1u);
  EXPECT_EQ(snapshot.running[0].stage_id, 3);
  EXPECT_TRUE(snapshot.resume.empty());
  EXPECT_EQ(snapshot.workers.size(), 1u);
  EXPECT_EQ(snapshot.next_experiment, 6);
  EXPECT_EQ(snapshot.next_stage, 5);
  EXPECT_EQ(snapshot.next_worker, 2);
}

std::vector<std::string> in_words(const std::vector<StageReference>& references) {
  std::vector<std::string> out;
  for (const auto& w : references) {
    out.push_back(std::to_string(w.experiment) + "/" + std::to_string(w.trial) + "->" + std::to_string(w.stage));
  }
  return out;
}

std::vector<std::string> references(Store& store) { return in_words(store.load().value().references); }

TEST_P(EventContract, LoadsTheWantsOfLiveExperimentsAndUnretiredTrials) {
  make_world();
  SaveExperiment second;  // shares stages 1 and 2
  second.row.id = 2;
  second.row.name = "second";
  second.row.state = ExperimentState::kPaused;
  second.cells = {{0, "{}", "", "{}"}};
  second.trials = {{0, 0, 0, false}, {1, 0, 1, true}};
  second.trial_stages = {{0, "train", 1}, {0, "evaluate", 2}, {1, "train", 3}};
  must({second});
  EXPECT_THAT(references(store()), ElementsAre("1/0->1", "1/0->2", "1/1->3", "1/1->4", "2/0->1", "2/0->2"));
  must({SetExperimentState{1, ExperimentState::kActive, ExperimentState::kCancelled}});
  EXPECT_THAT(references(store()), ElementsAre("2/0->1", "2/0->2"));
  EXPECT_THAT(in_words(store().references(3).value()), ElementsAre()) << "of a cancelled one and a retired trial";
  must({grant(1, 1), end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded)});
  EXPECT_THAT(references(store()), ElementsAre("2/0->2"));
  EXPECT_THAT(in_words(store().references(1).value()), ElementsAre("2/0->1"))
      << "asked for by name, whatever its state";
}

TEST_P(EventContract, LoadsTheNewestCheckpointThatIsNotSuperseded) {
  make_world();
  must({grant(1, 1), CommitCheckpoint{1, 1, 10, kShaA}, CommitCheckpoint{1, 1, 20, kShaB}});
  EXPECT_EQ(store().load().value().resume.at(1).step, 20);
  must({end(1, 1, AttemptState::kLost, StageState::kQueued), grant(1, 2, 10, kShaA)});
  EXPECT_EQ(store().load().value().resume.at(1).step, 10);
  must({CommitCheckpoint{1, 2, 15, kShaB}});
  EXPECT_EQ(store().load().value().resume.at(1).step, 15);
  EXPECT_EQ(store().load().value().resume.at(1).attempt, 2);
  must({end(1, 2, AttemptState::kLost, StageState::kQueued), grant(1, 3)});  // afresh
  EXPECT_FALSE(store().load().value().resume.contains(1));
}

TEST_P(EventContract, TakesWritesAndReadsFromManyThreads) {
  make_world();
  must({grant(1, 1), grant(3, 1)});
  constexpr int kRounds = 200;
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::thread reader([&] {
    while (!stop) {  // a call's two events are seen together or not at all
      const auto events = store().events(1, 100'000);
      if (!events.ok() || events->size() % 2 != 0) ++wrong;
      const auto attempts = store().attempts(1);
      if (!attempts.ok()) ++wrong;
    }
  });
  std::vector<std::thread> writers;
  for (const StageId stage : {1, 3}) {
    writers.emplace_back([&, stage] {
      for (int i = 0; i < kRounds; ++i) {
        if (!store().append(points_of(stage, 1, i + 1, ramp(i, 1)), kNow).ok()) ++wrong;
        if (!apply(store(), {AppendEvent{"s", "a"}, AppendEvent{"s", "b"}}).ok()) ++wrong;
        if (apply(store(), {AppendEvent{"s", "never"}, grant(stage, 9)}).ok()) ++wrong;
      }
    });
  }
  for (auto& writer : writers) writer.join();
  stop = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(store().last_event().value(), 1 + 2 * 2 * kRounds);
  for (const StageId stage : {1, 3}) EXPECT_EQ(store().attempts(stage).value()[0].acked_seq, kRounds);
}

}  // namespace
}  // namespace locus::testing
