// Whole stages on images of different sizes: resized, repeated, of drawn sizes, the same bits wherever a run is interrupted
// and however many threads decode.
#include <gmock/gmock.h>
#include <utility>

#include "engine/data/dataset.h"
#include "tests/engine/data/sources.h"
#include "tests/engine/train/recording.h"

namespace locus::engine {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Color images of two classes, bright above or below, each of another size.
class Scenes final : public Source {
 public:
  explicit Scenes(std::int64_t count) : count_(count) {}
  std::int64_t size() const override { return count_; }
  Sample read(std::int64_t row) const override {
    const std::int64_t rows = 9 + row % 7, columns = 8 + row % 5;
    Tensor image = RandomStreams(2)
                       .uniform("test", "scene", static_cast<std::uint64_t>(row), {3, rows, columns}, 0, 90)
                       .to(at::kByte);
    image.slice(1, row % 2 * (rows / 2), row % 2 * (rows / 2) + rows / 2).add_(120);
    return {{kImage, image}, {kLabel, at::scalar_tensor(row % 2, at::kLong)}};
  }
  std::int64_t bytes(std::int64_t) const override { return 3 * 15 * 12 + 8; }

 private:
  std::int64_t count_;
};

class SceneData final : public Dataset {
 public:
  std::shared_ptr<const Source> split(std::string_view name) override {
    return std::make_shared<Scenes>(name == "train" ? 50 : 20);
  }
  const Normalization& normalization() const override { return normalization_; }

 private:
  Normalization normalization_{{0.5, 0.5, 0.5}, {0.3, 0.3, 0.3}};
};

class InputStages : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static bool added = false;  // two suites share this
    if (std::exchange(added, true)) return;
    Item item("dataset", "scenes-of-this-test", 1, "of this test");
    item.facts({{"digest", "0"},
                {"rank", 2},
                {"channels", 3},
                {"classes", 2},
                {"splits", {{"train", 50}, {"validation", 20}, {"test", 20}}}});
    dataset_registry().add({std::move(item), [](const DataPlace&, const Options&) -> std::shared_ptr<Dataset> {
                              return std::make_shared<SceneData>();
                            }});
  }

  static Json training(Json input_options, Json recipe_options = Json::object()) {
    Json out = small_configuration();
    out["dataset"]["id"] = "scenes-of-this-test";
    out["model"]["options"]["patch"] = 4;
    out["priors"] = {{{"id", "rope-axial"}}};
    out["recipe"]["options"].erase("limit");
    out["recipe"]["options"].update(recipe_options);
    input_options["size"] = 8;
    out["input"] = {{"id", "resized"}, {"options", std::move(input_options)}};
    return out;
  }
  StageReport run(const Json& configuration, RecordingObserver& observer, const std::string& folder,
                  const std::filesystem::path& resume = {}, int threads = 2) {
    StageRequest request = request_for(configuration, folder_.path() / folder, /*every_step=*/true);
    request.resume = resume;
    request.execution.decode_threads = threads;
    StageReport out = run_stage(request, observer);
    EXPECT_EQ(out.reason, "");
    return out;
  }
  StageReport evaluate(const Json& trained, const StageReport& report, const Json& options) {
    Json configuration = trained;
    configuration["kind"] = "evaluate";
    configuration["inputs"] = {{"checkpoint", configuration_identity(trained)}};
    configuration["stage"] = {{"options", options}};
    StageRequest request = request_for(configuration, folder_.path() / "evaluate");
    request.inputs["checkpoint"] = report.outputs.at(0).path;
    RecordingObserver observer;
    return run_stage(request, observer);
  }

  TemporaryFolder folder_;
};

struct Course {
  const char* name;
  Json input, recipe;
  std::int64_t steps;  // 0: drawn
};
void PrintTo(const Course& course, std::ostream* out) { *out << course.name; }

class Courses : public InputStages, public ::testing::WithParamInterface<Course> {};

