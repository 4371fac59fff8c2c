// The loader with repeated samples and drawn sizes: what it serves does not depend on threads or on where it begins.
#include <gtest/gtest.h>

#include "engine/data/loader.h"
#include "tests/engine/data/sources.h"

namespace locus::engine {
namespace {

// Cuts the corner of `side` pixels out and shifts it by a draw.
class Corner final : public Transform {
 public:
  explicit Corner(std::int64_t side) : side_(side) {}
  Sample apply(Sample sample, const SampleDraws& draws) const override {
    Tensor& image = sample.at(kImage);
    image = image.slice(1, 0, side_).slice(2, 0, side_).to(at::kFloat) + draws.unit("shift");
    return sample;
  }
  std::int64_t bytes(std::int64_t bytes) const override { return 5 * bytes; }

 private:
  std::int64_t side_;
};

TrainingSet set_of(bool drawn_sizes) {
  const auto source = std::make_shared<Streamed>(resident_source(drawn_samples(40, 1, 8, 8)));
  TrainingSet out{.source = source, .dataset = "d", .batch = 6};
  out.sampler = std::make_shared<RepeatedOrder>(std::make_shared<TrainingOrder>("d", 40, 0, RandomStreams(2)), 3);
  out.preparation.transforms = {std::make_shared<Corner>(4)};
  out.rule.keep_last = true;
  if (drawn_sizes) {
    out.rule.sizes = {2, 4, 8};
    out.rule.size = 4;
    for (const std::int64_t side : out.rule.sizes) out.by_size.push_back({std::make_shared<Corner>(side)});
  }
  return out;
}

std::vector<Batch> served(TrainingLoader& loader, int batches) {
  std::vector<Batch> out;
  for (int i = 0; i < batches; ++i) out.push_back(loader.next());
  return out;
}

void expect_equal(const std::vector<Batch>& a, const std::vector<Batch>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(at::equal(a[i].at(kImage), b[i].at(kImage))) << i;
    EXPECT_TRUE(at::equal(a[i].at(kLabel), b[i].at(kLabel))) << i;
  }
}

class Visits : public ::testing::TestWithParam<bool> {};

TEST_P(Visits, ServeTheSameBitsForEveryNumberOfThreadsAndAfterASeek) {
  constexpr int kBatches = 18;
  TrainingLoader one(set_of(GetParam()), RandomStreams(2), at::kCPU, {1, 1 << 20});
  const std::vector<Batch> expected = served(one, kBatches);
  EXPECT_GE(one.position().epoch, 1);
  TrainingLoader many(set_of(GetParam()), RandomStreams(2), at::kCPU, {5, 1 << 20});
  expect_equal(served(many, kBatches), expected);
  for (const int stop : {2, 5, 9}) {
    TrainingLoader early(set_of(GetParam()), RandomStreams(2), at::kCPU, {2, 1 << 20});
    served(early, stop);
    TrainingLoader late(set_of(GetParam()), RandomStreams(2), at::kCPU, {3, 1 << 20});
    late.seek(early.position());
    EXPECT_EQ(late.images_before(), early.images_before());
    expect_equal(served(late, kBatches - stop), {expected.begin() + stop, expected.end()});
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Visits, ::testing::Bool(), [](const auto& drawn) {
  return drawn.param ? std::string("Drawn") : std::string("OfOneSize");
});

TEST(Visits, OfOneRowDrawNumbersOfTheirOwn) {
  TrainingLoader loader(set_of(false), RandomStreams(2), at::kCPU);
  const Batch batch = loader.next();
  const RandomStreams random(2);
  for (std::int64_t i = 0; i < 6; ++i) {
    const auto row = batch.at(kLabel)[i].item<std::int64_t>();
    EXPECT_EQ(row, batch.at(kLabel)[i / 3 * 3].item<std::int64_t>()) << "copies stand side by side";
    const double shift = StreamDraws(random, 0, row * 3 + i % 3).unit("shift", 0);
    const Tensor pixels = drawn_samples(40, 1, 8, 8).at(kImage)[row].slice(1, 0, 4).slice(2, 0, 4);
    EXPECT_TRUE(at::equal(batch.at(kImage)[i], pixels.to(at::kFloat) + shift));
  }
}

TEST(DrawnSizes, GiveEveryBatchOneSizeAndItsNumberOfImages) {
  TrainingLoader loader(set_of(true), RandomStreams(2), at::kCPU);
  std::set<std::int64_t> seen;
  std::int64_t images = 0;
  const std::int64_t batches = loader.batches_in(0);
  for (std::int64_t i = 0; i < batches; ++i) {
    const Tensor image = loader.next().at(kImage);
    const std::int64_t side = image.size(2), wanted = 6 * 16 / (side * side);
    seen.insert(side);
    images += image.size(0);
    if (i + 1 < batches) {
      EXPECT_EQ(image.size(0), std::max<std::int64_t>(1, wanted));
    }
    EXPECT_EQ(loader.images_before(), images);
  }
  EXPECT_EQ(images, 40);
  EXPECT_EQ(loader.steps(1), batches);
  for (const std::int64_t epoch : {1, 2, 3, 4}) {  // one alone may draw the same again
    for (std::int64_t i = 0, more = loader.batches_in(epoch); i < more; ++i)
      seen.insert(loader.next().at(kImage).size(2));
  }
  EXPECT_EQ(seen, (std::set<std::int64_t>{2, 4, 8}));
}

TEST(DrawnSizes, NeedTransformsForEach) {
  TrainingSet set = set_of(true);
  set.by_size.pop_back();
  EXPECT_THROW(TrainingLoader(std::move(set), RandomStreams(2), at::kCPU), std::invalid_argument);
}

TEST(KeptBatch, IsServedFromMemoryAndStreamedAlike) {
  const auto source = resident_source(drawn_samples(10, 1, 2, 2));
  const auto set = [&](std::shared_ptr<const Source> from) {
    return TrainingSet{.source = std::move(from), .dataset = "d", .batch = 4, .rule = {.keep_last = true}};
  };
  TrainingLoader resident(set(source), RandomStreams(1), at::kCPU);
  TrainingLoader streamed(set(std::make_shared<Streamed>(source)), RandomStreams(1), at::kCPU);
  const auto expected = served(resident, 7);
  expect_equal(served(streamed, 7), expected);
  EXPECT_EQ(expected[2].at(kLabel).size(0), 2);
  EXPECT_EQ(resident.images_before(), 24);
}

}  // namespace
}  // namespace locus::engine
