// Section init in a stage: the file is found by its digest, checked before anything is trained, and needed only once.
#include "engine/weights/init.h"

#include <gmock/gmock.h>

#include "engine/base/failure.h"
#include "engine/files/tensor_file.h"
#include "engine/weights/locate.h"
#include "tests/engine/train/recording.h"

namespace locus::engine {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

TEST(WeightsFolder, IsSearchedByDigest) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "deep");
  write_safetensors(folder.path() / "a.safetensors", {{{"x", at::ones({2})}}, {}});
  write_safetensors(folder.path() / "deep" / "b.safetensors", {{{"y", at::ones({2})}}, {}});
  write_bytes(folder.path() / "broken.safetensors.index.json", "{");
  write_bytes(folder.path() / "notes.txt", "not looked at");
  const std::string digest = tensor_file_sha256(folder.path() / "deep" / "b.safetensors");
  EXPECT_EQ(find_weights(folder.path(), digest), folder.path() / "deep" / "b.safetensors");
  try {
    find_weights(folder.path(), std::string(64, '0'));
    FAIL() << "found";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr(folder.path().string()), HasSubstr(std::string(64, '0')),
                      HasSubstr("a.safetensors (" + tensor_file_sha256(folder.path() / "a.safetensors").substr(0, 8))));
  }
  EXPECT_THROW(find_weights(folder.path() / "missing", digest), DataError);
  EXPECT_THROW(find_weights(folder.path(), "0123"), std::invalid_argument);
  // Its digest is of what it holds now.
  write_safetensors(folder.path() / "deep" / "b.safetensors", {{{"y", at::zeros({3, 3})}}, {}});
  EXPECT_THROW(find_weights(folder.path(), digest), DataError);
}

// Slow enough that the few steps lower the loss.
Json gentle_configuration() {
  Json out = small_configuration();
  out["recipe"]["options"]["lr"] = 0.001;
  out["priors"] = Json::array({{{"id", "violin"}}});
  return out;
}

class InitStage : public ::testing::Test {
 protected:
  void SetUp() override {
    LOCUS_NEEDS_FASHION_MNIST();
    std::filesystem::create_directories(root_ / "weights");
    std::filesystem::create_directory_symlink(kDataRoot / "fashion-mnist", root_ / "fashion-mnist");
    RecordingObserver observer;
    const StageReport report = run_stage(request(gentle_configuration(), "first"), observer);
    ASSERT_EQ(report.outcome, "succeeded") << report.reason;
    file_ = root_ / "weights" / "trained.safetensors";
    std::filesystem::copy_file(report.outputs.at(0).path, file_);
    sha256_ = tensor_file_sha256(file_);
  }
  StageRequest request(const Json& configuration, const std::string& work, bool every_step = false) {
    StageRequest out = request_for(configuration, folder_.path() / work, every_step);
    out.execution.data_root = root_;
    return out;
  }
  Json beginning_with(const std::string& sha256, Json more = {{"head", "keep"}}) {
    Json out = gentle_configuration();
    more["sha256"] = sha256;
    out["init"] = {{"id", "weights"}, {"options", more}};
    return out;
  }
  double first_loss(const RecordingObserver& observer) {
    for (const RecordedPoint& point : observer.points) {
      if (point.series.starts_with("loss/train")) return point.value;
    }
    throw std::runtime_error("no loss was reported");
  }

  TemporaryFolder folder_;
  const std::filesystem::path root_ = folder_.path() / "data";
  std::filesystem::path file_;
  std::string sha256_;
};

TEST_F(InitStage, BeginsWhereTheWeightsAreAndSaysSo) {
  RecordingObserver scratch, begun;
  run_stage(request(gentle_configuration(), "scratch"), scratch);
  const StageReport report = run_stage(request(beginning_with(sha256_), "begun"), begun);
  ASSERT_EQ(report.outcome, "succeeded") << report.reason;
  EXPECT_LT(first_loss(begun), first_loss(scratch));
  EXPECT_THAT(begun.lines, Contains(HasSubstr("weights of layout locus")));
}

