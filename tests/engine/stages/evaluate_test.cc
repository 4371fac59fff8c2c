// Stage "evaluate": the model comes back from its checkpoint and is scored at every resolution asked for.
#include <gmock/gmock.h>

#include <cmath>

#include "engine/data/dataset.h"
#include "engine/tasks/task.h"
#include "engine/train/checkpoint.h"
#include "engine/train/evaluation.h"
#include "tests/engine/train/recording.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;

class EvaluateStage : public ::testing::Test {
 protected:
  void SetUp() override {
    LOCUS_NEEDS_FASHION_MNIST();
    // Every validation sees the whole split in the same batches as the stage; the rate stays high to the end.
    train_["recipe"]["options"].update({{"validation_images", 0}, {"min_lr", 0.01}});
    RecordingObserver observer;
    const StageReport report = run_stage(request_for(train_, folder_.path() / "train"), observer);
    ASSERT_EQ(report.outcome, "succeeded") << report.reason;
    checkpoint_ = report.outputs.at(0).path;
    for (const StageResult& result : report.results) {
      if (result.key.split == "validation") validation_[result.key.metric] = result.value;
    }
  }
  StageRequest request(Json options) {
    Json configuration = train_;
    configuration["kind"] = "evaluate";
    configuration["stage"] = {{"options", std::move(options)}};
    configuration["inputs"] = {{"checkpoint", configuration_identity(train_)}};
    StageRequest out = request_for(configuration, folder_.path() / "evaluate");
    out.inputs["checkpoint"] = checkpoint_;
    return out;
  }

  TemporaryFolder folder_;
  Json train_ = small_configuration();
  std::filesystem::path checkpoint_;
  std::map<std::string, double> validation_;
};

TEST_F(EvaluateStage, ScoresAtEveryResolutionWithLabels) {
  RecordingObserver observer;
  const StageReport report = run_stage(request({{"resolution", {28, 42}}}), observer);
  ASSERT_EQ(report.outcome, "succeeded") << report.reason;
  ASSERT_EQ(report.results.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(report.results[i].key.metric, i % 2 == 0 ? "top1" : "loss");
    EXPECT_EQ(report.results[i].key.split, "test");
    EXPECT_EQ(report.results[i].key.labels, (Json{{"resolution", i < 2 ? 28 : 42}}));
    EXPECT_EQ(report.results[i].step, 24);
  }
  EXPECT_GT(report.results[0].value, 0);
  EXPECT_LT(report.results[0].value, 100);
  EXPECT_NE(report.results[0].value, report.results[2].value);
  EXPECT_FALSE(report.environment.at("path").get<std::string>().empty());
}

TEST_F(EvaluateStage, AgreesWithTheValidationThatTrainingMade) {
  RecordingObserver observer;
  const StageReport report = run_stage(request({{"split", "validation"}}), observer);
  ASSERT_EQ(report.results.size(), 2u) << report.reason;
  for (const StageResult& result : report.results) {
    EXPECT_EQ(result.value, validation_.at(result.key.metric)) << result.key.metric;
  }
  EXPECT_EQ(report.results[0].key.labels, (Json{{"resolution", 28}}));  // the dataset's own
}

TEST_F(EvaluateStage, ScoresTheSamePartForEveryModelAndSaysSo) {
  RecordingObserver observer;
  const StageReport report = run_stage(request({{"images", 300}, {"resolution", {28, 42}}}), observer);
  ASSERT_EQ(report.results.size(), 4u) << report.reason;
  EXPECT_EQ(observer.steps_, 600);
  EXPECT_EQ(report.results[0].key.labels, (Json{{"resolution", 28}, {"images", 300}}));
  EXPECT_DOUBLE_EQ(report.results[0].value * 3, std::round(report.results[0].value * 3)) << "300ths of 100 %";
  EXPECT_THAT(observer.lines.at(0),
              ::testing::MatchesRegex("test  resolution 28  top1 [0-9.]+  loss [0-9.]+  300 images in [0-9.]+ s"));
  EXPECT_THAT(observer.lines.back(), HasSubstr("resolution 42"));
}

TEST_F(EvaluateStage, TakesALimitThatTheSplitDoesNotReachForNone) {
  RecordingObserver limited, whole;
  const StageReport a = run_stage(request({{"images", 20000}}), limited), b = run_stage(request(Json::object()), whole);
  ASSERT_EQ(a.results.size(), 2u) << a.reason;
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(a.results[i].key.labels, (Json{{"resolution", 28}}));
    EXPECT_EQ(a.results[i].value, b.results[i].value);
  }
}

