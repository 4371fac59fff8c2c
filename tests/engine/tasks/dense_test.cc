// Tasks of maps: on every host, by every decoder; how they look at images; what they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/decoders/decoder.h"
#include "engine/tasks/task.h"
#include "engine/tasks/views.h"
#include "tests/engine/support/maps.h"
#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

const Json kDenseFacts = {
    {"channels", 3}, {"extent", {32, 32}}, {"classes", 5}, {"class_names", {"a", "b", "c", "d", "e"}}};
const RandomStreams kDenseRandom(3);
ForwardContext dense_context(bool training) { return {0, 10, training, kDenseRandom}; }

Json configured(const std::string& task, const DecoderItem& decoder, Json prior = {{"id", "none"}}) {
  return {{"task", {{"id", task}}},
          {"decoder", test::small_decoder(decoder)},
          {"model", {{"id", "vit"}, {"options", {{"dim", 8}, {"depth", 4}, {"heads", 2}, {"patch", 8}}}}},
          {"priors", Json::array({std::move(prior)})}};
}

std::shared_ptr<Task> made(const Json& configuration, std::uint64_t seed = 3) {
  const RandomStreams random(seed);
  return make_task({configuration, kDenseFacts, random});
}

TEST(DenseTasks, LearnWithEveryDecoder) {
  for (const std::string& id : test::tasks_of_maps()) {
    for (const DecoderItem& decoder : decoder_items()) {
      SCOPED_TRACE(id + " " + decoder.id());
      const auto task = made(configured(id, decoder));
      const Batch batch = task->example_batch(2, {32, 32}, kDenseRandom);
      const StepLosses losses = task->train_step(batch, dense_context(true));
      EXPECT_EQ(losses.fields.at(0).first, "loss");
      losses.loss.backward();
      for (const auto& item : task->named_parameters()) {
        if (!item.value().grad().defined()) continue;
        EXPECT_TRUE(item.value().grad().isfinite().all().item<bool>()) << item.key();
      }
      EXPECT_GT(task->flops(32, 32), 0);
      const at::NoGradGuard no_gradient;
      const Tensor said = task->predict(batch, dense_context(false));
      EXPECT_EQ(said.sizes().slice(2), (at::IntArrayRef{32, 32}));
      const auto scores = task->accumulator();
      EXPECT_TRUE(scores->scores().empty());
      task->evaluate(batch, dense_context(false), *scores);
      std::set<std::string> known, found;
      for (const Json& metric : task_item(id).item.json().at("facts").at("metrics")) known.insert(metric.at("name"));
      for (const Score& score : scores->scores()) {
        EXPECT_TRUE(known.contains(score.metric)) << score.metric;
        found.insert(score.metric);
      }
      EXPECT_EQ(found, known);
    }
  }
}

TEST(DenseTasks, ExportNothingOfASecondHead) {
  const auto task = made(configured("segmentation", decoder_item("upernet")));
  std::int64_t dropped = 0;
  for (const auto& item : task->named_parameters()) {
    const bool second = item.key().starts_with("decoder.auxiliary_head.");
    EXPECT_EQ(task->training_only(item.key()), second) << item.key();
    dropped += second ? item.value().numel() : 0;
  }
  for (const auto& item : task->named_buffers())
    EXPECT_EQ(task->training_only(item.key()), item.key().starts_with("decoder.auxiliary_head.")) << item.key();
  EXPECT_EQ(dropped, 9 * 8 * 4 + 2 * 4 + 5 * 4 + 5);
}

// At other extents, whether patches divide them or not, and against targets of another extent than the image.
TEST(DenseTasks, ScoreImagesOfAnyExtentWhereTheTargetLies) {
  for (const std::string& id : test::tasks_of_maps()) {
    const auto task = made(configured(id, decoder_item("dpt"), {{"id", "learned-absolute"}}));
    const at::NoGradGuard no_gradient;
    const auto scores = task->accumulator();
    for (const auto& [image, target] :
         {std::pair<Extent, Extent>{{40, 24}, {40, 24}}, {{33, 50}, {70, 91}}, {{1, 1}, {1, 1}}}) {
      Batch batch = task->example_batch(1, target, kDenseRandom);
      batch[kImage] = RandomStreams(1).normal("test", "image", 0, {1, 3, image[0], image[1]});
      EXPECT_EQ(task->answer(batch, dense_context(false)).sizes(), (at::IntArrayRef{1, target[0], target[1]})) << id;
      EXPECT_NO_THROW(task->evaluate(batch, dense_context(false), *scores)) << id;
    }
    EXPECT_FALSE(scores->scores().empty());
  }
}

