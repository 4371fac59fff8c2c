// A trainer killed at three random steps and resumed elsewhere leaves the same bits as one left alone.
#include <gmock/gmock.h>

#include <cstdlib>
#include <random>

#include "tests/engine/run/trainer_process.h"
#include "tests/engine/train/recording.h"

namespace locus::engine {
namespace {

using ::testing::IsEmpty;

struct Story {
  std::vector<RecordedPoint> points;
  std::filesystem::path model, best_model, last_checkpoint;
};

void add_points(const Json& frame, std::vector<RecordedPoint>& points) {
  for (const Json& row : frame.at("rows")) {
    const Json& key = frame.at("series").at(row.at(0).get<std::size_t>());
    points.push_back(
        {key.at("metric").get<std::string>() + "/" + key.at("split").get<std::string>() + " " + key.at("labels").dump(),
         row.at(1).get<std::int64_t>(), number_from_json(row.at(5))});
  }
}

// Runs `stage` through trainers that are killed with SIGKILL once a checkpoint of each step of `kills` has
// come; every next one works in a folder of its own from the last checkpoint received.
Story run_with_kills(const Json& stage, const std::filesystem::path& folder, std::vector<std::int64_t> kills) {
  Story story;
  std::filesystem::path resume;
  std::int64_t resumed_step = 0;
  for (std::size_t attempt = 0; attempt <= kills.size(); ++attempt) {
    const auto work = folder / ("slot-" + std::to_string(attempt));
    TrainerProcess trainer(LOCUS_TRAINER);
    trainer.wait_for("hello");
    trainer.send(start_frame("s1/" + std::to_string(attempt + 1), stage, work, resume, /*checkpoint_seconds=*/0));
    EXPECT_EQ(trainer.wait_for("started").at("resumed_step"), resumed_step);
    bool killed = false;
    while (!killed) {
      const auto frame = trainer.receive();
      if (!frame) throw std::runtime_error("the trainer ended by itself");
      const std::string type = frame->at("type");
      if (type == "failed") throw std::runtime_error(frame->dump());
      if (type == "points") add_points(*frame, story.points);
      if (type == "checkpoint") {
        story.last_checkpoint = resume = frame->at("path").get<std::string>();
        resumed_step = frame->at("step");
        if (attempt < kills.size() && resumed_step >= kills[attempt]) {
          trainer.kill();
          killed = true;
          // What an older attempt told beyond its last checkpoint is superseded.
          std::erase_if(story.points, [&](const RecordedPoint& point) { return point.step > resumed_step; });
        }
      }
      if (type == "done") {
        story.model = frame->at("outputs").at(0).at("path").get<std::string>();
        if (frame->at("outputs").size() > 1)
          story.best_model = frame->at("outputs").at(1).at("path").get<std::string>();
        return story;
      }
    }
  }
  return story;
}

// The two stories, whole and killed.
std::pair<Story, Story> tell(const Json& configuration, const std::filesystem::path& folder) {
  const char* given = std::getenv("LOCUS_KILL_SEED");  // replays a failure
  const auto seed = given ? static_cast<unsigned>(std::stoul(given)) : std::random_device{}();
  SCOPED_TRACE("replay with LOCUS_KILL_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<std::int64_t> kills;
  for (int i = 0; i < 3; ++i) kills.push_back(1 + static_cast<std::int64_t>(random() % 22));
  std::sort(kills.begin(), kills.end());
  Story whole = run_with_kills(configuration, folder / "whole", {});
  Story killed = run_with_kills(configuration, folder / "killed", kills);
  EXPECT_EQ(whole.points, killed.points);
  EXPECT_GT(whole.points.size(), 20u);
  EXPECT_THAT(differences(whole.model, killed.model), IsEmpty());
  // The checkpoint before the last step holds weights, moments, the sampler's place and the unfinished point.
  EXPECT_THAT(differences(whole.last_checkpoint, killed.last_checkpoint), IsEmpty());
  auto state = [](const Story& story) {
    Json document = Json::parse(read_safetensors(story.last_checkpoint).metadata.at("locus"));
    document.erase("seconds");
    return document;
  };
  EXPECT_EQ(state(whole), state(killed));
  return {std::move(whole), std::move(killed)};
}

TEST(Resume, ThreeKillsAtRandomStepsLeaveNoTrace) {
  LOCUS_NEEDS_FASHION_MNIST();
  const TemporaryFolder folder;
  tell(small_configuration(), folder.path());
}

// Mixing, an average that is reported, float16 with its scaler, and batches in parts, all at once.
TEST(Resume, KillsLeaveNoTraceOfMixingAveragesScalesAndParts) {
  LOCUS_NEEDS_FASHION_MNIST();
  const TemporaryFolder folder;
  const Json configuration = mixing_configuration();
  const auto [whole, killed] = tell(configuration, folder.path());
  const auto tensors = read_safetensors(killed.last_checkpoint).tensors;
  EXPECT_TRUE(tensors.contains("scaler.scale"));
  EXPECT_TRUE(tensors.contains("hook.average.head.weight"));
}

// Its checkpoints leave out the frozen weights, which every process makes again.
TEST(Resume, ThreeKillsLeaveNoTraceInATrainingOfAdapters) {
  LOCUS_NEEDS_FASHION_MNIST();
  const TemporaryFolder folder;
  Json configuration = small_configuration();
  configuration["adapter"] = {{"id", "dora"}, {"options", {{"rank", 2}, {"dropout", 0.1}, {"exported", "merged"}}}};
  const auto [whole, killed] = tell(configuration, folder.path());
  EXPECT_FALSE(read_safetensors(killed.last_checkpoint).tensors.contains("model.backbone.blocks.0.mlp.in.weight"));
}

TEST(Resume, KillsBeforeAndAfterTheBestModelLeaveItAsItWas) {
  LOCUS_NEEDS_FASHION_MNIST();
  const TemporaryFolder folder;
  const auto [whole, killed] = tell(diverging_configuration(), folder.path());
  ASSERT_FALSE(whole.best_model.empty());
  EXPECT_THAT(differences(whole.best_model, killed.best_model), IsEmpty());
  EXPECT_FALSE(differences(whole.best_model, whole.model).empty()) << "the best is not the last";
  EXPECT_EQ(read_safetensors(whole.best_model).metadata, read_safetensors(killed.best_model).metadata);
}

}  // namespace
}  // namespace locus::engine
