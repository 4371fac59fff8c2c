// Whole stages on samples that are read as they are needed, of images that are not square: what is trained and scored
// is what the same samples in memory give, for any number of decode threads.
#include <gmock/gmock.h>

#include "engine/data/dataset.h"
#include "tests/engine/data/sources.h"
#include "tests/engine/train/recording.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;

// 8 x 12 pixels in two classes, bright above or below.
class Bands : public Dataset {
 public:
  explicit Bands(bool streamed) : streamed_(streamed) {}
  std::shared_ptr<const Source> split(std::string_view name) override {
    const std::int64_t count = name == "train" ? 48 : 20;
    Batch samples = drawn_samples(count, 1, 8, 12);
    samples[kLabel] = samples.at(kLabel).remainder(2);
    Tensor& images = samples[kImage];
    for (std::int64_t row = 0; row < count; ++row) images[row].slice(1, row % 2 * 4, row % 2 * 4 + 4).fill_(200);
    const auto source = resident_source(std::move(samples));
    if (!streamed_) return source;
    if (name == "test") return std::make_shared<Damaged>(source, std::set<std::int64_t>{17});
    return std::make_shared<Streamed>(source);
  }
  const Normalization& normalization() const override { return normalization_; }

 private:
  bool streamed_;
  Normalization normalization_{{0.5}, {0.3}};
};

DatasetItem bands(bool streamed) {
  Item item("dataset", streamed ? "bands-streamed" : "bands", 1, "of this test");
  item.facts({{"digest", "0"},
              {"rank", 2},
              {"channels", 1},
              {"extent", {8, 12}},
              {"classes", 2},
              {"splits", {{"train", 48}, {"validation", 20}, {"test", 20}}}});
  if (streamed) {
    return {std::move(item),
            [](const DataPlace&, const Options&) -> std::shared_ptr<Dataset> { return std::make_shared<Bands>(true); }};
  }
  return {std::move(item),
          [](const DataPlace&, const Options&) -> std::shared_ptr<Dataset> { return std::make_shared<Bands>(false); }};
}

class StreamedStages : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    dataset_registry().add(bands(false));
    dataset_registry().add(bands(true));
  }
  static Json training(const std::string& dataset) {
    Json out = small_configuration();
    out["dataset"]["id"] = dataset;
    out["model"]["options"]["patch"] = 4;
    out["priors"] = {{{"id", "rope-axial"}}};
    return out;
  }
  struct Trained {
    std::vector<RecordedPoint> points;
    StageReport report;
  };
  Trained train(const std::string& dataset, int threads) {
    const Json configuration = training(dataset);
    StageRequest request = request_for(configuration, folder_.path() / (dataset + std::to_string(threads)));
    request.execution.decode_threads = threads;
    RecordingObserver observer;
    const StageReport report = run_stage(request, observer);
    EXPECT_EQ(report.outcome, "succeeded") << report.reason;
    return {observer.points, report};
  }
  StageReport evaluate(const std::string& dataset, const StageReport& trained, const std::string& split, int threads) {
    Json configuration = training(dataset);
    configuration["kind"] = "evaluate";
    configuration["inputs"] = {{"checkpoint", configuration_identity(training(dataset))}};
    configuration["stage"] = {{"options", {{"split", split}, {"resolution", {8, 16}}}}};
    StageRequest request = request_for(configuration, folder_.path() / "evaluate");
    request.inputs["checkpoint"] = trained.outputs.at(0).path;
    request.execution.decode_threads = threads;
    RecordingObserver observer;
    return run_stage(request, observer);
  }

  TemporaryFolder folder_;
};

TEST_F(StreamedStages, TrainAndScoreAsSamplesInMemoryDo) {
  const Trained resident = train("bands", 1);
  const StageReport expected = evaluate("bands", resident.report, "validation", 1);
  ASSERT_EQ(expected.results.size(), 4u) << expected.reason;
  EXPECT_EQ(expected.results[2].key.labels, (Json{{"resolution", 16}})) << "16 x 24";
  for (const int threads : {1, 3}) {
    const Trained streamed = train("bands-streamed", threads);
    EXPECT_EQ(streamed.points, resident.points) << threads;
    const StageReport scored = evaluate("bands-streamed", streamed.report, "validation", threads);
    ASSERT_EQ(scored.results.size(), 4u) << scored.reason;
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(scored.results[i].value, expected.results[i].value) << i;
  }
}

TEST_F(StreamedStages, FailAsDataNamingFileAndSample) {
  const Trained streamed = train("bands-streamed", 2);
  const StageReport report = evaluate("bands-streamed", streamed.report, "test", 2);
  EXPECT_EQ(report.failure_class, "data");
  EXPECT_THAT(report.reason, HasSubstr("sample 17: /data/17.png ends in the middle"));
}

}  // namespace
}  // namespace locus::engine
