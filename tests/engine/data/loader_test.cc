// The order of training, subsets, normalization and resizing.
#include "engine/data/loader.h"

#include <gtest/gtest.h>

namespace locus::engine {
namespace {

// `count` images of one pixel, each its own row number.
ImageSplit numbered(std::int64_t count) {
  return {at::arange(count, at::kByte).view({count, 1, 1, 1}), at::arange(count, at::kLong)};
}
const Normalization kPlain{{0.0}, {1.0 / 255}};  // pixel values come out as they are

TrainingLoader loader(std::uint64_t seed, std::int64_t batch, std::int64_t limit, std::int64_t count = 20) {
  return TrainingLoader(numbered(count), kPlain, "numbers", batch, limit, RandomStreams(seed), at::kCPU);
}
std::vector<std::int64_t> labels(TrainingLoader& loader, int batches) {
  std::vector<std::int64_t> out;
  for (int i = 0; i < batches; ++i) {
    const Tensor rows = loader.next().at("label");
    out.insert(out.end(), rows.data_ptr<std::int64_t>(), rows.data_ptr<std::int64_t>() + rows.numel());
  }
  return out;
}

TEST(TrainingLoader, ShowsEveryImageOnceAnEpochAndShufflesAgain) {
  auto data = loader(1, 5, 0);
  auto first = labels(data, 4), second = labels(data, 4);
  EXPECT_NE(first, second);
  EXPECT_EQ(data.position().epoch, 1);
  for (auto* epoch : {&first, &second}) {
    std::sort(epoch->begin(), epoch->end());
    for (std::int64_t i = 0; i < 20; ++i) EXPECT_EQ((*epoch)[static_cast<std::size_t>(i)], i);
  }
}

TEST(TrainingLoader, OrderDependsOnTheSeedAlone) {
  auto a = loader(1, 5, 0), b = loader(1, 5, 0), c = loader(2, 5, 0);
  const auto order = labels(a, 8);
  EXPECT_EQ(order, labels(b, 8));
  EXPECT_NE(order, labels(c, 8));
}

TEST(TrainingLoader, SeekingGoesOnExactlyWhereAnotherStopped) {
  auto whole = loader(1, 3, 0), early = loader(1, 3, 0), late = loader(1, 3, 0);
  const auto expected = labels(whole, 16);
  auto joined = labels(early, 9);
  late.seek(early.position());
  const auto rest = labels(late, 7);
  joined.insert(joined.end(), rest.begin(), rest.end());
  EXPECT_EQ(joined, expected);
  EXPECT_THROW(late.seek({0, 7}), std::invalid_argument);
}

TEST(TrainingLoader, LeavesOutTheIncompleteBatch) {
  auto data = loader(1, 6, 0);
  EXPECT_EQ(data.batches_per_epoch(), 3);
  labels(data, 3);
  EXPECT_EQ(data.position().epoch, 0);
  labels(data, 1);
  EXPECT_EQ(data.position().epoch, 1);
  EXPECT_EQ(loader(1, 64, 0).batch_size(), 20);  // a batch larger than the data is all of it
}

TEST(TrainingLoader, LimitKeepsTheSameImagesForEverySeed) {
  auto a = loader(1, 4, 8), b = loader(2, 4, 8);
  auto first = labels(a, 2), second = labels(b, 2);
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, second);
  EXPECT_NE(first, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));  // not simply the front of the file
  auto more = loader(1, 12, 12);
  auto larger = labels(more, 1);
  std::sort(larger.begin(), larger.end());
  EXPECT_TRUE(std::includes(larger.begin(), larger.end(), first.begin(), first.end()));  // a larger limit adds
}

TEST(TrainingLoader, ImageAndLabelStayTogether) {
  auto data = loader(3, 5, 0);
  const Batch batch = data.next();
  EXPECT_TRUE(at::allclose(batch.at("image").view({5}), batch.at("label").to(at::kFloat)));
}

TEST(EvaluationBatch, NormalizesByChannel) {
  ImageSplit split{at::full({2, 3, 1, 1}, 51, at::kByte), at::zeros({2}, at::kLong)};
  const Normalization normalization{{0.1, 0.2, 0.3}, {0.1, 0.2, 0.5}};
  const Tensor image = evaluation_batch(split, normalization, 0, 2, 0, "bilinear", at::kCPU).at("image");
  EXPECT_TRUE(at::allclose(image[1].view({3}), at::tensor({1.0f, 0.0f, -0.2f}), 1e-5, 1e-6));
}

TEST(EvaluationBatch, ResizesByHalfPixelCenters) {
  ImageSplit split{at::tensor({0, 100}, at::kByte).view({1, 1, 1, 2}).repeat({1, 1, 2, 1}), at::zeros({1}, at::kLong)};
  const auto row = [&](std::string_view interpolation) {
    return evaluation_batch(split, kPlain, 0, 1, 4, interpolation, at::kCPU).at("image")[0][0][1];
  };
  EXPECT_TRUE(at::allclose(row("bilinear"), at::tensor({0.0f, 25.0f, 75.0f, 100.0f}), 1e-5, 1e-4));
  // Keys' kernel with a = -0.75, borders clamped: -0.75 (d^3 - 5 d^2 + 8 d - 4) at d = 1.25 is -0.10546875.
  EXPECT_TRUE(at::allclose(row("bicubic"), at::tensor({-10.546875f, 22.65625f, 77.34375f, 110.546875f}), 1e-5, 1e-3));
  EXPECT_THROW(row("nearest"), std::invalid_argument);
}

TEST(EvaluationBatch, NativeResolutionIsTheFileItself) {
  const Batch batch = evaluation_batch(numbered(9), kPlain, 3, 9, 1, "bilinear", at::kCPU);
  EXPECT_TRUE(at::allclose(batch.at("image").view({6}), at::arange(3, 9).to(at::kFloat)));
  EXPECT_EQ(batch.at("label")[0].item<std::int64_t>(), 3);
}

}  // namespace
}  // namespace locus::engine
