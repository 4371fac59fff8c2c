// A stage from start to end inside this process: curves, results, wishes, divergence, resumption to the bit.
#include <gmock/gmock.h>

#include <cmath>

#include "engine/train/checkpoint.h"
#include "tests/engine/train/recording.h"

namespace locus::engine {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class TrainStage : public ::testing::Test {
 protected:
  void SetUp() override { LOCUS_NEEDS_FASHION_MNIST(); }

  StageReport run(RecordingObserver& observer, const std::string& folder,
                  const Json& configuration = small_configuration(), bool every_step = false,
                  const std::filesystem::path& resume = {}) {
    StageRequest request = request_for(configuration, folder_.path() / folder, every_step);
    request.resume = resume;
    StageReport report = run_stage(request, observer);
    EXPECT_EQ(report.reason, "");
    return report;
  }
  static double result_of(const StageReport& report, const std::string& metric) {
    for (const StageResult& result : report.results) {
      if (result.key.metric == metric) return result.value;
    }
    ADD_FAILURE() << "no result " << metric;
    return 0;
  }

  TemporaryFolder folder_;
};

TEST_F(TrainStage, TellsCurvesAndResults) {
  RecordingObserver observer;
  const StageReport report = run(observer, "a");
  ASSERT_EQ(report.outcome, "succeeded");
  EXPECT_EQ(observer.steps_, 24);
  EXPECT_EQ(observer.resumed_step_, 0);
  std::map<std::string, std::vector<std::int64_t>> steps;
  for (const auto& point : observer.points) steps[point.series].push_back(point.step);
  const std::vector<std::int64_t> windows{5, 10, 15, 20, 24};
  EXPECT_EQ(steps["loss/train {}"], windows);
  EXPECT_EQ(steps["lr/train {}"], windows);
  EXPECT_EQ(steps["guidance/train {}"], windows);
  EXPECT_EQ(steps["top1/validation {\"images\":100}"],
            (std::vector<std::int64_t>{2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24}));
  EXPECT_EQ(steps["top1/validation {}"], (std::vector<std::int64_t>{24}));
  for (const Place& place : observer.places) {
    EXPECT_EQ(place.images, place.step * 8);
    EXPECT_DOUBLE_EQ(place.epoch, static_cast<double>(place.step) / 8);
  }
  EXPECT_EQ(result_of(report, "top1"), observer.points[observer.points.size() - 2].value);
  EXPECT_GT(result_of(report, "images_per_second"), 0);
  ASSERT_EQ(report.outputs.size(), 1u);
  EXPECT_EQ(report.outputs[0].step, 24);
}

TEST_F(TrainStage, ScoresTheWeightsThatItDoesNotReportBesideThoseThatItDoes) {
  std::map<std::string, StageReport> reports;
  for (const std::string which : {"raw", "ema"}) {
    Json configuration = small_configuration();
    configuration["recipe"] = {{"id", "deit"},
                               {"options",
                                {{"epochs", 2},
                                 {"batch", 32},
                                 {"limit", 512},
                                 {"warmup_epochs", 0.5},
                                 {"validate_every", 0},
                                 {"precision", "float32"},
                                 {"eval_precision", "float32"},
                                 {"average_decay", 0.8},
                                 {"report", which}}}};
    RecordingObserver observer;
    reports[which] = run(observer, which, configuration);
  }
  // Equal but for kernels that a matrix library chooses by what ran before.
  for (const auto& [metric, rounding] : {std::pair<std::string, double>{"top1", 0.05}, {"loss", 1e-5}}) {
    EXPECT_NEAR(result_of(reports["raw"], metric + "_ema"), result_of(reports["ema"], metric), rounding);
    EXPECT_NEAR(result_of(reports["ema"], metric + "_raw"), result_of(reports["raw"], metric), rounding);
  }
  EXPECT_GT(std::abs(result_of(reports["raw"], "loss_ema") - result_of(reports["raw"], "loss")), 1e-7);
}

TEST_F(TrainStage, SaysWhereItStandsAndWhatCameOut) {
  RecordingObserver observer;
  run(observer, "a");
  ASSERT_GE(observer.lines.size(), 3u);
  EXPECT_EQ(observer.lines.front(), "training for 3 epochs of 8 steps, 8 images a step");
  EXPECT_THAT(observer.lines[observer.lines.size() - 2],
              ::testing::MatchesRegex("epoch 3/3  step 24/24  loss [0-9.]+  lr [0-9.e-]+  [0-9.]+ ms/step  "
                                      "val top1 [0-9.]+  loss [0-9.]+"));
  EXPECT_THAT(observer.lines.back(), ::testing::MatchesRegex("trained 24 steps in .* ms/step .median."));
}

TEST_F(TrainStage, ExportsTheModelWithoutWhatOnlyTrainingNeeds) {
  RecordingObserver observer;
  const StageReport report = run(observer, "a");
  const auto tensors = read_safetensors(report.outputs.at(0).path).tensors;
  std::int64_t count = 0;
  for (const auto& [name, tensor] : tensors) {
    EXPECT_THAT(name, Not(HasSubstr("guidance")));
    EXPECT_TRUE(name.starts_with("model.")) << name;
    if (at::isFloatingType(tensor.scalar_type())) count += tensor.numel();
  }
  EXPECT_EQ(result_of(report, "parameters"), static_cast<double>(count));
}

TEST_F(TrainStage, EqualSeedsGiveEqualBitsAndOthersDoNot) {
  RecordingObserver a, b, c;
  const auto first = run(a, "a").outputs.at(0).path, second = run(b, "b").outputs.at(0).path;
  Json other = small_configuration();
  other["seed"] = 8;
  const auto third = run(c, "c", other).outputs.at(0).path;
  EXPECT_THAT(differences(first, second), IsEmpty());
  EXPECT_EQ(a.points, b.points);
  EXPECT_THAT(differences(first, third), Contains("model.head.weight"));
}

TEST_F(TrainStage, LearnsWhatItIsShown) {
  Json configuration = small_configuration();
  configuration["priors"] = {{{"id", "learned-absolute"}}};
  configuration["recipe"]["options"].update({{"epochs", 1}, {"limit", 4096}, {"batch", 32}});
  RecordingObserver observer;
  EXPECT_GT(result_of(run(observer, "a", configuration), "top1"), 45);
}

TEST_F(TrainStage, StopsAtAWishWithACheckpointThatGoesOn) {
  RecordingObserver whole, early, late;
  const auto expected = run(whole, "a").outputs.at(0).path;
  int asked = 0;
  early.on_wish = [&] { return ++asked > 13 ? Wish::kCheckpointAndStop : Wish::kContinue; };
  EXPECT_EQ(run(early, "b").outcome, "stopped");
  ASSERT_EQ(early.checkpoints.size(), 1u);
  const StageReport report = run(late, "c", small_configuration(), false, early.checkpoints.at(13));
  EXPECT_EQ(report.outcome, "succeeded");
  EXPECT_EQ(late.resumed_step_, 13);
  EXPECT_THAT(differences(expected, report.outputs.at(0).path), IsEmpty());
  early.points.insert(early.points.end(), late.points.begin(), late.points.end());
  EXPECT_EQ(early.points, whole.points);
}

TEST_F(TrainStage, CancelsWithoutACheckpoint) {
  RecordingObserver observer;
  observer.on_wish = [] { return Wish::kCancel; };
  const StageReport report = run(observer, "a");
  EXPECT_EQ(report.outcome, "cancelled");
  EXPECT_TRUE(observer.checkpoints.empty());
  EXPECT_TRUE(report.outputs.empty());
}

TEST_F(TrainStage, NamesTheStepAtWhichTheLossLeftTheNumbers) {
  Json configuration = small_configuration();
  configuration["recipe"]["options"].update({{"lr", 1e30}, {"grad_clip", 0.0}, {"warmup_epochs", 0.0}});
  RecordingObserver observer;
  const StageReport report = run_stage(request_for(configuration, folder_.path() / "a"), observer);
  EXPECT_EQ(report.outcome, "failed");
  EXPECT_EQ(report.failure_class, "diverged");
  EXPECT_THAT(report.reason, HasSubstr("at step 2 of 24"));
}

// Whatever piece of state a resume would lose, the comparison of the resume tests must see it.
class DroppedState : public TrainStage {
 protected:
  using Change = std::function<void(TensorFile&, Json&)>;

