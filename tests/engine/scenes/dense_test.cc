// Scenes with masks and depth: what is in their files, and that the readers of the data sets take them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/data/dataset.h"
#include "engine/scenes/layout.h"
#include "tests/engine/data/idx_fixture.h"
#include "tests/engine/scenes/wardrobe.h"

namespace locus::engine::scenes {
namespace {

constexpr ScenesSettings kDense = {.seed = 5,
                                   .train = 1,
                                   .validation = 1,
                                   .vtab_train = 1,
                                   .vtab_validation = 1,
                                   .vtab_test = 1,
                                   .cifar = 10,
                                   .shards = 1,
                                   .dense_train = 22,
                                   .dense_validation = 4,
                                   .shorter_least = 48,
                                   .shorter_most = 64};

const std::filesystem::path& root() {
  static const TemporaryFolder folder;
  static const std::filesystem::path path = [] {
    make_scenes(simple_wardrobe(), folder.path() / "scenes", kDense);
    return folder.path() / "scenes";
  }();
  return path;
}

std::shared_ptr<Dataset> opened(const std::string& id, const Json& options) {
  const DatasetItem& item = dataset_item(id);
  return item.open({root(), ""}, Options(item.item.json(), options));
}

TEST(DenseScenes, OfAde20kHaveEveryClassAndUnlabeledOutlines) {
  const auto dataset = opened("ade20k", {{"classes", 15}, {"train", 18}, {"validation", 4}, {"test", 4}});
  std::set<int> seen;
  for (const char* name : {"train", "validation", "test"}) {
    const auto split = dataset->split(name);
    for (std::int64_t row = 0; row < split->size(); ++row) {
      const Sample sample = split->read(row);
      const Tensor mask = sample.at(kMask);
      EXPECT_EQ(mask.sizes(), sample.at(kImage)[0].sizes());
      const double unlabeled = (mask == static_cast<int>(kIgnored)).to(at::kDouble).mean().item<double>();
      EXPECT_GT(unlabeled, 0) << name << " " << row;
      EXPECT_LT(unlabeled, 0.6) << name << " " << row;
      for (int index = 0; index < 15; ++index) {
        if ((mask == index).any().item<bool>()) seen.insert(index);
      }
    }
  }
  EXPECT_GE(seen.size(), 14u) << "backdrops are drawn, clothing is dealt";
  const std::vector<std::string> names = dataset->class_names();
  ASSERT_EQ(names.size(), 15u);
  EXPECT_EQ(names[0], "T-shirt/top");
  EXPECT_EQ(names[14], "clouds");
}

// The reader undoes what the camera did to distances: the depth is that of the placement, to 16 bits.
TEST(DenseScenes, OfHypersimGiveTheDepthOfTheirPlacement) {
  const auto dataset = opened("hypersim", {{"train", 22}, {"validation", 4}, {"test", 4}});
  const auto distances = opened("hypersim", {{"train", 22}, {"validation", 4}, {"test", 4}, {"depth", "distance"}});
  const auto split = dataset->split("train");
  ASSERT_EQ(split->size(), 22);
  double holes = 0;
  for (std::int64_t row = 0; row < split->size(); ++row) {
    const Tensor depth = split->read(row).at(kDepth), distance = distances->split("train")->read(row).at(kDepth);
    ASSERT_EQ(depth.sizes(), (at::IntArrayRef{48, 64}));
    const Tensor known = depth > 0;
    holes += 1 - known.to(at::kDouble).mean().item<double>();
    EXPECT_GT(known.sum().item<std::int64_t>(), 0);
    EXPECT_TRUE((depth <= distance * 1.001f).all().item<bool>()) << "no depth is beyond its distance";
    EXPECT_LE(depth.max().item<float>(), 20.05f);
    EXPECT_GE(depth.masked_select(known).min().item<float>(), 1.2f);
    // Along a row the background is a wall of one depth, though its distances differ.
    const Tensor top = depth[0].masked_select(depth[0] > 15);
    if (top.numel() > 0) EXPECT_NEAR(top.min().item<float>(), top.max().item<float>(), 0.03);
  }
  EXPECT_GT(holes, 0) << "plain backdrops have no geometry";
  EXPECT_LT(holes, 22 * 0.6);
}

TEST(DenseScenes, OfHypersimAreWholeScenesOfTwentyFrames) {
  std::set<std::string> scenes;
  for (const auto& entry : std::filesystem::directory_iterator(root() / "hypersim")) {
    if (entry.is_directory()) scenes.insert(entry.path().filename());
  }
  EXPECT_THAT(scenes, ::testing::ElementsAre("ai_001_001", "ai_001_002", "ai_001_003", "ai_001_004"));
}

}  // namespace
}  // namespace locus::engine::scenes
