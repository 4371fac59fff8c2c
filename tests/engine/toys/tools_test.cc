// What looks at models from outside takes a network of several stages: operations, measurements, the probe, pictures.
#include <gtest/gtest.h>

#include <set>

#include "engine/measure/flops.h"
#include "engine/measure/measurement.h"
#include "engine/probe/picture.h"
#include "engine/probe/probe.h"
#include "engine/probe/trained.h"
#include "tests/engine/support/models.h"
#include "tests/engine/support/reference.h"
#include "tests/engine/toys/toys.h"

namespace locus::engine {
namespace {

const Json kToolsFacts = {{"channels", test::kTestChannels}, {"extent", {12, 12}}, {"classes", 3}};

Json configuration(const char* prior, const Json& options = Json::object()) {
  toys::add_toys();
  return {{"seed", 0},
          {"task", {{"id", "classification"}}},
          {"model", {{"id", "two-stage"}, {"options", options}}},
          {"priors", {{{"id", prior}}}}};
}

std::int64_t dispatched(Backbone& model, const Tensor& image) {
  const at::NoGradGuard no_grad;
  const FlopCounter counter;
  model.forward(image, test::test_context(false));
  return counter.total();
}

TEST(TwoStages, CountTheOperationsTheyDispatch) {
  const auto model = make_backbone(configuration("none"), {test::kTestChannels, {12, 12}}, RandomStreams(0));
  EXPECT_EQ(dispatched(*model, test::test_images(1, {12, 12})), model->flops(12, 12));
  // Where windows reach beyond the grid each layer projects one token of zeros more.
  EXPECT_EQ(dispatched(*model, test::test_images(1, {10, 8})), model->flops(10, 8) + 2 * 2 * 16 * 48);
}

TEST(TwoStages, AreMeasured) {
  const MeasuredModel model{configuration("relative-bias"), kToolsFacts};
  const MeasureSettings quick{.rounds = 1, .warmup = 0, .round_ms = 0, .training = true};
  const Measured found = measure_models({model}, {.batch = 2, .resolution = 12}, quick, Execution{}, at::kCPU,
                                        [](std::int64_t, std::int64_t) { return true; })
                             ->front();
  EXPECT_EQ(found.parameters_added, 2 * 25 * 4 + 2 * 25 * 4) << "3 x 3 windows, then a grid of 3 x 3";
  EXPECT_EQ(found.flops_counted, found.flops);
}

ProbeRequest request(ProbeLevel level, std::int64_t layer) {
  Json specification = configuration("relative-bias");
  specification["channels"] = test::kTestChannels;
  specification["model"]["options"] = {{"patch", 2}};
  return {
      .host = {.specification = specification, .grid = {5, 4}, .prefix = 0, .layers = 4, .path = "explicit", .seed = 1},
      .level = level,
      .layer = layer};
}

NamedTensors tensors_for(Probe& probe, const char* input, at::IntArrayRef shape) {
  NamedTensors given = probe.initial();
  given[input] = RandomStreams(4).normal("test", "x", 0, shape).to(at::kDouble);
  return given;
}

TEST(TwoStages, AreProbedByLayer) {
  Probe windows(request(ProbeLevel::kAttention, 1)), grid(request(ProbeLevel::kAttention, 2));
  const NamedTensors initial = windows.initial();
  EXPECT_TRUE(initial.contains("priors.relative-bias.stages.0.layers.1.table"));
  EXPECT_FALSE(initial.contains("priors.relative-bias.stages.0.layers.0.table"));
  EXPECT_FALSE(initial.contains("priors.relative-bias.stages.1.layers.2.table"));
  const NamedTensors first = windows.run(tensors_for(windows, "x", {2, 20, 16})),
                     second = grid.run(tensors_for(grid, "x", {2, 6, 32}));
  EXPECT_EQ(first.at("probabilities").sizes(), (at::IntArrayRef{2 * 4, 4, 9, 9})) << "four windows an image";
  EXPECT_LT(first.at("probabilities")[3].min().item<double>(), 1e-30) << "the last one hides pairs";
  EXPECT_EQ(second.at("probabilities").sizes(), (at::IntArrayRef{2, 4, 6, 6}));
}

TEST(TwoStages, AreProbedAsBlocksAndWholeWithGradients) {
  for (const ProbeLevel level : {ProbeLevel::kBlock, ProbeLevel::kModel}) {
    Probe probe(request(level, 1));
    const bool model = level == ProbeLevel::kModel;
    NamedTensors given =
        model ? tensors_for(probe, "image", {1, test::kTestChannels, 10, 8}) : tensors_for(probe, "x", {1, 20, 16});
    given["cotangent"] = at::ones(model ? at::IntArrayRef{1, 6, 32} : at::IntArrayRef{1, 20, 16}, at::kDouble);
    given["cotangent"].flatten()[0] = 3;  // the sum of a norm's output has no gradient
    const NamedTensors out = probe.run(given);
    const std::string table =
        "grad." + std::string(model ? "backbone." : "") + "priors.relative-bias.stages.0.layers.1.table";
    EXPECT_GT(out.at(table).abs().max().item<double>(), 0);
  }
}

TEST(TwoStages, AreRefusedByTheProbeWhereTheRequestSaysOtherLayers) {
  ProbeRequest wrong = request(ProbeLevel::kModel, 0);
  wrong.host.layers = 3;
  EXPECT_THROW(Probe{wrong}, std::invalid_argument);
}

const Json& view(const Json& views, const std::string& id) {
  for (const Json& one : views) {
    if (one.at("id") == id) return one;
  }
  throw std::out_of_range(id);
}

TEST(TwoStages, ArePicturedOnTheGridOrTheWindowOfTheLayersStage) {
  const Host host(configuration("relative-bias"), kToolsFacts);
  const Json windows = picture_of(host, 1, 0), grid = picture_of(host, 2, 0);
  EXPECT_EQ(windows.at("stage"), 0);
  EXPECT_EQ(windows.at("window"), (Json{3, 3}));
  EXPECT_EQ(windows.at("grid"), (Json{3, 3}));
  EXPECT_EQ(grid.at("stage"), 1);
  EXPECT_FALSE(grid.contains("window"));
  EXPECT_EQ(windows.at("setting").get<std::string>().find("4 layers of 4 heads, 4 channels each, layer 1"), 0U);
  for (const Json& document : {windows, grid}) {
    for (const char* id : {"bias", "attention"}) {
      const Json& values = view(document.at("views"), id).at("values");
      ASSERT_EQ(values.size(), 4U) << id;
      EXPECT_EQ(values[0].size(), 9U) << id;
    }
  }
  EXPECT_NE(view(windows.at("views"), "bias"), view(grid.at("views"), "bias")) << "each stage has its own table";
  EXPECT_THROW(picture_of(host, 4, 0), std::invalid_argument);
}

TEST(TwoStages, ShowWhatTheyAddToTheStemWhereItsGridIsShown) {
  const auto ids = [](const Json& picture) {
    std::set<std::string> out;
    for (const Json& one : picture.at("views")) out.insert(one.at("id").get<std::string>());
    return out;
  };
  const Host undivided(configuration("learned-absolute", {{"window", Json::array()}}), kToolsFacts);
  EXPECT_TRUE(ids(picture_of(undivided, 0, 0)).contains("likeness"));
  EXPECT_FALSE(ids(picture_of(Host(configuration("learned-absolute"), kToolsFacts), 0, 0)).contains("likeness"));
}

TEST(TwoStages, AreLookedAtByStageAfterTraining) {
  Json of = configuration("relative-bias");
  of["dataset"] = {{"id", "fashion-mnist"}};  // 28 x 28: grids of 14 x 14 and 7 x 7
  const Json windows = trained_prior({of, {}, {}, {}, 0}, {}), grid = trained_prior({of, {}, {}, {}, 1}, {});
  EXPECT_EQ(windows.at("grid"), (Json{3, 3}));
  EXPECT_EQ(windows.at("window"), (Json{3, 3}));
  EXPECT_EQ(grid.at("grid"), (Json{7, 7}));
  const auto layers = [](const Json& document) {
    std::vector<std::int64_t> out;
    for (const Json& layer : document.at("layers")) out.push_back(layer.at("layer"));
    return out;
  };
  EXPECT_EQ(layers(windows), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(layers(grid), (std::vector<std::int64_t>{2, 3}));
  EXPECT_THROW(trained_prior({of, {}, {0}, {}, 1}, {}), std::invalid_argument) << "a layer of another stage";
  EXPECT_THROW(trained_prior({of, {}, {}, {}, 2}, {}), std::invalid_argument);
}

TEST(TwoStages, ShowTheAttentionOfAnImagesFirstWindow) {
  Json of = configuration("relative-bias");
  of["dataset"] = {{"id", "fashion-mnist"}};
  ChosenImages images;
  images.images = RandomStreams(2).normal("test", "images", 0, {2, 1, 28, 28});
  for (int i = 0; i < 2; ++i) images.described.push_back({{"image", i}});
  const Json document = trained_attention({of, {}, {1}, {4}, 0}, images);
  const Json& shown = document.at("layers")[0].at("images");
  ASSERT_EQ(shown.size(), 2U);
  double sum = 0;
  for (const Json& value : shown[1].at("with").at("queries")[0][0]) sum += value.get<double>();
  EXPECT_EQ(shown[1].at("with").at("queries")[0][0].size(), 9U);
  EXPECT_NEAR(sum, 1, 0.01);
  EXPECT_NE(shown[0], shown[1]);
  EXPECT_THROW(trained_attention({of, {}, {1}, {9}, 0}, images), std::invalid_argument) << "a window has nine places";
}

}  // namespace
}  // namespace locus::engine
