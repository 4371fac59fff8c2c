// Stage "neighbors": the votes of a trained model's features, whatever the pieces.
#include <gmock/gmock.h>

#include "engine/data/dataset.h"
#include "engine/tasks/task.h"
#include "engine/train/checkpoint.h"
#include "engine/train/evaluation.h"
#include "engine/train/neighbors.h"
#include "tests/engine/train/recording.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;

class NeighborsStage : public ::testing::Test {
 protected:
  void SetUp() override {
    LOCUS_NEEDS_FASHION_MNIST();
    RecordingObserver observer;
    const StageReport report = run_stage(request_for(train_, folder_.path() / "train"), observer);
    ASSERT_EQ(report.outcome, "succeeded") << report.reason;
    checkpoint_ = report.outputs.at(0).path;
  }
  StageReport run(Json options, RecordingObserver& observer) {
    Json configuration = train_;
    configuration["kind"] = "neighbors";
    configuration["stage"] = {{"options", std::move(options)}};
    configuration["inputs"] = {{"checkpoint", configuration_identity(train_)}};
    StageRequest request = request_for(configuration, folder_.path() / "neighbors");
    request.inputs["checkpoint"] = checkpoint_;
    return run_stage(request, observer);
  }

  TemporaryFolder folder_;
  Json train_ = small_configuration();
  std::filesystem::path checkpoint_;
  RecordingObserver observer_;
};

// Features of the first images of a split's fixed permutation, one batch of all of them.
std::pair<Tensor, Tensor> features(Task& task, const std::string& split, std::int64_t images) {
  const auto dataset = open_dataset("fashion-mnist", Json::object(), {kDataRoot, {}});
  const auto source = scored_part(dataset->split(split), "fashion-mnist", split, images);
  EvaluationLoader loader({.source = source, .normalization = dataset->normalization()}, 0, images, images, at::kCPU);
  const Batch batch = *loader.next();
  const at::NoGradGuard no_gradient;
  const RandomStreams random(7);
  return {task.features(batch, {24, 24, false, random}), batch.at(kLabel)};
}

TEST_F(NeighborsStage, ReportsTheVotesOfTheFeaturesForEveryNumberOfNeighbors) {
  const StageReport report = run({{"k", {10, 50}}, {"images", 300}, {"reference_images", 500}}, observer_);
  ASSERT_EQ(report.outcome, "succeeded") << report.reason;
  ASSERT_EQ(report.results.size(), 4u);
  const RandomStreams random(7);
  const auto task = make_task({train_, dataset_item("fashion-mnist").item.json().at("facts"), random});
  TensorFile file = read_safetensors(checkpoint_);
  load_model(*task, /*exported=*/true, file.tensors);
  task->eval();
  const auto [queries, own] = features(*task, "test", 300);
  const auto [references, labels] = features(*task, "train", 500);
  Neighbors neighbors(queries, 50);
  neighbors.add(references, labels);
  const auto right = neighbors.right({10, 50}, 0.07, 10, own);
  for (std::size_t i = 0; i < 2; ++i) {
    const StageResult &top1 = report.results[2 * i], &top5 = report.results[2 * i + 1];
    EXPECT_EQ(top1.key.metric, "knn_top1");
    EXPECT_EQ(top5.key.metric, "knn_top5");
    EXPECT_EQ(top1.key.split, "test");
    EXPECT_EQ(top1.key.labels, (Json{{"k", right[i].k}, {"images", 300}, {"references", 500}}));
    // Batches of another size may turn the last bit of a feature, and with it a vote that is nearly a tie.
    EXPECT_NEAR(top1.value, 100.0 * static_cast<double>(right[i].top1) / 300, 0.7);
    EXPECT_NEAR(top5.value, 100.0 * static_cast<double>(right[i].top5) / 300, 0.7);
    EXPECT_GT(top1.value, 15) << "one in ten by chance";
    EXPECT_GT(top5.value, top1.value);
  }
}

TEST_F(NeighborsStage, RefusesWhatMakesNoSense) {
  StageReport report = run({{"split", "validation"}, {"references", "validation"}}, observer_);
  EXPECT_EQ(report.outcome, "failed");
  EXPECT_THAT(report.reason, HasSubstr("every image is its own nearest"));
  report = run({{"k", {20}}, {"images", 5}, {"reference_images", 10}}, observer_);
  EXPECT_EQ(report.outcome, "failed");
  EXPECT_THAT(report.reason, HasSubstr("20 neighbors are asked for among 10 images"));
}

TEST_F(NeighborsStage, EndsAtAWish) {
  observer_.on_wish = [] { return Wish::kCancel; };
  EXPECT_EQ(run(Json::object(), observer_).outcome, "cancelled");
  observer_.on_wish = [] { return Wish::kCheckpointAndStop; };
  const StageReport report = run(Json::object(), observer_);
  EXPECT_EQ(report.outcome, "stopped");
  EXPECT_TRUE(report.results.empty());
}

}  // namespace
}  // namespace locus::engine
