// Swin Transformers: sizes as published, first values, priors within windows, refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/engine/backbones/swin_models.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::kTestChannels;
using test::largest_difference;
using test::own_priors;
using test::random_swin;
using test::small_swin;
using test::swin;
using test::swin_entry;
using test::test_context;
using test::test_images;
using ::testing::HasSubstr;

// Parameters with a head of 1000 classes and multiply-adds of a pass over a square image, what the priors of the
// published network have and do included.
struct Size {
  std::int64_t parameters = 0, products = 0;
  bool operator==(const Size&) const = default;
};

Size size_of(const Json& given, std::int64_t side, std::int64_t channels, std::int64_t classes) {
  const Options o(swin_entry(), given);
  const auto dims = o.integers("dims"), depths = o.integers("depths"), heads = o.integers("heads");
  const std::int64_t patch = o.integer("patch");
  const bool second = o.integer("version") == 2;
  std::int64_t grid = side / patch, former = 0;
  Size out{(channels * patch * patch + 3) * dims[0], grid * grid * channels * patch * patch * dims[0]};
  for (std::size_t s = 0; s < dims.size(); ++s) {
    const std::int64_t width = dims[s];
    const auto hidden = static_cast<std::int64_t>(o.number("mlp_ratio") * static_cast<double>(width));
    if (s > 0) {
      grid /= 2;
      out.parameters += 4 * former * width + (second ? 2 * width : 8 * former);
      out.products += 4 * former * width * grid * grid;
    }
    const std::int64_t window = std::min(o.integer("window"), grid), offsets = (2 * window - 1) * (2 * window - 1);
    out.parameters += depths[s] * (4 * width + 4 * width * width + (second ? 3 : 4) * width + 2 * width * hidden +
                                   hidden + width + (second ? 1536 + 513 * heads[s] : offsets * heads[s]));
    out.products += depths[s] * (grid * grid * (4 * width * width + 2 * width * hidden + 2 * window * window * width) +
                                 (second ? offsets * 512 * (2 + heads[s]) : 0));
    former = width;
  }
  out.parameters += 2 * former + (former + 1) * classes;
  out.products += former * classes;
  return out;
}

Json preset(const std::string& name) { return swin_entry().at("presets").at(name); }

TEST(Swin, OfPublishedSizesHasTheirParametersAndMultiplyAdds) {
  EXPECT_EQ(size_of(preset("tiny"), 224, 3, 1000), (Size{28288354, 4490566656}));
  EXPECT_EQ(size_of(preset("small"), 224, 3, 1000), (Size{49606258, 8740875264}));
  EXPECT_EQ(size_of(preset("base"), 224, 3, 1000), (Size{87768224, 15430946816}));
  EXPECT_EQ(size_of(preset("large"), 224, 3, 1000), (Size{196532476, 34475759616}));
  EXPECT_EQ(size_of(preset("v2-tiny"), 256, 3, 1000), (Size{28347154, 5939690496}));
}

std::int64_t swin_parameters(const Backbone& model) {
  std::int64_t sum = 0;
  for (const Tensor& p : model.parameters()) sum += p.numel();
  return sum;
}

TEST(Swin, HasTheSizeThatItsOptionsSay) {
  for (const Json& more : {Json::object(), Json{{"version", 2}}, Json{{"depths", {3, 1}}, {"window", 2}}}) {
    const Json options = small_swin(more);
    const bool second = options.value("version", 1) == 2;
    const auto model = swin(options, {16, 16}, own_priors(second));
    const Size size = size_of(options, 16, kTestChannels, 0);
    EXPECT_EQ(swin_parameters(*model), size.parameters) << options;
    if (second) continue;  // what its prior computes is no part of the network
    EXPECT_EQ(model->flops(16, 16), 2 * size.products) << options;
  }
}

// Passes of Swin-T without its head, from a network with one block in each stage: blocks of a stage cost alike. Where
// windows are filled up, published code projects the places without tokens as well, and here they are not projected.
TEST(Flops, OfSwinAreThoseOfItsParts) {
  Json options = swin_entry().at("presets").at("tiny");
  const std::vector<std::int64_t> depths = options.at("depths");
  options["depths"] = {1, 1, 1, 1};
  options["compat"] = "detection";
  const auto model = swin(options, {224, 224}, Json::array(), 3);
  const auto whole = [&](std::int64_t height, std::int64_t width) {
    std::int64_t sum = model->flops(height, width);
    for (std::size_t s = 0; s < depths.size(); ++s)
      sum += (depths[s] - 1) * model->blocks()[s]->flops(model->layouts(height, width)[s]);
    return sum;
  };
  EXPECT_EQ(whole(224, 224), 2 * (4490566656 - 768 * 1000));
  std::int64_t spared = 0;
  for (std::size_t s = 0; s < depths.size(); ++s) {
    const StageInfo& stage = model->stages()[s];
    const Layout layout = model->layouts(800, 1344)[s];
    const Partition& windows = model->blocks()[s]->options().attention.partition;
    spared += 4 * stage.width * stage.width * depths[s] * (windows.count(layout) * windows.places() - layout.patches());
  }
  EXPECT_EQ(whole(800, 1344), 2 * (99093528576 - spared));
}

TEST(Swin, HasABiasTableOfItsWindowInEveryBlockThatStartsAsPublished) {
  const auto model = swin(small_swin(), {16, 16}, own_priors(false));
  std::int64_t tables = 0;
  for (const auto& parameter : model->named_parameters()) {
    const Tensor& value = parameter.value();
    if (parameter.key().starts_with("priors.")) {
      ++tables;
      EXPECT_TRUE(parameter.key().ends_with(".table"));
      EXPECT_EQ(value.size(0), 49);
      EXPECT_EQ(model->decay(parameter.key(), value), Decay::kExempt);
      EXPECT_NEAR(value.std().item<double>(), 0.02, 0.005);
    } else if (parameter.key().starts_with("embed.")) {
      EXPECT_LE(value.abs().max().item<double>(), 1 / std::sqrt(kTestChannels * 4.0) + 1e-6);
      EXPECT_GT(value.abs().max().item<double>(), 0.1);
    } else if (parameter.key().ends_with(".bias")) {
      EXPECT_EQ(value.abs().max().item<double>(), 0) << parameter.key();
    } else if (value.dim() == 1) {
      EXPECT_TRUE(value.eq(1).all().item<bool>()) << parameter.key();
    } else {
      EXPECT_NEAR(value.std().item<double>(), 0.02, 0.005) << parameter.key();
    }
  }
  EXPECT_EQ(tables, 4);
}

TEST(Swin, OfTheSecondVersionStartsWithBlocksThatDoNothing) {
  const auto model = swin(small_swin({{"version", 2}}), {16, 16}, own_priors(true));
  for (const char* tap : {"block-0", "block-1", "block-2", "block-3"}) model->request_tap(tap);
  const Features features = model->forward(test_images(2, {16, 16}), test_context(false));
  EXPECT_TRUE(at::equal(features.taps.at("block-0"), features.taps.at("block-1")));
  EXPECT_TRUE(at::equal(features.taps.at("block-2"), features.taps.at("block-3")));
  const auto parameters = model->named_parameters();
  EXPECT_TRUE(parameters["stages.0.blocks.1.norm2.weight"].eq(0).all().item<bool>());
  EXPECT_TRUE(parameters["stages.1.entry.norm.weight"].eq(1).all().item<bool>());
  EXPECT_TRUE(parameters.contains("stages.0.blocks.0.attention.q_bias"));
  EXPECT_FALSE(parameters.contains("stages.0.blocks.0.attention.qkv.bias"));
}

TEST(Swin, DropsPathsAtRatesThatGrowOverAllBlocks) {
  const auto model = swin(small_swin({{"depths", {2, 3}}, {"drop_path", 0.2}}), {16, 16}, Json::array());
  for (std::size_t l = 0; l < 5; ++l)
    EXPECT_DOUBLE_EQ(model->blocks()[l]->options().drop_path, 0.2 * static_cast<double>(l) / 4);
}

TEST(Swin, TakesAPositionTableBehindTheNormOfItsStem) {
  const auto model = random_swin(small_swin(), {16, 16}, Json::array({{{"id", "learned-absolute"}}}));
  const Tensor image = test_images(1, {16, 16}).to(at::kDouble);
  const Tensor table = model->named_parameters()["priors.learned-absolute.table"];
  EXPECT_EQ(table.sizes(), (at::IntArrayRef{64, 8}));
  const at::NoGradGuard no_grad;
  for (const auto& parameter : model->named_parameters()) {
    if (parameter.key().find("blocks") != std::string::npos) Tensor(parameter.value()).zero_();
  }
  const Tensor with = model->forward(image, test_context(false)).stages[0].tokens.clone();
  const Tensor added = table.clone();
  Tensor(table).zero_();
  EXPECT_LT(largest_difference(with - model->forward(image, test_context(false)).stages[0].tokens, added.unsqueeze(0)),
            1e-12);
}

Json violin(Json options) { return Json::array({own_priors(false)[0], {{"id", "violin"}, {"options", options}}}); }

// Rates of eight curves and one factor: 9 a head and block.
TEST(Violin, HasNineScalarsForEachHeadAndBlockOfSwin) {
  const auto scalars = [](const Json& options) {
    const std::vector<std::int64_t> depths = options.at("depths"), heads = options.at("heads");
    return 9 * std::inner_product(depths.begin(), depths.end(), heads.begin(), std::int64_t{0});
  };
  const Json options = small_swin();
  EXPECT_EQ(swin_parameters(*swin(options, {16, 16}, violin(Json::object()))) -
                swin_parameters(*swin(options, {16, 16}, own_priors(false))),
            scalars(options));
  EXPECT_EQ(scalars(preset("tiny")), 1242);
  EXPECT_EQ(scalars(preset("small")), 2538);
  EXPECT_EQ(scalars(preset("base")), 3384);
}