  void SetUp() override {
    TrainStage::SetUp();
    if (IsSkipped()) return;
    expected_ = run(whole_, "whole", small_configuration(), /*every_step=*/true).outputs.at(0).path;
  }

  // Whether a run resumed from the changed checkpoint of step 13 ends as the undisturbed one did.
  bool ends_alike(const Change& change) {
    TensorFile file = read_safetensors(whole_.checkpoints.at(13));
    Json state = Json::parse(file.metadata.at("locus"));
    change(file, state);
    file.metadata["locus"] = state.dump();
    const auto path = folder_.path() / "changed.safetensors";
    write_safetensors(path, file);
    RecordingObserver late;
    const auto found = run(late, "late", small_configuration(), false, path).outputs.at(0).path;
    std::vector<RecordedPoint> tail;
    for (const RecordedPoint& point : whole_.points) {
      if (point.step > 13) tail.push_back(point);
    }
    return differences(expected_, found).empty() && late.points == tail;
  }
  static void zero(TensorFile& file, std::string_view prefix) {
    for (auto& [name, tensor] : file.tensors) {
      if (name.starts_with(prefix)) tensor.zero_();
    }
  }

  RecordingObserver whole_;
  std::filesystem::path expected_;
};

TEST_F(DroppedState, IsSeenForEveryPiece) {
  EXPECT_TRUE(ends_alike([](TensorFile&, Json&) {}));
  EXPECT_FALSE(ends_alike([](TensorFile& file, Json&) { zero(file, "model.head.bias"); })) << "weights";
  EXPECT_FALSE(ends_alike([](TensorFile& file, Json&) { zero(file, "model.backbone.priors.guidance"); }))
      << "guidance head";
  EXPECT_FALSE(ends_alike([](TensorFile& file, Json&) { zero(file, "optimizer.exp_avg."); })) << "first moments";
  EXPECT_FALSE(ends_alike([](TensorFile& file, Json&) { zero(file, "optimizer.exp_avg_sq."); })) << "second moments";
  EXPECT_FALSE(ends_alike([](TensorFile& file, Json&) { file.tensors.erase("window.fields"); })) << "unfinished point";
  EXPECT_FALSE(ends_alike([](TensorFile&, Json& state) { state["optimizer"]["step"] = 0; })) << "bias correction";
  EXPECT_FALSE(ends_alike([](TensorFile&, Json& state) { state["step"] = 12; })) << "schedule position";
  EXPECT_FALSE(ends_alike([](TensorFile&, Json& state) { state["sampler"]["batch"] = 0; })) << "sampler position";
  EXPECT_FALSE(ends_alike([](TensorFile&, Json& state) { state["sampler"]["epoch"] = 0; })) << "sampler epoch";
}

TEST_F(DroppedState, IsRefusedWhenItCannotBeRead) {
  const auto refusal = [&](const Change& change) {
    TensorFile file = read_safetensors(whole_.checkpoints.at(13));
    Json state = Json::parse(file.metadata.at("locus"));
    change(file, state);
    file.metadata["locus"] = state.dump();
    StageRequest request = request_for(small_configuration(), folder_.path() / "refused");
    request.resume = folder_.path() / "changed.safetensors";
    write_safetensors(request.resume, file);
    RecordingObserver observer;
    const StageReport report = run_stage(request, observer);
    EXPECT_EQ(report.failure_class, "data");
    return report.reason;
  };
  EXPECT_THAT(refusal([](TensorFile& file, Json&) { file.tensors.erase("model.head.bias"); }),
              HasSubstr("lacks the tensor 'model.head.bias'"));
  EXPECT_THAT(refusal([](TensorFile& file, Json&) { file.tensors["model.head.bias"] = at::zeros({3}); }),
              HasSubstr("where the model needs"));
  EXPECT_THAT(refusal([](TensorFile&, Json& state) { state["identity"] = "0"; }), HasSubstr("belongs to stage 0"));
  EXPECT_THAT(refusal([](TensorFile&, Json& state) { state["kind"] = "model"; }), HasSubstr("holds a model state"));
  EXPECT_THAT(refusal([](TensorFile&, Json& state) { state["format"] = 9; }), HasSubstr("format 9"));
  EXPECT_THAT(refusal([](TensorFile&, Json& state) { state.erase("sampler"); }), HasSubstr("cannot be read"));
  EXPECT_THAT(refusal([](TensorFile&, Json& state) { state["step"] = 99; }), HasSubstr("outside the schedule"));
}

}  // namespace
}  // namespace locus::engine
