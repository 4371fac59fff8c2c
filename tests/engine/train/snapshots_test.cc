// Models kept on the way: after which steps, that they are those models to the bit whatever interrupts the training,
// and that the training does not notice.
#include <gmock/gmock.h>

#include "engine/train/snapshots.h"
#include "tests/engine/train/recording.h"

namespace locus::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SnapshotSteps, DivideTrainingIntoEqualParts) {
  EXPECT_THAT(snapshot_steps(0, 100), IsEmpty());
  EXPECT_THAT(snapshot_steps(1, 100), ElementsAre(50));
  EXPECT_THAT(snapshot_steps(3, 100), ElementsAre(25, 50, 75));
  EXPECT_THAT(snapshot_steps(3, 10), ElementsAre(2, 5, 7)) << "rounded down";
}

TEST(SnapshotSteps, AreNeitherTheInitializationNorTheEndAndEachIsOne) {
  EXPECT_THAT(snapshot_steps(64, 4), ElementsAre(1, 2, 3));
  EXPECT_THAT(snapshot_steps(5, 1), IsEmpty());
}

class SnapshotsOfTraining : public ::testing::Test {
 protected:
  void SetUp() override {
    LOCUS_NEEDS_FASHION_MNIST();
    configuration_["recipe"]["options"]["snapshots"] = 3;
    whole_report_ = train(whole_, "whole");
    ASSERT_EQ(whole_report_.outputs.size(), 4u);
  }
  // A checkpoint after every step.
  StageReport train(RecordingObserver& observer, const std::string& folder, const std::filesystem::path& resume = {}) {
    StageRequest request = request_for(configuration_, folder_.path() / folder, /*every_step=*/true);
    request.resume = resume;
    return run_stage(request, observer);
  }

  TemporaryFolder folder_;
  Json configuration_ = small_configuration();  // 24 steps
  RecordingObserver whole_;
  StageReport whole_report_;
};

TEST_F(SnapshotsOfTraining, AreTheModelsOfTheirStepsWithoutTrainingState) {
  std::vector<std::pair<std::string, std::int64_t>> made;
  for (const StageOutput& output : whole_report_.outputs) made.emplace_back(output.slot, output.step);
  EXPECT_THAT(made, ElementsAre(std::pair("checkpoint", 24), std::pair("snapshot-1", 6), std::pair("snapshot-2", 12),
                                std::pair("snapshot-3", 18)));
  for (std::size_t i = 1; i < 4; ++i) {
    const StageOutput& output = whole_report_.outputs[i];
    auto there = read_safetensors(whole_.checkpoints.at(output.step)).tensors;
    const TensorFile snapshot = read_safetensors(output.path);
    EXPECT_FALSE(snapshot.tensors.empty());
    for (const auto& [name, tensor] : snapshot.tensors) {
      EXPECT_TRUE(name.starts_with("model.")) << name;
      EXPECT_TRUE(same_bits(tensor, there.at(name))) << output.slot << " " << name;
    }
    EXPECT_EQ(read_checkpoint_metadata(snapshot, /*exported=*/true).step, output.step);
  }
}

TEST_F(SnapshotsOfTraining, SurviveAnyInterruption) {
  for (const std::int64_t step : {1, 5, 6, 7, 18, 23}) {
    RecordingObserver late;
    const StageReport report = train(late, "late-" + std::to_string(step), whole_.checkpoints.at(step));
    ASSERT_EQ(report.outputs.size(), 4u) << step << report.reason;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(report.outputs[i].slot, whole_report_.outputs[i].slot);
      EXPECT_EQ(report.outputs[i].step, whole_report_.outputs[i].step);
      EXPECT_THAT(differences(whole_report_.outputs[i].path, report.outputs[i].path), IsEmpty())
          << report.outputs[i].slot << " resumed at " << step;
    }
  }
}

TEST_F(SnapshotsOfTraining, AreMissedInACheckpointThatLostThem) {
  TensorFile file = read_safetensors(whole_.checkpoints.at(13));
  file.tensors.erase("snapshot.12.model.head.bias");
  const auto path = folder_.path() / "changed.safetensors";
  write_safetensors(path, file);
  RecordingObserver late;
  StageReport report = train(late, "refused", path);
  EXPECT_EQ(report.failure_class, "data");
  EXPECT_THAT(report.reason, HasSubstr("snapshot.12.model.head.bias"));
  file = read_safetensors(whole_.checkpoints.at(13));
  EXPECT_EQ(file.metadata.erase("snapshots"), 1u);
  write_safetensors(path, file);
  report = train(late, "refused", path);
  EXPECT_EQ(report.failure_class, "data");
  EXPECT_THAT(report.reason, HasSubstr("snapshots cannot be read"));
}

TEST_F(SnapshotsOfTraining, ChangeNothingAboutTheTraining) {
  configuration_["recipe"]["options"].erase("snapshots");
  RecordingObserver plain;
  const StageReport report = train(plain, "plain");
  ASSERT_EQ(report.outputs.size(), 1u);
  EXPECT_THAT(differences(whole_report_.outputs[0].path, report.outputs[0].path), IsEmpty());
  EXPECT_EQ(plain.points, whole_.points);
}

}  // namespace
}  // namespace locus::engine
