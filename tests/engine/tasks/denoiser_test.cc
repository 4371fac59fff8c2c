// The denoising network: the counts of the published ones, its embeddings and final layer by definition, guidance.
#include "engine/tasks/denoiser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace locus::engine {
namespace {

using ::testing::HasSubstr;

const RandomStreams kDenoiserRandom(11);

Json denoiser_configuration(const Json& options, const Json& more = Json::array()) {
  Json priors = {{{"id", "sincos-2d"}}};
  for (const Json& prior : more) priors.push_back(prior);
  return {{"model", {{"id", "dit"}, {"options", options}}}, {"priors", priors}};
}

const Json kSmall = {{"dim", 16}, {"depth", 1}, {"heads", 2}, {"patch", 2}};
const InputFacts kLatent{4, {6, 8}};

Denoiser small(const DenoiserOptions& options = {.classes = 5}) {
  return Denoiser(denoiser_configuration(kSmall), kLatent, options, RandomStreams(0));
}

// With every parameter drawn anew, so that nothing is 0.
void scatter(Denoiser& model) {
  const at::NoGradGuard no_grad;
  for (const auto& entry : model.named_parameters())
    entry.value().copy_(kDenoiserRandom.normal("test", entry.key(), 0, entry.value().sizes(), 0, 0.3));
}

ForwardContext denoiser_context(bool training, std::int64_t step = 0) {
  return {.step = step, .steps = 10, .training = training, .random = kDenoiserRandom};
}

Denoiser::Given given(std::int64_t batch, at::ScalarType type = at::kFloat) {
  return {.image = kDenoiserRandom.normal("test", "images", 0, {batch, 4, 6, 8}).to(type),
          .time = at::arange(batch) * 137 + 500,
          .label = at::arange(batch).remainder(5)};
}

struct Published {
  std::string size;
  std::int64_t parameters, multiply_adds, with_decay;  // the frozen table of positions counted in
};
void PrintTo(const Published& one, std::ostream* out) { *out << one.size; }

class PublishedSizes : public testing::TestWithParam<Published> {};

// 256 x 256 images: latents of 4 x 32 x 32, 1000 classes (Peebles and Xie 2023, table 1 and code). A block stands for all.
std::pair<std::int64_t, std::int64_t> counted(const Json& preset, const Json& priors) {
  Json options = preset;
  const auto depth = options.at("depth").get<std::int64_t>();
  options["depth"] = 1;
  const Denoiser model(denoiser_configuration(options, priors), {4, {32, 32}}, {}, RandomStreams(0));
  std::int64_t block = 0, rest = 256 * model.backbone().width();
  for (const auto& entry : model.named_parameters()) {
    const bool repeated =
        entry.key().find(".blocks.0.") != std::string::npos || entry.key().find(".layers.0.") != std::string::npos;
    (repeated ? block : rest) += entry.value().numel();
  }
  const std::int64_t of_block = model.backbone().blocks()[0]->flops(model.backbone().layouts(32, 32)[0]);
  return {rest + depth * block, (model.flops(32, 32) + (depth - 1) * of_block) / 2};
}

TEST_P(PublishedSizes, HaveThePublishedParametersAndOperations) {
  const Json& preset = backbone_item("dit").item.json().at("presets").at(GetParam().size);
  const auto [parameters, operations] = counted(preset, Json::array());
  EXPECT_EQ(parameters, GetParam().parameters);
  EXPECT_EQ(operations, GetParam().multiply_adds);
  const Json decay = {{"id", "spatial-decay"}, {"options", {{"rope", "axial"}, {"lepe", "5x5"}, {"init", "xavier"}}}};
  const auto width = preset.at("dim").get<std::int64_t>(), heads = preset.at("heads").get<std::int64_t>();
  // The gate of each head, both maps of U of rank D / H, and a 5 x 5 kernel with its bias a channel.
  const std::int64_t added = heads * width + 2 * width * (width / heads) + 26 * width;
  EXPECT_EQ(parameters + preset.at("depth").get<std::int64_t>() * added, GetParam().with_decay);
  if (GetParam().size != "small") return;
  EXPECT_EQ(counted(preset, Json::array({decay})).first, GetParam().with_decay);
}

INSTANTIATE_TEST_SUITE_P(Denoiser, PublishedSizes,
                         testing::Values(Published{"small", 32963360, 6055673856, 33700640},
                                         Published{"base", 130512416, 23005102080, 132042272},
                                         Published{"large", 458102816, 80697622528, 462280736},
                                         Published{"xlarge", 675129632, 118621421568, 681129248}),
                         [](const auto& one) { return one.param.size; });

TEST(Denoiser, SaysNothingAtFirstAndLearnsItsLastMapFirst) {
  Denoiser model = small();
  const Tensor out = model.forward(given(3), denoiser_context(true));
  EXPECT_EQ(out.sizes(), at::IntArrayRef({3, 8, 6, 8}));
  EXPECT_EQ(out.abs().max().item<double>(), 0);
  (out - 1).square().mean().backward();
  for (const auto& entry : model.named_parameters()) {
    const bool moves = entry.value().grad().defined() && entry.value().grad().abs().max().item<double>() > 0;
    EXPECT_EQ(moves, entry.key().starts_with("final.map.")) << entry.key();
  }
}

TEST(Denoiser, EmbedsTimeInCosinesThenSinesOf128Frequencies) {
  const Tensor waves = TimeEmbedding::waves(at::tensor({500.0, 0.0, 1.0}, at::kDouble));
  ASSERT_EQ(waves.sizes(), at::IntArrayRef({3, 256}));
  EXPECT_EQ(waves.scalar_type(), at::kFloat);
  EXPECT_NEAR(waves[0][0].item<double>(), -0.8838493, 1e-6);
  EXPECT_NEAR(waves[0][128].item<double>(), -0.4677718, 1e-6);
  EXPECT_NEAR(std::acos(waves[2][1].item<double>()), 0.9305720, 1e-6) << "the second frequency";
  EXPECT_EQ(waves[1].slice(0, 0, 128).min().item<double>(), 1);
  EXPECT_EQ(waves[1].slice(0, 128).abs().max().item<double>(), 0);
}

TEST(Denoiser, ComputesItsDefinition) {
  Denoiser model = small();
  model.to(at::kDouble);
  scatter(model);
  const auto p = model.named_parameters();
  const auto linear = [&](const Tensor& x, const std::string& name) {
    return at::matmul(x, p[name + ".weight"].t()) + p[name + ".bias"];
  };
  const auto silu = [](const Tensor& x) { return x / (1 + (-x).exp()); };
  const Denoiser::Given in = given(2, at::kDouble);
  const Tensor time = linear(silu(linear(TimeEmbedding::waves(in.time).to(at::kDouble), "time.in")), "time.out");
  const Tensor condition = time + at::stack({p["label.table"][0], p["label.table"][1]});
  EXPECT_LT((model.condition(in, denoiser_context(false)) - condition).abs().max().item<double>(), 1e-12);
  const Tensor tokens = model.features(in, condition, denoiser_context(false)).tokens;
  const Tensor two = linear(silu(condition), "final.modulation").unsqueeze(1);
  const Tensor centered = tokens - tokens.mean(-1, true);
  const Tensor normed = centered / (centered.square().mean(-1, true) + 1e-6).sqrt();
  const Tensor numbers = linear(normed * (1 + two.slice(-1, 16)) + two.slice(-1, 0, 16), "final.map");
  const Tensor out = model.forward(in, denoiser_context(false));
  for (const auto& [row, column, channel] : {std::tuple{0, 0, 0}, std::tuple{3, 5, 2}, std::tuple{5, 6, 7}}) {
    const int token = row / 2 * 4 + column / 2, within = (row % 2 * 2 + column % 2) * 8 + channel;
    EXPECT_LT((out.select(3, column).select(2, row).select(1, channel) - numbers.select(2, within).select(1, token))
                  .abs()
                  .max()
                  .item<double>(),
              1e-12)
        << row << " " << column << " " << channel;
  }
}

TEST(Denoiser, DropsLabelsWhileItTrainsByDrawsOfTheirPlaceInTheBatch) {
  LabelEmbedding labels(3, 4, 0.5);
  labels.initialize(Initializer(kDenoiserRandom, "label."));
  const Tensor table = labels.named_parameters()["table"], asked = at::zeros({64}, at::kLong);
  ASSERT_EQ(table.size(0), 4);
  const auto dropped = [&](const Tensor& rows) { return rows.eq(table[3]).all(-1); };
  const Tensor drawn = dropped(labels.forward(asked, denoiser_context(true)));
  EXPECT_GT(drawn.sum().item<int>(), 16);
  EXPECT_LT(drawn.sum().item<int>(), 48);
  EXPECT_FALSE(at::equal(drawn, dropped(labels.forward(asked, denoiser_context(true, 1))))) << "another step";
  ForwardContext later = denoiser_context(true);
  later.first_sample = 40;
  EXPECT_TRUE(at::equal(dropped(labels.forward(asked.slice(0, 40), later)), drawn.slice(0, 40)));
  EXPECT_FALSE(dropped(labels.forward(asked, denoiser_context(false))).any().item<bool>());
  EXPECT_TRUE(at::equal(dropped(labels.forward(asked, denoiser_context(false), drawn)), drawn)) << "as it is told";
}

TEST(Denoiser, HasNoNullClassWhereNoLabelIsDropped) {
  Denoiser model = small({.classes = 5, .label_drop = 0});
  EXPECT_EQ(model.named_parameters()["label.table"].size(0), 5);
  EXPECT_NO_THROW(model.forward(given(2), denoiser_context(true)));
  EXPECT_THROW(model.guided(given(2), 2, 3, denoiser_context(false)), std::invalid_argument);
}

TEST(Denoiser, GuidesTheFirstChannelsAwayFromWhatItSaysWithoutLabels) {
  Denoiser model = small();
  model.to(at::kDouble);
  scatter(model);
  const at::NoGradGuard no_grad;
  const Denoiser::Given in = given(2, at::kDouble);
  Denoiser::Given unlabeled = in;
  unlabeled.dropped = at::ones({2}, at::kBool);
  const Tensor with = model.forward(in, denoiser_context(false)),
               without = model.forward(unlabeled, denoiser_context(false));
  ASSERT_GT((with - without).abs().max().item<double>(), 1e-3);
  for (const std::int64_t channels : {3, 4}) {
    const Tensor guided = model.guided(in, 1.5, channels, denoiser_context(false));
    const Tensor wanted = without + 1.5 * (with - without);
    EXPECT_LT((guided - wanted).slice(1, 0, channels).abs().max().item<double>(), 1e-12);
    EXPECT_LT((guided - with).slice(1, channels).abs().max().item<double>(), 1e-12);
  }
  EXPECT_TRUE(at::equal(model.guided(in, 1, 3, denoiser_context(false)), with));
  EXPECT_THROW(model.guided(in, 2, 5, denoiser_context(false)), std::invalid_argument) << "variance is not guided";
}

TEST(Denoiser, NeedsABackboneThatFollowsACondition) {
  try {
    const Json vit = {{"model", {{"id", "vit"}, {"options", kSmall}}}, {"priors", Json::array()}};
    const Denoiser model(vit, kLatent, {}, RandomStreams(0));
    FAIL() << "it was built";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("backbone vit follows no condition"));
  }
}

}  // namespace
}  // namespace locus::engine