// Resizing of bytes with antialiasing is another evaluation, and nothing where images have their own size.
TEST_F(EvaluateStage, ResizesWithAntialiasingWhereAsked) {
  std::map<std::string, std::vector<double>> loss;
  for (const char* resize : {"plain", "pillow", "tensor"}) {
    RecordingObserver observer;
    const StageReport report =
        run_stage(request({{"images", 500}, {"resolution", {28, 42}}, {"resize", resize}}), observer);
    ASSERT_EQ(report.results.size(), 4u) << report.reason;
    loss[resize] = {report.results[1].value, report.results[3].value};
  }
  EXPECT_EQ(loss["pillow"][0], loss["plain"][0]);
  EXPECT_NE(loss["pillow"][1], loss["plain"][1]);
  EXPECT_NEAR(loss["tensor"][1], loss["pillow"][1], 0.01);
}

class InterpolatedPositions : public EvaluateStage {
 protected:
  // violin's curves know no coordinates, so only rope-axial has something to interpolate.
  InterpolatedPositions() { train_["priors"] = {{{"id", "rope-axial"}}, {{"id", "violin"}}}; }
};

TEST_F(InterpolatedPositions, AreLabelledAndChangeOtherGridsOnly) {
  RecordingObserver observer;
  const StageReport report =
      run_stage(request({{"resolution", {28, 42}}, {"positions", {"native", "interpolated"}}}), observer);
  ASSERT_EQ(report.outcome, "succeeded") << report.reason;
  std::map<std::string, double> loss;
  for (const StageResult& result : report.results) {
    if (result.key.metric == "loss") loss[result.key.labels.dump()] = result.value;
  }
  ASSERT_EQ(loss.size(), 4u);
  EXPECT_EQ(loss.at(R"({"positions":"interpolated","resolution":28})"), loss.at(R"({"resolution":28})"));
  EXPECT_NE(loss.at(R"({"positions":"interpolated","resolution":42})"), loss.at(R"({"resolution":42})"));
  EXPECT_EQ(report.environment.at("interpolated_positions"), Json::array({"rope-axial"}));
  EXPECT_EQ(observer.steps_, 4 * 10000);
}

// The definition of every prior's other_grids = interpolate is tested against scalar loops in tests/engine/priors;
// here: that it is what the scores come from.
TEST_F(InterpolatedPositions, AreThoseOfTheSameWeightsUnderThatOption) {
  RecordingObserver observer;
  const StageReport report = run_stage(request({{"resolution", {42}}, {"positions", {"interpolated"}}}), observer);
  ASSERT_EQ(report.results.size(), 2u) << report.reason;
  Json configuration = train_;
  configuration["priors"][0]["options"] = {{"other_grids", "interpolate"}};
  const RandomStreams random(7);
  const auto task = make_task({configuration, dataset_item("fashion-mnist").item.json().at("facts"), random});
  TensorFile file = read_safetensors(checkpoint_);
  load_model(*task, /*exported=*/true, file.tensors);
  task->eval();
  const auto dataset = open_dataset("fashion-mnist", Json::object(), {kDataRoot, folder_.path()});
  const auto scores = task->accumulator();
  const EvaluationSet set{dataset->split("test"), dataset->normalization(), {{42, 42}, "bilinear"}, {}, {}};
  evaluate_range(*task, set, 0, set.source->size(), at::kCPU, {24, 24, false, random}, *scores,
                 [](std::int64_t) { return true; });
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(report.results[i].value, scores->scores()[i].value);
}

TEST_F(EvaluateStage, RefusesAnotherStagesCheckpoint) {
  StageRequest other = request(Json::object());
  other.configuration["inputs"]["checkpoint"] = std::string(64, '0');
  RecordingObserver observer;
  StageReport report = run_stage(other, observer);
  EXPECT_EQ(report.failure_class, "data");
  EXPECT_THAT(report.reason, HasSubstr("belongs to stage " + configuration_identity(train_)));
  other = request(Json::object());
  other.inputs.clear();
  report = run_stage(other, observer);
  EXPECT_THAT(report.reason, HasSubstr("needs the input 'checkpoint'"));
}

TEST_F(EvaluateStage, EndsAtAWish) {
  RecordingObserver observer;
  observer.on_wish = [] { return Wish::kCancel; };
  EXPECT_EQ(run_stage(request(Json::object()), observer).outcome, "cancelled");
  observer.on_wish = [] { return Wish::kCheckpointAndStop; };
  const StageReport report = run_stage(request(Json::object()), observer);
  EXPECT_EQ(report.outcome, "stopped");
  EXPECT_TRUE(report.results.empty());
}

}  // namespace
}  // namespace locus::engine