TEST_P(Courses, LeaveTheSameBitsForEveryNumberOfThreadsAndAfterAnInterruption) {
  const Json configuration = training(GetParam().input, GetParam().recipe);
  RecordingObserver whole, threads;
  const StageReport expected = run(configuration, whole, "whole");
  ASSERT_EQ(expected.outputs.size(), 1u);
  if (GetParam().steps > 0) {
    EXPECT_EQ(whole.steps_, GetParam().steps);
  }
  const StageReport other = run(configuration, threads, "threads", {}, 5);
  EXPECT_EQ(threads.points, whole.points);
  EXPECT_THAT(differences(expected.outputs.at(0).path, other.outputs.at(0).path), IsEmpty());
  for (const std::int64_t step : {std::int64_t{3}, whole.steps_ / 2 + 1}) {
    RecordingObserver late;
    const StageReport resumed = run(configuration, late, "late-" + std::to_string(step), whole.checkpoints.at(step), 1);
    EXPECT_THAT(differences(expected.outputs.at(0).path, resumed.outputs.at(0).path), IsEmpty()) << step;
    for (const RecordedPoint& point : late.points) EXPECT_THAT(whole.points, Contains(point)) << step;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Recipes, Courses,
    ::testing::Values(Course{"Resized", Json::object(), Json::object(), 3 * 6},
                      Course{"KeepingTheLastBatch", Json::object(), {{"keep_last", true}}, 3 * 7},
                      Course{"Repeated", Json::object(), {{"repeats", 3}}, 3 * 6},
                      Course{"OfDrawnSizes", {{"sizes", {4, 8, 12}}}, {{"keep_last", true}, {"repeats", 2}}, 0}),
    [](const auto& course) { return std::string(course.param.name); });

TEST_F(InputStages, TellHowLongTrainingWaitedForItsImages) {
  RecordingObserver observer;
  const StageReport report = run(training(Json::object()), observer, "train");
  double waited = -1, spent = 0;
  for (const StageResult& result : report.results) {
    if (result.key.metric == "data_wait") waited = result.value;
    if (result.key.metric == "train_seconds") spent = result.value;
  }
  EXPECT_GT(waited, 0);
  EXPECT_LE(waited, spent);
}

TEST_F(InputStages, MeasureHowTrainingIsFed) {
  Json configuration = training(Json::object());
  configuration["kind"] = "measure";
  configuration["exclusive"] = true;
  configuration.erase("recipe");
  Json options = {{"batch", {4, 60, 80}}, {"resolution", {16}}, {"rounds", 2}, {"warmup", 1}, {"round_ms", 0}};
  configuration["stage"] = {{"options", options}};
  RecordingObserver observer;
  const StageReport without = run_stage(request_for(configuration, folder_.path() / "measure"), observer);
  ASSERT_EQ(without.outcome, "succeeded") << without.reason;
  for (const StageResult& result : without.results) EXPECT_FALSE(result.key.metric.starts_with("data_"));
  configuration["stage"]["options"]["data"] = true;
  const StageReport report = run_stage(request_for(configuration, folder_.path() / "measure"), observer);
  ASSERT_EQ(report.outcome, "succeeded") << report.reason;
  EXPECT_EQ(report.results.size(), without.results.size() + 4) << "60 and 80 are the same batch";
  std::vector<std::int64_t> batches;
  for (const StageResult& result : report.results) {
    if (!result.key.metric.starts_with("data_")) continue;
    EXPECT_EQ(result.key.labels.at("resolution"), 8) << "that of the input, whatever is measured";
    if (result.key.metric == "data_wait_percent") {
      batches.push_back(result.key.labels.at("batch").get<std::int64_t>());
      EXPECT_GE(result.value, 0);
      EXPECT_LE(result.value, 100);
    } else {
      EXPECT_EQ(result.key.metric, "data_images_per_second");
      EXPECT_GT(result.value, 0);
    }
  }
  EXPECT_THAT(batches, ElementsAre(4, 50)) << "there are 50 images";
}

TEST_F(InputStages, ScoreAtTheSizeOfTrainingAndAtOthersByTheSameRule) {
  const Json configuration = training(Json::object());
  RecordingObserver observer;
  const StageReport trained = run(configuration, observer, "train");
  const StageReport own = evaluate(configuration, trained, {{"split", "validation"}});
  ASSERT_EQ(own.results.size(), 2u) << own.reason;
  EXPECT_EQ(own.results[0].key.labels, (Json{{"resolution", 8}}));
  for (const StageResult& result : trained.results) {
    if (result.key.metric != "top1") continue;
    EXPECT_EQ(result.value, own.results[0].value) << "what training validated";
  }
  const StageReport others = evaluate(configuration, trained, {{"split", "validation"}, {"resolution", {8, 16}}});
  ASSERT_EQ(others.results.size(), 4u) << others.reason;
  EXPECT_EQ(others.results[1].value, own.results[1].value);
  EXPECT_NE(others.results[3].value, own.results[1].value);
  const StageReport refused = evaluate(configuration, trained, {{"resolution", {16}}, {"resize", "pillow"}});
  EXPECT_THAT(refused.reason, HasSubstr("leave the evaluation's resize out"));
}

TEST_F(InputStages, RefuseImagesOfDifferentSizesWithoutAnInput) {
  Json configuration = training(Json::object());
  configuration.erase("input");
  RecordingObserver observer;
  const StageReport report = run_stage(request_for(configuration, folder_.path() / "train"), observer);
  EXPECT_THAT(report.reason, HasSubstr("write input: resized"));
}

TEST_F(InputStages, PutAugmentationInThePlaceOfResizing) {
  Json configuration = training({{"sizes", {4, 8}}}, {{"repeats", 3}});
  configuration["augmentation"] = {{"id", "crop-flip"}};
  RecordingObserver one, other;
  const StageReport first = run(configuration, one, "augmented", {}, 1);
  const StageReport second = run(configuration, other, "augmented-again", {}, 4);
  EXPECT_THAT(differences(first.outputs.at(0).path, second.outputs.at(0).path), IsEmpty());
  RecordingObserver plain;
  const StageReport without = run(training({{"sizes", {4, 8}}}, {{"repeats", 3}}), plain, "plain");
  EXPECT_FALSE(differences(first.outputs.at(0).path, without.outputs.at(0).path).empty());
}

}  // namespace
}  // namespace locus::engine
