// Classification: its loss, its scores, its export.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/tasks/task.h"

namespace locus::engine {
namespace {

const Json kFacts = {{"channels", 1}, {"extent", {8, 8}}, {"classes", 3}};

Json configuration(Json priors, Json task_options = Json::object()) {
  return {{"task", {{"id", "classification"}, {"options", std::move(task_options)}}},
          {"model", {{"id", "vit"}, {"options", {{"dim", 8}, {"depth", 1}, {"heads", 2}, {"patch", 4}}}}},
          {"priors", std::move(priors)}};
}
std::shared_ptr<Task> make(const Json& document, std::uint64_t seed = 3, std::int64_t classes = 3) {
  const RandomStreams random(seed);
  Json facts = kFacts;
  facts["classes"] = classes;
  return make_task({document, facts, random});
}
Batch batch_of(std::int64_t count) {
  return {{"image", RandomStreams(1).normal("test", "image", 0, {count, 1, 8, 8})},
          {"label", at::arange(count).remainder(3)}};
}
const RandomStreams kRandom(3);
ForwardContext context(bool training) { return {0, 10, training, kRandom}; }

TEST(Classification, LossOfAnIndifferentHeadIsTheLogarithmOfTheClasses) {
  for (const double smoothing : {0.0, 0.3}) {
    const auto task = make(configuration({{{"id", "none"}}}, {{"label_smoothing", smoothing}}));
    const at::NoGradGuard no_gradient;
    task->named_parameters()["head.weight"].zero_();
    EXPECT_NEAR(task->train_step(batch_of(6), context(true)).loss.item<double>(), std::log(3.0), 1e-6);
  }
}

TEST(Classification, SaysTheSameOfBytesAndOfWhatTheyStandFor) {
  const auto task = make(configuration({{{"id", "violin"}}}));
  ASSERT_TRUE(task->takes_bytes());
  const Tensor values = RandomStreams(2).normal("test", "values", 0, {1, 256});
  Batch bytes = batch_of(5);
  bytes["image"] = (bytes["image"].abs() * 60).clamp(0, 255).to(at::kByte);
  bytes[kByteValues] = values;
  Batch floats = bytes;
  floats["image"] = values.flatten().take(bytes["image"].to(at::kLong));
  floats.erase(kByteValues);
  const at::NoGradGuard no_gradient;
  EXPECT_TRUE(at::equal(task->predict(bytes, context(false)), task->predict(floats, context(false))));
}

TEST(Classification, SmoothingRaisesTheLossOfACertainHead) {
  const auto loss = [](double smoothing) {
    const auto task = make(configuration({{{"id", "none"}}}, {{"label_smoothing", smoothing}}));
    const at::NoGradGuard no_gradient;
    task->named_parameters()["head.weight"].zero_();
    task->named_parameters()["head.bias"].copy_(at::tensor({2.0f, 0.0f, 0.0f}));
    Batch batch = batch_of(4);
    batch["label"].zero_();
    return task->train_step(batch, context(true)).loss.item<double>();
  };
  const double log_sum = std::log(std::exp(2.0) + 2);
  EXPECT_NEAR(loss(0), log_sum - 2, 1e-6);
  EXPECT_NEAR(loss(0.3), log_sum - 2 * (0.7 + 0.1), 1e-6);
}

TEST(Classification, StartsUniformOverTheClassesWhereAskedTo) {
  const auto task = make(configuration({{{"id", "none"}}}, {{"head_init", "uniform"}}));
  const at::NoGradGuard no_gradient;
  const Tensor logits = task->predict(batch_of(4), context(false));
  EXPECT_LT((logits + std::log(3.0)).abs().max().item<double>(), 1e-6);
  EXPECT_THROW(make(configuration({{{"id", "none"}}}, {{"head_init", "uniform"}, {"head_std", 0.1}})),
               std::invalid_argument);
}

TEST(Classification, OfTwoHeadsSaysTheMean) {
  Json both = configuration({{{"id", "none"}}}, {{"distilled_head", true}}), one = configuration({{{"id", "none"}}});
  for (Json* document : {&both, &one}) (*document)["model"]["options"].update({{"pool", "cls"}, {"registers", 1}});
  const auto task = make(both), plain = make(one);
  const at::NoGradGuard no_gradient;
  const Batch batch = batch_of(4);
  const auto p = task->named_parameters();
  const Tensor head = plain->predict(batch, context(false));
  p["head_distilled.weight"].zero_();
  p["head_distilled.bias"].fill_(4);
  EXPECT_LT((task->predict(batch, context(false)) - (head + 4) / 2).abs().max().item<double>(), 1e-6);
  p["head.weight"].zero_();
  p["head_distilled.bias"].zero_();
  p["head_distilled.weight"].copy_(RandomStreams(2).normal("test", "weight", 0, {3, 8}));
  Tensor seen = task->predict(batch, context(false));
  p["backbone.registers"].slice(1, 0, 4).add_(1);
  EXPECT_GT((task->predict(batch, context(false)) - seen).abs().max().item<double>(), 1e-4) << "it reads the register";
  EXPECT_EQ(task->flops(8, 8) - plain->flops(8, 8), 2 * 3 * 8);
  try {
    make(configuration({{{"id", "none"}}}, {{"distilled_head", true}}));
    FAIL() << "not refused";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("model: {pool: cls, registers: 1}"));
  }
}

TEST(Classification, ScoresCountEveryImageOnceWhateverTheBatches) {
  const auto task = make(configuration({{{"id", "learned-absolute"}}}));
  const Batch all = batch_of(10);
  const at::NoGradGuard no_gradient;
  const auto whole = task->accumulator(), parts = task->accumulator();
  task->evaluate(all, context(false), *whole);
  for (const auto& [first, end] : {std::pair{0, 3}, {3, 4}, {4, 10}}) {
    task->evaluate({{"image", all.at("image").slice(0, first, end)}, {"label", all.at("label").slice(0, first, end)}},
                   context(false), *parts);
  }
  EXPECT_DOUBLE_EQ(whole->scores().at(0).value, parts->scores().at(0).value);
  EXPECT_NEAR(whole->scores().at(1).value, parts->scores().at(1).value, 1e-6);
  EXPECT_EQ(whole->scores().at(0).metric, "top1");
}

TEST(Classification, TopOneIsAPercentage) {
  const auto task = make(configuration({{{"id", "none"}}}));
  const at::NoGradGuard no_gradient;
  task->named_parameters()["head.weight"].zero_();
  task->named_parameters()["head.bias"].copy_(at::tensor({0.0f, 1.0f, 0.0f}));
  const auto accumulator = task->accumulator();
  task->evaluate(batch_of(8), context(false), *accumulator);  // labels 0 1 2 0 1 2 0 1
  EXPECT_DOUBLE_EQ(accumulator->scores().at(0).value, 100.0 * 3 / 8);
}

// Where a batch brings targets, its labels count for nothing.
TEST(Classification, LearnsFromTargetsWhereABatchHasThem) {
  for (const char* loss : {"cross-entropy", "binary-cross-entropy"}) {
    const auto task = make(configuration({{{"id", "none"}}}, {{"loss", loss}}));
    EXPECT_EQ(task->classes(), 3);
    const Batch labels = batch_of(6);
    Batch targets = labels;
    targets["target"] = at::zeros({6, 3}).scatter(1, labels.at("label").unsqueeze(1), 1.0);
    const double expected = task->train_step(labels, context(true)).loss.item<double>();
    targets["label"] = at::zeros_like(labels.at("label"));
    EXPECT_NEAR(task->train_step(targets, context(true)).loss.item<double>(), expected, 1e-6) << loss;
    targets["target"] = at::full({6, 3}, 1.0 / 3);
    EXPECT_GT(std::abs(task->train_step(targets, context(true)).loss.item<double>() - expected), 1e-4) << loss;
  }
}

TEST(Classification, RefusesToSmoothTargetsThatBecomeOnes) {
  const Json options = {{"loss", "binary-cross-entropy"}, {"label_smoothing", 0.1}};
  EXPECT_THROW(make(configuration({{{"id", "none"}}}, options)), std::invalid_argument);
}

TEST(Classification, ScoresTheBestFiveOfManyClasses) {
  const auto names = [](Task& task) {
    const at::NoGradGuard no_gradient;
    const auto accumulator = task.accumulator();
    task.evaluate(batch_of(6), context(false), *accumulator);
    std::map<std::string, double> out;
    for (const Score& score : accumulator->scores()) out[score.metric] = score.value;
    return out;
  };
  EXPECT_FALSE(names(*make(configuration({{{"id", "none"}}}))).contains("top5")) << "of three classes";
  const auto task = make(configuration({{{"id", "none"}}}), 3, 20);
  const at::NoGradGuard no_gradient;
  task->named_parameters()["head.weight"].zero_();
  Tensor bias = at::zeros({20});
  bias.slice(0, 8, 12).fill_(2);  // four classes before label 0, which is the first of the rest; 1 and 2 are behind
  task->named_parameters()["head.bias"].copy_(bias);
  const auto found = names(*task);  // labels 0 1 2 0 1 2
  EXPECT_DOUBLE_EQ(found.at("top5"), 100.0 / 3);
  EXPECT_DOUBLE_EQ(found.at("top1"), 0);
}

TEST(Classification, AddsThePriorsLossAndLogsItApart) {
  const auto task = make(configuration({{{"id", "guidance"}}}));
  const StepLosses losses = task->train_step(batch_of(6), context(true));
  ASSERT_GE(losses.fields.size(), 2u);
  EXPECT_EQ(losses.fields[0].first, "loss");
  EXPECT_EQ(losses.fields[1].first, "guidance");
  EXPECT_GT(losses.loss.item<double>(), losses.fields[0].second.item<double>());
  std::int64_t dropped = 0;
  for (const auto& item : task->named_parameters())
    dropped += task->training_only(item.key()) ? item.value().numel() : 0;
  EXPECT_EQ(dropped, 2 * (256 * 8 + 256 + 256 + 1));
}

TEST(Classification, EqualSeedsShareEveryCommonWeightWhateverThePriors) {
  const auto plain = make(configuration({{{"id", "none"}}}));
  const auto with_prior = make(configuration({{{"id", "learned-absolute"}}, {{"id", "violin"}}}));
  const auto more = with_prior->named_parameters();
  for (const auto& item : plain->named_parameters()) {
    ASSERT_TRUE(more.contains(item.key())) << item.key();
    EXPECT_TRUE(at::equal(item.value(), more[item.key()])) << item.key();
  }
  const auto other = make(configuration({{{"id", "none"}}}), 4);
  EXPECT_FALSE(at::equal(plain->named_parameters()["head.weight"], other->named_parameters()["head.weight"]));
}

TEST(Classification, DecaysMatricesAndSparesTheRest) {
  const auto task = make(configuration({{{"id", "learned-absolute"}}}));
  for (const auto& item : task->named_parameters()) {
    if (item.key() == "head.weight") {
      EXPECT_EQ(task->decay(item.key(), item.value()), Decay::kDecayed);
    }
    if (item.value().dim() == 1) {
      EXPECT_EQ(task->decay(item.key(), item.value()), Decay::kExempt) << item.key();
    }
  }
}

}  // namespace
}  // namespace locus::engine
