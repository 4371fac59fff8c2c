// Contract: the runs of the past, found by their load.
#include "core/experiment/load.h"
#include "tests/storage/store_contract.h"

namespace locus::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PastRunContract : public StoreContract {};
LOCUS_STORE_CONTRACT(PastRunContract);

std::string training(int batch, int seed, const std::string& prior = "none") {
  return R"({"dataset":{"id":"clothes","options":{}},"kind":"train","model":{"id":"vit","options":{"dim":64}},)"
         R"("priors":[{"id":")" +
         prior + R"(","options":{}}],"recipe":{"id":"supervised","options":{"batch":)" + std::to_string(batch) +
         R"(,"epochs":2}},"seed":)" + std::to_string(seed) + R"(,"stage":{"options":{}}})";
}

// The world with trainings of batch 32 (stages 1 and 3) and of batch 64 (stage 5), all queued.
std::vector<Mutation> trainings() {
  std::vector<Mutation> all = world();
  for (Mutation& mutation : all) {
    auto* save = std::get_if<SaveExperiment>(&mutation);
    if (save == nullptr) continue;
    save->stages.push_back(train_stage(5));
    for (StageRow& stage : save->stages) {
      if (stage.kind != "train") continue;
      const int seed = static_cast<int>(stage.id);
      stage.config_json = training(seed == 5 ? 64 : 32, seed, seed == 3 ? "violin" : "none");
    }
    save->trial_stages.push_back({1, "train-2", 5});
  }
  return all;
}

std::vector<StageId> ids(const std::vector<PastRun>& runs) {
  std::vector<StageId> out;
  for (const PastRun& run : runs) out.push_back(run.stage_id);
  return out;
}

TEST_P(PastRunContract, AreTheStagesOfALoadThatSucceededNewestFirst) {
  must(trainings());
  const std::string load = load_of("train", training(32, 9));
  EXPECT_THAT(get(store().past_runs(load, 10)), IsEmpty());
  must({grant(1, 1), grant(3, 1), grant(5, 1)});
  EXPECT_THAT(get(store().past_runs(load, 10)), IsEmpty()) << "they run";
  EndAttempt done = end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded);
  done.environment_json = R"({"device":"cpu"})";
  must({done, end(3, 1, AttemptState::kLost, StageState::kQueued),
        end(5, 1, AttemptState::kSucceeded, StageState::kSucceeded)});
  EXPECT_THAT(ids(get(store().past_runs(load, 10))), ElementsAre(1));
  EXPECT_THAT(ids(get(store().past_runs(load_of("train", training(64, 1)), 10))), ElementsAre(5));
  EXPECT_THAT(get(store().past_runs(load_of("train", training(128, 1)), 10)), IsEmpty());
}

TEST_P(PastRunContract, AreTheAttemptThatSucceededAlone) {
  must(trainings());
  must({grant(3, 1), CommitCheckpoint{3, 1, 40, kShaA, false}});
  must({end(3, 1, AttemptState::kLost, StageState::kQueued), grant(3, 2, 40, kShaA)});
  EndAttempt done = end(3, 2, AttemptState::kSucceeded, StageState::kSucceeded);
  done.environment_json = R"({"device":"cuda"})";
  must({done});
  const auto runs = get(store().past_runs(load_of("train", training(32, 0)), 10));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].stage_id, 3);
  EXPECT_EQ(runs[0].config_json, training(32, 3, "violin"));
  EXPECT_EQ(runs[0].environment_json, R"({"device":"cuda"})");
  EXPECT_EQ(runs[0].busy_us, 500);
  EXPECT_EQ(runs[0].resume_step, 40);
}

TEST_P(PastRunContract, AreAsManyAsAreWanted) {
  must(trainings());
  must({grant(1, 1), grant(3, 1)});
  must({end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded),
        end(3, 1, AttemptState::kSucceeded, StageState::kSucceeded)});
  const std::string load = load_of("train", training(32, 0));
  EXPECT_THAT(ids(get(store().past_runs(load, 10))), ElementsAre(3, 1));
  EXPECT_THAT(ids(get(store().past_runs(load, 1))), ElementsAre(3));
  EXPECT_THAT(get(store().past_runs(load, 0)), IsEmpty());
}

}  // namespace
}  // namespace locus::testing