TEST_F(InitStage, TakesTheFileThatItsWorkerBroughtAndChecksIt) {
  StageRequest one = request(beginning_with(sha256_), "brought");
  one.inputs["weights"] = folder_.path() / "blob";
  std::filesystem::rename(file_, folder_.path() / "blob");
  RecordingObserver observer;
  EXPECT_EQ(run_stage(one, observer).outcome, "succeeded");
  write_safetensors(folder_.path() / "blob", {{{"x", at::ones({2})}}, {}});
  const StageReport report = run_stage(one, observer);
  EXPECT_EQ(report.failure_class, "data");
  EXPECT_THAT(report.reason, AllOf(HasSubstr("blob"), HasSubstr(sha256_)));
}

// What fuzzing keeps: lengths that lie, pickles that would run something, archives without their storages.
TEST_F(InitStage, EndsWithHostileWeightsAsDataAndGoesOnWithSoundOnes) {
  RecordingObserver observer;
  int files = 0;
  for (const char* reader : {"safetensors", "torch_archive"}) {
    for (const auto& kept : std::filesystem::directory_iterator(std::filesystem::path(LOCUS_FUZZ_CORPUS) / reader)) {
      ++files;
      StageRequest one = request(beginning_with(tensor_file_sha256(kept.path())), "hostile");
      one.inputs["weights"] = kept.path();
      const StageReport report = run_stage(one, observer);
      EXPECT_EQ(report.failure_class, "data") << kept.path() << ": " << report.outcome << ", " << report.reason;
      EXPECT_THAT(report.reason, HasSubstr(kept.path().string()));
    }
  }
  EXPECT_GT(files, 10);
  EXPECT_TRUE(observer.points.empty());
  EXPECT_EQ(run_stage(request(beginning_with(sha256_), "sound"), observer).outcome, "succeeded");
}

TEST_F(InitStage, FailsBeforeTrainingWhereNoFileHasTheDigestOrFits) {
  RecordingObserver observer;
  const StageReport lost = run_stage(request(beginning_with(std::string(64, 'a')), "lost"), observer);
  EXPECT_EQ(lost.failure_class, "data");
  EXPECT_THAT(lost.reason, AllOf(HasSubstr((root_ / "weights").string()), HasSubstr(std::string(64, 'a'))));
  Json other = beginning_with(sha256_);
  other["model"]["options"]["depth"] = 1;
  const StageReport unfit = run_stage(request(other, "unfit"), observer);
  EXPECT_EQ(unfit.failure_class, "data");
  EXPECT_THAT(unfit.reason, AllOf(HasSubstr("trained.safetensors"), HasSubstr("model: {depth: 2}")));
  EXPECT_TRUE(observer.points.empty());
}

TEST_F(InitStage, NeedsTheFileNeitherToGoOnNorToEvaluate) {
  const Json configuration = beginning_with(sha256_);
  RecordingObserver whole;
  const StageReport undisturbed = run_stage(request(configuration, "whole", /*every_step=*/true), whole);
  ASSERT_EQ(undisturbed.outcome, "succeeded") << undisturbed.reason;
  std::filesystem::remove(file_);
  StageRequest again = request(configuration, "again");
  again.resume = whole.checkpoints.at(10);
  RecordingObserver observer;
  const StageReport resumed = run_stage(again, observer);
  ASSERT_EQ(resumed.outcome, "succeeded") << resumed.reason;
  EXPECT_TRUE(differences(undisturbed.outputs.at(0).path, resumed.outputs.at(0).path).empty());
  Json evaluation = configuration;
  evaluation["kind"] = "evaluate";
  evaluation["stage"] = {{"options", {{"images", 50}}}};
  evaluation["inputs"] = {{"checkpoint", configuration_identity(configuration)}};
  StageRequest score = request(evaluation, "evaluate");
  score.inputs["checkpoint"] = resumed.outputs.at(0).path;
  EXPECT_EQ(run_stage(score, observer).outcome, "succeeded");
}

TEST(InitItems, StartFromScratchUnlessSaid) {
  const Json configuration = gentle_configuration();
  Module nothing;
  EXPECT_TRUE(start_weights(configuration, nothing, {}).empty());
  Json scratch = configuration;
  scratch["init"] = {{"id", "scratch"}};
  EXPECT_TRUE(start_weights(scratch, nothing, {}).empty());
  scratch["init"] = {{"id", "weights"}};
  EXPECT_THROW(start_weights(scratch, nothing, {}), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine
