// Parameters and operations of the published sizes, statistics of batches, what weight decay pulls on, refusals.
#include "tests/engine/backbones/rmt_models.h"
#include "tests/engine/support/reference.h"

namespace locus::engine {
namespace {

using test::largest_difference;
using test::priors_of_sdt;
using test::priors_of_size;
using test::random_rmt;
using test::rmt;
using test::rmt_entry;
using test::small_rmt;
using test::test_context;
using test::test_images;

constexpr std::int64_t kRmtClasses = 1000, kRmtSide = 224;

// A published size, of which one block of each stage is built: the others are like it.
class PublishedRmt {
 public:
  PublishedRmt(const std::string& size, const Json& priors) {
    Json options = rmt_entry().at("presets").at(size);
    depths_ = options.at("depths").get<std::vector<std::int64_t>>();
    options["depths"] = {1, 1, 1, 1};
    model_ = rmt(options, {kRmtSide, kRmtSide}, priors, 3);
  }

  std::int64_t parameters() const {
    std::int64_t sum = (model_->pooled_width() + 1) * kRmtClasses;
    for (const auto& entry : model_->named_parameters()) sum += times(entry.key()) * entry.value().numel();
    return sum;
  }
  // Multiply-adds, with those of priors' convolutions, which the network's own count leaves out, and of the head.
  std::int64_t multiply_adds() const {
    const std::vector<Layout> layouts = model_->layouts(kRmtSide, kRmtSide);
    std::int64_t sum = model_->flops(kRmtSide, kRmtSide) / 2 + model_->pooled_width() * kRmtClasses;
    for (std::size_t s = 0; s < 4; ++s) sum += (depths_[s] - 1) * model_->blocks()[s]->flops(layouts[s]) / 2;
    for (const auto& entry : model_->named_parameters()) {
      if (!entry.key().starts_with("priors.") || !entry.key().ends_with("convolution.weight")) continue;
      sum += times(entry.key()) * entry.value().numel() * layouts[stage_of(entry.key())].patches();
    }
    return sum;
  }

 private:
  static std::size_t stage_of(const std::string& name) {
    return static_cast<std::size_t>(name.at(name.find("stages.") + 7) - '0');
  }
  // How many tensors of the network the one of that name stands for.
  std::int64_t times(const std::string& name) const {
    const bool of_block = name.find(".blocks.") != std::string::npos || name.find(".layers.") != std::string::npos;
    return of_block ? depths_[stage_of(name)] : 1;
  }

  std::vector<std::int64_t> depths_;
  std::shared_ptr<Backbone> model_;
};

TEST(RmtSizes, HaveThePublishedParametersAndMultiplyAdds) {
  const struct {
    const char* size;
    std::int64_t parameters, multiply_adds;
  } rows[] = {{"tiny", 14334216, 2637220864},
              {"small", 26967240, 4776574976},
              {"base", 54154896, 10373118208},
              {"large", 95464864, 19487964928}};
  for (const auto& [size, parameters, multiply_adds] : rows) {
    const PublishedRmt network(size, priors_of_size(size));
    EXPECT_EQ(network.parameters(), parameters) << size;
    EXPECT_EQ(network.multiply_adds(), multiply_adds) << size;
  }
  EXPECT_EQ(PublishedRmt("small", priors_of_size("tiny")).multiply_adds(), 5080039424) << "two stages along lines";
}

TEST(RmtSizes, OfSdtHaveThoseOfThePaperByTheRankOfTheGate) {
  const struct {
    const char* size;
    std::int64_t parameters[3];  // rank of the head width, 16, 32
  } rows[] = {{"tiny", {14587144, 14480648, 14591240}},
              {"small", {27507400, 27278024, 27513544}},
              {"base", {55182736, 54754704, 55192976}}};
  for (const auto& [size, parameters] : rows) {
    for (std::size_t i = 0; i < 3; ++i) {
      Json priors = priors_of_sdt();
      priors[1]["options"]["gate_rank"] = std::array{0, 16, 32}[i];
      EXPECT_EQ(PublishedRmt(size, priors).parameters(), parameters[i]) << size << " " << i;
    }
  }
}

TEST(RmtSizes, TakeImagesOfAnySize) {
  const auto model = rmt(small_rmt(), {32, 32}, priors_of_size("tiny"));
  EXPECT_EQ(model->layouts(1, 1), (std::vector<Layout>(4, Layout{{1, 1}, 0})));
  EXPECT_EQ(model->layouts(37, 23), (std::vector<Layout>{{{10, 6}, 0}, {{5, 3}, 0}, {{3, 2}, 0}, {{2, 1}, 0}}));
  for (const bool training : {false, true}) {
    const Features features = model->forward(test_images(2, {1, 1}), test_context(training));
    EXPECT_TRUE(model->pooled(features).isfinite().all().item<bool>());
  }
}

// r <- 0.9 r + 0.1 s, s with the unbiased variance; a forward that does not train leaves them.
TEST(RmtStatistics, MoveTowardThoseOfTheBatchWhileTraining) {
  const auto model = random_rmt(small_rmt(), {16, 16}, priors_of_size("tiny"));
  const test::RmtTensors before = test::copies(*model);
  const Tensor image = test_images(3, {16, 16}).to(at::kDouble);
  const at::NoGradGuard no_grad;
  const auto moved = [&](const char* name) {
    return largest_difference(model->named_buffers()[name], before.at(name)) > 0;
  };
  model->pooled(model->forward(image, test_context(false)));
  EXPECT_FALSE(moved("stem.0.norm.running_mean") || moved("pool.norm.running_var"));
  model->pooled(model->forward(image, test_context(true)));
  for (const char* name : {"stem.3.norm.running_var", "stages.2.entry.norm.running_mean", "pool.norm.running_var"})
    EXPECT_TRUE(moved(name)) << name;
  const Tensor first = at::conv2d(image, before.at("stem.0.conv.weight"), before.at("stem.0.conv.bias"), 2, 1);
  const Tensor mean = first.mean({0, 2, 3});
  const auto count = static_cast<double>(first.numel() / first.size(1));
  const Tensor variance = (first - mean.view({-1, 1, 1})).square().sum({0, 2, 3}) / (count - 1);
  const auto found = [&](const std::string& name) { return model->named_buffers()["stem.0.norm." + name]; };
  const auto was = [&](const std::string& name) { return before.at("stem.0.norm." + name); };
  EXPECT_LT(largest_difference(found("running_mean"), 0.9 * was("running_mean") + 0.1 * mean), 1e-12);
  EXPECT_LT(largest_difference(found("running_var"), 0.9 * was("running_var") + 0.1 * variance), 1e-12);
}

TEST(RmtDecay, PullsOnTheFactorsOfChannelsUnlessItIsToldOtherwise) {
  const auto decays = [](const Json& more, const std::string& name) {
    Json options = small_rmt({{"layer_scale", {0.0, 1e-6, 0.0, 0.0}}});
    options.update(more);
    const auto model = rmt(options, {16, 16}, priors_of_size("tiny"));
    return model->decay(name, model->named_parameters()[name]) == Decay::kDecayed;
  };
  for (const char* scale : {"stages.1.blocks.0.scale1", "stages.1.blocks.1.scale2"}) {
    EXPECT_TRUE(decays(Json::object(), scale));
    EXPECT_FALSE(decays({{"layer_scale_decay", false}}, scale));
  }
  EXPECT_TRUE(decays(Json::object(), "stem.0.conv.weight"));
  for (const char* exempt : {"stem.0.conv.bias", "stem.0.norm.weight", "stages.0.blocks.0.norm1.weight"})
    EXPECT_FALSE(decays(Json::object(), exempt)) << exempt;
}

TEST(RmtStart, IsThatOfThePublishedCode) {
  const auto model = rmt(small_rmt({{"dims", {64, 64, 64, 64}}, {"layer_scale", {0.0, 0.0, 0.5, 1e-6}}}), {16, 16},
                         priors_of_size("tiny"));
  const auto p = model->named_parameters();
  for (const char* name : {"stages.0.blocks.0.attention.qkv.weight", "pool.map.weight"})
    EXPECT_NEAR(p[name].std().item<double>(), 0.02, 0.003) << name;
  for (const char* name : {"stages.0.blocks.0.attention.qkv.bias", "stages.3.blocks.0.mlp.out.bias", "pool.map.bias"})
    EXPECT_EQ(p[name].abs().max().item<double>(), 0) << name;
  const double bound = 1 / std::sqrt(9.0 * 64);  // one over the root of the fan-in
  for (const char* name : {"stages.1.entry.conv.weight", "stages.1.entry.conv.bias"}) {
    EXPECT_LE(p[name].abs().max().item<double>(), bound) << name;
    EXPECT_GT(p[name].abs().max().item<double>(), 0.9 * bound) << name;
  }
  EXPECT_FALSE(p.contains("stages.1.blocks.0.scale1"));
  EXPECT_EQ(p["stages.2.blocks.0.scale1"].min().item<double>(), 0.5);
  EXPECT_FLOAT_EQ(p["stages.3.blocks.0.scale2"].max().item<float>(), 1e-6F);
}

TEST(RmtBlocks, AreSkippedMoreOftenTheLaterTheyStand) {
  const auto model = rmt(small_rmt({{"drop_path", 0.4}}), {16, 16}, Json::array());
  ASSERT_EQ(model->blocks().size(), 5U);
  for (std::size_t l = 0; l < 5; ++l)
    EXPECT_DOUBLE_EQ(model->blocks()[l]->options().drop_path, 0.1 * static_cast<double>(l));
}

TEST(RmtLists, OfDifferentLengthsAreRefused) {
  for (const char* list : {"depths", "heads", "hidden", "layer_scale"}) {
    try {
      rmt(small_rmt({{list, {2, 2}}}), {16, 16}, Json::array());
      FAIL() << list;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(list), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("one for each stage"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace locus::engine
