// The protocol: parameters, peaks and times of models, one or several side by side.
#include "engine/measure/measurement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "engine/measure/hardware.h"
#include "engine/measure/peak_memory.h"
#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

const Json kFacts = {{"channels", 2}, {"classes", 10}, {"extent", {8, 8}}};
const MeasureSettings kQuick{.rounds = 2, .warmup = 0, .round_ms = 0, .training = true};
const auto kGoOn = [](std::int64_t, std::int64_t) { return true; };

MeasuredModel model_of(const std::vector<test::PriorSetting>& priors, const test::ModelShape& shape = {}) {
  Json configuration = test::stage_configuration(priors, shape);
  configuration["task"] = {{"id", "classification"}};
  return {configuration, kFacts};
}

Measured measured(const MeasuredModel& model, const MeasurePoint& point = {.batch = 2, .resolution = 8},
                  const MeasureSettings& settings = kQuick) {
  return measure_models({model}, point, settings, Execution{}, at::kCPU, kGoOn)->front();
}

TEST(Timing, QuantilesInterpolateAndTheSpreadIsOfTheQuartiles) {
  const Timing timing = timing_of({4, 1, 3, 2, 5});
  EXPECT_DOUBLE_EQ(timing.p50_ms, 3);
  EXPECT_DOUBLE_EQ(timing.p95_ms, 4.8);
  EXPECT_DOUBLE_EQ(timing.spread, 100 * (4.0 - 2.0) / 3);
  EXPECT_DOUBLE_EQ(timing_of({7}).p95_ms, 7);
  EXPECT_DOUBLE_EQ(timing_of({7}).spread, 0);
}

TEST(MemoryWatch, SeesTheMostThatLivedAtOnce) {
  constexpr std::int64_t kMega = 1 << 20;
  const Tensor before = at::zeros({kMega}, at::kByte);
  Tensor later;
  {
    MemoryWatch watch(at::kCPU);
    EXPECT_EQ(watch.peak(), 0);
    { const Tensor a = at::zeros({3 * kMega}, at::kByte), b = at::zeros({kMega}, at::kByte); }
    EXPECT_EQ(watch.peak(), 4 * kMega);
    later = at::zeros({kMega}, at::kByte);
    watch.reset();
    EXPECT_EQ(watch.peak(), kMega);
    EXPECT_THROW(MemoryWatch{at::kCPU}, std::logic_error);
  }
  later.reset();  // outlived its watch
  MemoryWatch again(at::kCPU);
  EXPECT_EQ(again.peak(), 0);
}

TEST(Measurement, OfNoPriorAddsNothingAndCountsWhatTheStructureSays) {
  const Measured plain = measured(model_of({{"none"}}));
  EXPECT_EQ(plain.parameters_added, 0);
  EXPECT_EQ(plain.flops_counted, plain.flops);
  EXPECT_GT(plain.flops, 0);
}

TEST(Measurement, PeaksHoldTheModelAndWhatTrainingKeeps) {
  const test::ModelShape wide{.dim = 128, .depth = 2};
  const Measured plain = measured(model_of({{"none"}}, wide));
  const std::int64_t weights = 4 * plain.parameters;
  EXPECT_GE(plain.forward_peak_bytes, 3 * weights) << "weights and two moments of the optimizer";
  EXPECT_LT(plain.forward_peak_bytes, 3 * weights + (4 << 20));
  EXPECT_GE(plain.peak_bytes, 4 * weights) << "and the gradients";
  EXPECT_LT(plain.peak_bytes, 4 * weights + (8 << 20));
  MeasureSettings forward = kQuick;
  forward.training = false;
  const Measured alone = measured(model_of({{"none"}}, wide), {.batch = 2, .resolution = 8}, forward);
  EXPECT_FALSE(alone.train);
  EXPECT_LT(alone.peak_bytes, 2 * weights);
  EXPECT_EQ(alone.peak_bytes, alone.forward_peak_bytes);
}

TEST(Measurement, BuildsTheModelForTheResolution) {
  const Measured small = measured(model_of({{"learned-absolute"}}), {.batch = 1, .resolution = 8}),
                 large = measured(model_of({{"learned-absolute"}}), {.batch = 1, .resolution = 16});
  EXPECT_EQ(small.parameters_added, 16 * 32);
  EXPECT_EQ(large.parameters_added, 64 * 32);
  EXPECT_GT(large.flops, 4 * small.flops);
  EXPECT_EQ(measured(model_of({{"none"}}), {.batch = 1, .resolution = 0}).point.resolution, 8);
  EXPECT_THROW(measured(model_of({{"none"}}), {.batch = 1, .resolution = 9}), std::invalid_argument);
}

TEST(Measurement, EndsBetweenRoundsWhenToldTo) {
  std::vector<std::int64_t> told;
  const auto stop_at_3 = [&](std::int64_t done, std::int64_t rounds) {
    EXPECT_EQ(rounds, 4);
    told.push_back(done);
    return done < 3;
  };
  EXPECT_FALSE(
      measure_models({model_of({{"none"}})}, {.batch = 1, .resolution = 8}, kQuick, Execution{}, at::kCPU, stop_at_3));
  EXPECT_EQ(told, (std::vector<std::int64_t>{0, 1, 2, 3}));
}