// In the shifted block the first token has a window of four corners, each a region of its own. A factor below 0 would
// show it the others if it took part in hiding them.
TEST(Violin, NeverScalesWhatHidesOppositeBorders) {
  for (const char* order : {"before", "after"}) {
    const Json options = small_swin(
        {{"dims", Json::array({8})}, {"depths", Json::array({2})}, {"heads", Json::array({2})}, {"window", 2}});
    const auto model = random_swin(options, {8, 8}, violin({{"bias_order", order}}));
    const at::NoGradGuard no_grad;
    for (const auto& parameter : model->named_parameters()) {
      if (parameter.key().ends_with(".alpha")) Tensor(parameter.value()).fill_(-2);
    }
    Tensor image = test_images(1, {8, 8}).to(at::kDouble);
    const Tensor before = model->forward(image, test_context(false)).stages[0].tokens[0].clone();
    image.slice(2, 6).slice(3, 6).mul_(3);  // the last patch, at the opposite corner
    const Tensor moved = (model->forward(image, test_context(false)).stages[0].tokens[0] - before).abs().amax(1);
    EXPECT_LT(moved[0].item<double>(), 1e-12) << order;
    EXPECT_GT(moved[15].item<double>(), 1e-3) << order;
  }
}

// Rotated by places in the window, so that windows of equal content are equal wherever they lie.
TEST(RotaryPositions, CountFromTheCornerOfEachWindowOfSwin) {
  const Json options = small_swin(
      {{"dims", Json::array({16})}, {"depths", Json::array({1})}, {"heads", Json::array({2})}, {"window", 2}});
  const Json rotary = Json::array({{{"id", "rope-axial"}, {"options", {{"theta", 50.0}}}}});
  const auto model = random_swin(options, {8, 12}, rotary);
  const Tensor tile = test_images(1, {4, 4}).to(at::kDouble);
  const Features features = model->forward(tile.repeat({1, 1, 2, 3}), test_context(false));
  const Tensor grid = features.tokens.view({2, 2, 3, 2, 16});  // windows by rows, places by rows, ...
  EXPECT_LT(largest_difference(grid.select(0, 0).select(1, 0), grid.select(0, 1).select(1, 2)), 1e-12);
  const auto bare = random_swin(options, {8, 12}, Json::array());
  EXPECT_GT(largest_difference(features.tokens, bare->forward(tile.repeat({1, 1, 2, 3}), test_context(false)).tokens),
            1e-4);
}

std::string refusal(const Json& options, std::vector<std::int64_t> extent, const Json& priors = Json::array()) {
  try {
    swin(options, std::move(extent), priors);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Swin, RefusesWhatThePublishedCodeDoes) {
  EXPECT_THAT(refusal(small_swin(), {24, 24}), HasSubstr("windows of 4 x 4 do not tile the grid of 6 x 6 in stage 1"));
  EXPECT_THAT(refusal(small_swin(), {20, 16}), HasSubstr("windows of 4 x 4 do not tile the grid of 10 x 8 in stage 0"));
  EXPECT_THAT(refusal(small_swin(), {15, 16}), HasSubstr("patch 2 must divide an image of 15 x 16 pixels"));
  for (const char* compat : {"timm", "detection"}) EXPECT_EQ(refusal(small_swin({{"compat", compat}}), {20, 16}), "");
  EXPECT_EQ(refusal(small_swin({{"compat", "detection"}}), {15, 17}), "");
  EXPECT_THAT(refusal(small_swin({{"heads", {2, 5}}}), {16, 16}), HasSubstr("stage 1"));
  EXPECT_THAT(refusal(small_swin({{"depths", Json::array({2})}}), {16, 16}),
              HasSubstr("depths has 1 entries and dims 2"));
}

TEST(Swin, RefusesPriorsThatItsWindowsHaveNoPlaceFor) {
  const auto alone = [](const char* id, Json options = Json::object()) {
    return Json::array({{{"id", id}, {"options", std::move(options)}}});
  };
  EXPECT_THAT(refusal(small_swin(), {16, 16}, alone("manhattan-decay", {{"form", "decomposed"}})),
              HasSubstr("windows"));
  EXPECT_THAT(refusal(small_swin(), {16, 16}, alone("gpsa")), HasSubstr("masked"));
  EXPECT_EQ(refusal(small_swin({{"depths", {1, 1}}}), {16, 16}, alone("gpsa")), "") << "nothing is shifted";
}

}  // namespace
}  // namespace locus::engine
