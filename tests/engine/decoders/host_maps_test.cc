// What decoders read of hosts.
#include "engine/decoders/host_maps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

constexpr std::int64_t kWholeWindows = 56;  // pixels of a side: windows of 7 tile the grid of every stage

std::shared_ptr<Backbone> host(const Json& model, std::int64_t side = 32) {
  return make_backbone({{"model", model}, {"priors", {{{"id", "none"}}}}}, {3, {side, side}}, RandomStreams(1));
}
Json vit(std::int64_t depth) {
  return {{"id", "vit"}, {"options", {{"dim", 8}, {"depth", depth}, {"heads", 2}, {"patch", 4}, {"pool", "cls"}}}};
}

TEST(HostMaps, AreTheLastBlocksOfTheQuartersWithoutPrefixAndFinalNorm) {
  const auto model = host(vit(12));
  const HostMaps maps(*model, DecoderInput::kPyramid, {}, {32, 32});
  const at::NoGradGuard no_gradient;
  const Features features =
      model->forward(test::test_images(2, {32, 32}).repeat({1, 2, 1, 1}).slice(1, 0, 3), test::test_context(false));
  const std::vector<Tensor> found = maps(features);
  ASSERT_EQ(found.size(), 4u);
  const std::int64_t blocks[] = {2, 5, 8, 11};
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_EQ(found[i].sizes(), (at::IntArrayRef{2, 8, 8, 8}));
    const Tensor& tokens = features.taps.at("block-" + std::to_string(blocks[i]));
    // Token p lies at row p / columns.
    EXPECT_TRUE(at::equal(found[i].select(2, 3).select(2, 5), tokens.select(1, 1 + 3 * 8 + 5)));
  }
  EXPECT_EQ(maps.grids({16, 48}), (std::vector<MapExtent>(4, {4, 12})));
  EXPECT_EQ(maps.multiple(), 4);
}

TEST(HostMaps, AreTheStagesOfANetworkOfSeveral) {
  for (const BackboneItem& item : backbone_items()) {
    if (!item.item.json().at("facts").contains("stages")) continue;
    const auto model = host({{"id", item.id()}, {"options", {{"size", "mini"}}}}, kWholeWindows);
    if (model->stages().size() < 2) continue;
    HostMaps maps(*model, DecoderInput::kPyramid, {}, {kWholeWindows, kWholeWindows});
    maps.start();
    EXPECT_TRUE(maps.hierarchical());
    const at::NoGradGuard no_gradient;
    const auto found = maps(model->forward(
        RandomStreams(2).normal("test", "image", 0, {2, 3, kWholeWindows, kWholeWindows}), test::test_context(false)));
    ASSERT_EQ(found.size(), model->stages().size());
    for (std::size_t s = 0; s < found.size(); ++s) {
      EXPECT_EQ(found[s].size(1), maps.widths()[s]);
      EXPECT_EQ((MapExtent{found[s].size(2), found[s].size(3)}), maps.grids({kWholeWindows, kWholeWindows})[s]);
      EXPECT_LT(found[s].mean(1).abs().max().item<double>(), 1e-5) << "a norm of its own";
    }
    EXPECT_THROW(HostMaps(*model, DecoderInput::kPyramid, {0}, {kWholeWindows, kWholeWindows}), std::invalid_argument);
  }
}

TEST(HostMaps, SayWhatAHostLacks) {
  const auto shallow = host(vit(2));
  try {
    HostMaps(*shallow, DecoderInput::kPyramid, {}, {32, 32});
    FAIL() << "not refused";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("taps"));
  }
  EXPECT_THROW(HostMaps(*shallow, DecoderInput::kPyramid, {0, 2}, {32, 32}), std::invalid_argument);
  EXPECT_EQ(HostMaps(*shallow, DecoderInput::kPyramid, {0, 1}, {32, 32}).widths().size(), 2u);
  EXPECT_EQ(HostMaps(*shallow, DecoderInput::kLast, {}, {32, 32}).widths().size(), 1u);
}

}  // namespace
}  // namespace locus::engine