TEST(Measurement, OfSeveralModelsComesInTheirOrder) {
  const auto both = measure_models({model_of({{"none"}}), model_of({{"learned-absolute"}})},
                                   {.batch = 1, .resolution = 8}, kQuick, Execution{}, at::kCPU, kGoOn);
  EXPECT_EQ(both->at(0).parameters_added, 0);
  EXPECT_EQ(both->at(1).parameters_added, 16 * 32);
  for (const Measured& one : *both) {
    EXPECT_GT(one.forward.p50_ms, 0);
    EXPECT_GE(one.forward.p95_ms, one.forward.p50_ms);
    EXPECT_GT(one.train->p50_ms, 0);
  }
}

TEST(Measurement, BecomesResultsWithBatchAndResolution) {
  const Measured one = measured(model_of({{"none"}}));
  std::set<std::string> metrics;
  for (const StageResult& result : measured_results(one)) {
    EXPECT_EQ(result.key.labels, (Json{{"batch", 2}, {"resolution", 8}}));
    EXPECT_EQ(result.key.split, "");
    EXPECT_TRUE(std::isfinite(result.value)) << result.key.metric;
    EXPECT_TRUE(metrics.insert(result.key.metric).second) << result.key.metric;
  }
  EXPECT_THAT(metrics, ::testing::ElementsAre(
                           "flops", "flops_counted", "forward_ms_p50", "forward_ms_p95", "forward_peak_memory_bytes",
                           "forward_spread_percent", "images_per_second", "parameters", "parameters_added",
                           "peak_memory_bytes", "train_ms_p50", "train_ms_p95", "train_spread_percent"));
}

TEST(Hardware, NamesTheProcessorAndTheCoresAtHand) {
  const Json hardware = describe_hardware(at::kCPU);
  EXPECT_FALSE(hardware.at("processor").get<std::string>().empty());
  EXPECT_GE(hardware.at("cores").get<int>(), 1);
  EXPECT_GE(hardware.at("load").get<double>(), 0);
}

struct EveryPrior : testing::TestWithParam<test::PriorSetting> {};

TEST_P(EveryPrior, CanBeMeasured) {
  const test::ModelShape shape = test::fitting(GetParam(), {.pool = "cls"});
  const Measured one = measured(model_of({GetParam()}, shape));
  EXPECT_GT(one.parameters, 0);
  EXPECT_GT(one.forward.p50_ms, 0);
  EXPECT_GT(one.train->p50_ms, 0);
  EXPECT_GT(one.peak_bytes, one.forward_peak_bytes);
  EXPECT_GE(one.flops_counted, one.flops) << "priors add products, never take the host's away";
  EXPECT_FALSE(one.path.empty());
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryPrior, testing::ValuesIn(test::all_settings()),
                         [](const auto& test) { return test.param.name(); });

// Counts of the papers' models and code: DeiT at 224, patch 16, class token, 1000 classes.
MeasuredModel deit(std::int64_t dim, std::int64_t heads, const Json& prior, double mlp_ratio = 4) {
  return {
      {{"task", {{"id", "classification"}}},
       {"model",
        {{"id", "vit"},
         {"options",
          {{"dim", dim}, {"depth", 12}, {"heads", heads}, {"patch", 16}, {"pool", "cls"}, {"mlp_ratio", mlp_ratio}}}}},
       {"priors", {prior}}},
      {{"channels", 3}, {"classes", 1000}, {"extent", {224, 224}}}};
}

TEST(Parameters, OfDeitAreThePublishedOnes) {
  const Json table = {{"id", "learned-absolute"}, {"options", {{"rows", "with-class"}}}};
  EXPECT_EQ(count_parameters(deit(192, 3, table), 224), 5'717'416);
  EXPECT_EQ(count_parameters(deit(384, 6, table), 224), 22'050'664);
}

struct Published {
  std::string id;
  Json options;
  std::int64_t dim, heads, added;
};

void PrintTo(const Published& one, std::ostream* out) { *out << one.id << " " << one.options << " at " << one.dim; }

class PublishedCount : public testing::TestWithParam<Published> {};

TEST_P(PublishedCount, IsWhatThePriorAdds) {
  const auto& [id, options, dim, heads, added] = GetParam();
  constexpr double kNarrow = 1.0 / 64;  // no position parameter depends on the MLP, which takes long to draw
  const MeasuredModel model = deit(dim, heads, {{"id", id}, {"options", options}}, kNarrow);
  EXPECT_EQ(count_parameters(model, 224) - count_parameters(without_priors(model), 224), added);
}

INSTANTIATE_TEST_SUITE_P(
    Papers, PublishedCount,
    testing::Values(
        Published{"violin", Json::object(), 192, 3, 324}, Published{"violin", Json::object(), 384, 6, 648},
        Published{"violin", Json::object(), 768, 12, 1296}, Published{"relative-bias", Json::object(), 768, 12, 104976},
        Published{"irpe", Json::object(), 768, 12, 38400}, Published{"irpe", {{"on", "qkv"}}, 768, 12, 115200},
        Published{"irpe", {{"method", "quant"}}, 384, 6, 102912},
        Published{"rope-mixed", Json::object(), 768, 12, 9216}, Published{"pape", {{"m", 2}}, 768, 12, 442944},
        Published{"pape-ri", Json::object(), 768, 12, 110592},
        Published{"log-cpb", {{"mode", "timm-cr"}}, 384, 6, 1158},
        Published{"log-cpb", Json::object(), 768, 12, 7680 * 12}, Published{"guidance", Json::object(), 384, 6, 0}),
    [](const auto& test) {
      std::string name = test.param.id + std::to_string(test.param.dim) + test.param.options.dump();
      std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
      return name;
    });

}  // namespace
}  // namespace locus::engine