TEST(DenseTasks, OfOneScaleInOneWindowSayWhatTheWholeSays) {
  for (const std::string& id : test::tasks_of_maps()) {
    const auto task = made(configured(id, decoder_item("linear")));
    const at::NoGradGuard no_gradient;
    const Batch batch = task->example_batch(2, {32, 32}, kDenseRandom);
    const Tensor whole = task->answer(batch, dense_context(false));
    task->look({.scales = {1}, .mirrored = false, .window = 32, .stride = 16});
    EXPECT_LT(
        (task->answer(batch, dense_context(false)).to(at::kDouble) - whole.to(at::kDouble)).abs().max().item<double>(),
        1e-4);
    task->look({.scales = {0.5, 1.25}, .mirrored = true, .window = 16, .stride = 8});
    EXPECT_EQ(task->answer(batch, dense_context(false)).sizes(), whole.sizes());
  }
  const Json plain = {{"task", {{"id", "classification"}}},
                      {"model", {{"id", "vit"}, {"options", {{"dim", 8}, {"depth", 1}, {"heads", 2}, {"patch", 8}}}}},
                      {"priors", {{{"id", "none"}}}}};
  EXPECT_NO_THROW(made(plain)->look({}));
  EXPECT_THROW(made(plain)->look({.scales = {1}, .mirrored = true, .window = 0, .stride = 0}), std::invalid_argument);
}

// A mirrored image mirrored again: the mean over both does not change when the image is mirrored.
TEST(DenseTasks, LookAtImageAndMirrorAlike) {
  const auto task = made(configured("depth", decoder_item("linear"), {{"id", "learned-absolute"}}));
  task->look({.scales = {1}, .mirrored = true, .window = 0, .stride = 0});
  const at::NoGradGuard no_gradient;
  Batch batch = task->example_batch(1, {32, 32}, kDenseRandom);
  const Tensor said = task->answer(batch, dense_context(false));
  batch[kImage] = batch.at(kImage).flip({3});
  EXPECT_LT((task->answer(batch, dense_context(false)).flip({2}) - said).abs().max().item<double>(), 1e-5);
}

TEST(Views, WindowsEndWithTheAxis) {
  EXPECT_EQ(windows_along(61, 32, 21), (std::vector<WindowSpan>{{0, 32}, {21, 53}, {29, 61}}));
  EXPECT_EQ(windows_along(20, 32, 21), (std::vector<WindowSpan>{{0, 20}}));
  EXPECT_EQ(windows_along(32, 32, 21), (std::vector<WindowSpan>{{0, 32}}));
}

// What is neutral leaves every bit of the network as it is.
TEST(DenseTasks, GivePriorsWithoutEffectTheBitsOfNone) {
  const auto none = made(configured("segmentation", decoder_item("token-pyramid")));
  const auto other = made(configured("segmentation", decoder_item("token-pyramid"), {{"id", "learned-absolute"}}));
  const at::NoGradGuard no_gradient;
  for (const auto& item : other->named_parameters()) {
    if (item.key().starts_with("backbone.priors.")) item.value().zero_();
  }
  const Batch batch = none->example_batch(2, {32, 32}, kDenseRandom);
  EXPECT_TRUE(at::equal(none->predict(batch, dense_context(false)), other->predict(batch, dense_context(false))));
}

TEST(DenseTasks, BatchImagesAndTargetsAlone) {
  const auto task = made(configured("segmentation", decoder_item("linear")));
  const Sample sample = {
      {kImage, at::zeros({3, 4, 4})}, {kMask, at::zeros({4, 4}, at::kByte)}, {"boxes", at::zeros({2, 4})}};
  Sample other = sample;
  other["boxes"] = at::zeros({5, 4});
  const std::vector<Sample> both = {sample, other};
  const Batch batch = task->collate()(both);
  EXPECT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch.at(kMask).sizes(), (at::IntArrayRef{2, 4, 4}));
  other.erase(kMask);
  const std::vector<Sample> without = {other};
  try {
    task->collate()(without);
    FAIL() << "not refused";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'mask'"));
  }
}

}  // namespace
}  // namespace locus::engine
