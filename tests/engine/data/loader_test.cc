// The order of training, subsets and parts, from memory and streamed.
#include "engine/data/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "tests/engine/data/sources.h"

namespace locus::engine {
namespace {

// `count` images of one pixel, each its own row number.
std::shared_ptr<const Source> numbered(std::int64_t count) {
  return resident_source(
      {{kImage, at::arange(count, at::kByte).view({count, 1, 1, 1})}, {kLabel, at::arange(count, at::kLong)}});
}
const Normalization kPlain{{0.0}, {1.0 / 255}};  // pixel values come out as they are

TrainingLoader loader(std::shared_ptr<const Source> source, std::uint64_t seed, std::int64_t batch, std::int64_t limit,
                      Transforms transforms = {}, const Decoding& decoding = {}) {
  return TrainingLoader({.source = std::move(source),
                         .preparation = {.normalization = kPlain, .transforms = std::move(transforms)},
                         .dataset = "numbers",
                         .batch = batch,
                         .limit = limit},
                        RandomStreams(seed), at::kCPU, decoding);
}
std::vector<std::int64_t> labels(TrainingLoader& loader, int batches) {
  std::vector<std::int64_t> out;
  for (int i = 0; i < batches; ++i) {
    const Tensor rows = loader.next().at(kLabel);
    out.insert(out.end(), rows.data_ptr<std::int64_t>(), rows.data_ptr<std::int64_t>() + rows.numel());
  }
  return out;
}

class Order : public ::testing::TestWithParam<bool> {
 protected:
  static TrainingLoader loader(std::uint64_t seed, std::int64_t batch, std::int64_t limit) {
    const auto source = numbered(20);
    return engine::loader(GetParam() ? std::make_shared<Streamed>(source) : source, seed, batch, limit);
  }
};

TEST_P(Order, ShowsEveryImageOnceAnEpochAndShufflesAgain) {
  auto data = loader(1, 5, 0);
  auto first = labels(data, 4), second = labels(data, 4);
  EXPECT_NE(first, second);
  EXPECT_EQ(data.position().epoch, 1);
  for (auto* epoch : {&first, &second}) {
    std::sort(epoch->begin(), epoch->end());
    for (std::int64_t i = 0; i < 20; ++i) EXPECT_EQ((*epoch)[static_cast<std::size_t>(i)], i);
  }
}

TEST_P(Order, IsThatOfTheWholeWhereBatchesAreDivided) {
  auto whole = loader(1, 6, 0);
  std::vector<TrainingLoader> parts;
  for (std::int64_t part = 0; part < 3; ++part) {
    parts.push_back(loader(1, 6, 0));
    parts.back().take_part(part, 3);
  }
  for (int step = 0; step < 7; ++step) {
    const Batch batch = whole.next();
    for (std::int64_t part = 0; part < 3; ++part) {
      TrainingLoader& own = parts[static_cast<std::size_t>(part)];
      const Batch found = own.next();
      EXPECT_EQ(own.first_sample(), 2 * part);
      for (const auto& [name, tensor] : batch)
        EXPECT_TRUE(found.at(name).equal(tensor.slice(0, 2 * part, 2 * part + 2))) << name << " at step " << step;
      EXPECT_EQ(own.position().batch, whole.position().batch);
      EXPECT_EQ(own.images_before(), whole.images_before());
    }
  }
  EXPECT_EQ(whole.undivided(3), "");
  EXPECT_THAT(whole.undivided(4), testing::HasSubstr("a batch of 6 samples cannot be divided among 4 devices evenly"));
  EXPECT_THROW(whole.take_part(3, 3), std::invalid_argument);
}

TEST_P(Order, DependsOnTheSeedAlone) {
  auto a = loader(1, 5, 0), b = loader(1, 5, 0), c = loader(2, 5, 0);
  const auto order = labels(a, 8);
  EXPECT_EQ(order, labels(b, 8));
  EXPECT_NE(order, labels(c, 8));
}

TEST_P(Order, GoesOnAfterASeekExactlyWhereAnotherStopped) {
  auto whole = loader(1, 3, 0), early = loader(1, 3, 0), late = loader(1, 3, 0);
  const auto expected = labels(whole, 16);
  for (const int stop : {9, 6, 1}) {  // within an epoch, between two, and back
    early.seek({0, 0});
    auto joined = labels(early, stop);
    late.seek(early.position());
    const auto rest = labels(late, 16 - stop);
    joined.insert(joined.end(), rest.begin(), rest.end());
    EXPECT_EQ(joined, expected) << stop;
  }
  EXPECT_THROW(late.seek({0, 7}), std::invalid_argument);
  EXPECT_THROW(late.seek({-1, 0}), std::invalid_argument);
}

TEST_P(Order, LeavesOutTheIncompleteBatch) {
  auto data = loader(1, 6, 0);
  EXPECT_EQ(data.batches_per_epoch(), 3);
  labels(data, 3);
  EXPECT_EQ(data.position().epoch, 0);
  labels(data, 1);
  EXPECT_EQ(data.position().epoch, 1);
  EXPECT_EQ(loader(1, 64, 0).batch_size(), 20);  // a batch larger than the data is all of it
}

TEST_P(Order, KeepsTheSameImagesForEverySeedUnderALimit) {
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

TEST_P(Order, KeepsImageAndLabelTogether) {
  auto data = loader(3, 5, 0);
  const Batch batch = data.next();
  EXPECT_TRUE(at::allclose(batch.at(kImage).view({5}), batch.at(kLabel).to(at::kFloat)));
}

INSTANTIATE_TEST_SUITE_P(Source, Order, ::testing::Bool(), [](const auto& streamed) {
  return streamed.param ? std::string("Streamed") : std::string("Resident");
});

bool same_bits(const Batch& a, const Batch& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    return one.first == other.first && one.second.scalar_type() == other.second.scalar_type() &&
           at::equal(one.second, other.second);
  });
}

// What bytes stand for, looked up.
Tensor looked_up(const Batch& batch) {
  const Tensor &bytes = batch.at(kImage), &values = batch.at(kByteValues);
  const Tensor channel = at::arange(bytes.size(1)).remainder(values.size(0)).view({1, -1, 1, 1});
  return values.flatten().take(bytes.to(at::kLong) + channel * 256);
}

TEST(TrainingLoader, LeavesBytesBesideWhatTheyStandForToTheBit) {
  const auto source = resident_source(drawn_samples(23, 3, 5, 7));
  for (const Normalization& normalization :
       {Normalization{{0.49, 0.48, 0.44}, {0.247, 0.243, 0.262}}, Normalization{}}) {
    const TrainingSet set{source, {.normalization = normalization}, "d", 4, 21};
    TrainingLoader floats(set, RandomStreams(9), at::kCPU), bytes(set, RandomStreams(9), at::kCPU);
    bytes.leave_bytes();
    for (int i = 0; i < 7; ++i) {
      const Batch expected = floats.next(), found = bytes.next();
      EXPECT_EQ(found.at(kImage).scalar_type(), at::kByte);
      EXPECT_TRUE(at::equal(looked_up(found), expected.at(kImage)));
      EXPECT_TRUE(at::equal(found.at(kLabel), expected.at(kLabel)));
    }
  }
}

TEST(EvaluationLoader, LeavesBytesThatNeedNoResizing) {
  const auto source = resident_source(drawn_samples(9, 1, 4, 6));
  const Normalization normalization{{0.3}, {0.4}};
  const auto first = [&](Extent extent, bool bytes) {
    EvaluationSet set{source, normalization, {.extent = extent}};
    set.bytes = bytes;
    return *EvaluationLoader(set, 0, 9, 9, at::kCPU).next();
  };
  for (const Extent& own : {Extent{0, 0}, Extent{4, 6}})
    EXPECT_TRUE(at::equal(looked_up(first(own, true)), first(own, false).at(kImage)));
  EXPECT_FALSE(first({8, 12}, true).contains(kByteValues));
}

TEST(TrainingLoader, GivesTheBitsOfSamplesInMemoryForAStreamOfThem) {
  const auto source = resident_source(drawn_samples(23, 3, 5, 7));
  const Normalization normalization{{0.49, 0.48, 0.44}, {0.247, 0.243, 0.262}};
  const auto set = [&](std::shared_ptr<const Source> from) {
    return TrainingSet{std::move(from), {.normalization = normalization}, "d", 4, 21};
  };
  TrainingLoader resident(set(source), RandomStreams(9), at::kCPU);
  EXPECT_EQ(resident.waited_seconds(), 0);
  for (const int threads : {1, 2, 7}) {
    const auto scrambled = std::make_shared<Scrambled>(source, threads);
    TrainingLoader streamed(set(scrambled), RandomStreams(9), at::kCPU, {threads, 1 << 20});
    resident.seek({0, 0});
    for (int i = 0; i < 12; ++i) EXPECT_TRUE(same_bits(resident.next(), streamed.next())) << threads << " " << i;
    EXPECT_EQ(streamed.position().epoch, 2);
    scrambled->open();
  }
}

// The same images, crops included, for other batch sizes, subsets and threads, and after a resumption.
TEST(TrainingLoader, DrawsForASampleAreItsOwnInEveryEpoch) {
  const auto source = numbered(20);
  const Transforms jitter{std::make_shared<Jittered>()};
  const auto shown = [&](std::int64_t batch, std::int64_t limit, int threads, SamplerPosition from) {
    TrainingLoader data = loader(source, 4, batch, limit, jitter, {threads, 1 << 20});
    data.seek(from);
    std::map<std::int64_t, float> out;
    while (data.position().epoch <= from.epoch && data.position().batch < data.batches_per_epoch()) {
      const Batch one = data.next();
      for (std::int64_t i = 0; i < batch; ++i)
        out[one.at(kLabel)[i].item<std::int64_t>()] = one.at(kImage)[i].item<float>();
    }
    return out;
  };
  const auto all = shown(5, 0, 1, {1, 0});
  ASSERT_EQ(all.size(), 20u);
  EXPECT_EQ(shown(4, 0, 7, {1, 0}), all);
  EXPECT_NE(shown(4, 0, 7, {2, 0}), all);
  for (const auto& part : {shown(2, 8, 2, {1, 0}), shown(5, 0, 2, {1, 2})}) {
    EXPECT_LT(part.size(), 20u);
    for (const auto& [row, value] : part) EXPECT_EQ(value, all.at(row)) << row;
  }
}

TEST(TrainingLoader, NormalizesEveryViewAndNothingElse) {
  const auto source = resident_source({{"image.global", at::full({4, 1, 2, 2}, 51, at::kByte)},
                                       {"image.local", at::full({4, 1, 1, 1}, 102, at::kByte)},
                                       {"mask", at::full({4, 2, 2}, 7, at::kByte)}});
  TrainingLoader data(
      {.source = source, .preparation = {.normalization = {{0.1}, {0.1}}}, .dataset = "views", .batch = 4, .limit = 0},
      RandomStreams(0), at::kCPU);
  const Batch batch = data.next();
  EXPECT_TRUE(at::allclose(batch.at("image.global"), at::full({4, 1, 2, 2}, 1.0f), 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(batch.at("image.local"), at::full({4, 1, 1, 1}, 3.0f), 1e-5, 1e-6));
  EXPECT_TRUE(at::equal(batch.at("mask"), at::full({4, 2, 2}, 7, at::kByte)));
}

TEST(TrainingLoader, CountsNoLongerAWaitThanItsCallsTook) {
  TrainingLoader data = loader(std::make_shared<Streamed>(numbered(20)), 1, 5, 0);
  const auto start = std::chrono::steady_clock::now();
  labels(data, 3);
  const double before = data.waited_seconds();
  EXPECT_GT(before, 0);
  data.seek({0, 1});
  EXPECT_EQ(data.waited_seconds(), before) << "a seek forgets no wait";
  labels(data, 2);
  EXPECT_GT(data.waited_seconds(), before);
  EXPECT_LE(data.waited_seconds(), std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

TEST(ScoredPart, IsTheSameForEveryModelAndLiesWithinALargerOne) {
  const auto whole = numbered(200);
  const auto rows = [&](std::int64_t images, bool streamed) {
    const auto part = scored_part(streamed ? std::make_shared<Streamed>(whole) : whole, "numbers", "test", images);
    std::vector<std::int64_t> out;
    for (std::int64_t i = 0; i < part->size(); ++i) out.push_back(part->read(i).at(kLabel).item<std::int64_t>());
    return out;
  };
  const auto small = rows(50, false), large = rows(100, false);
  EXPECT_TRUE(std::equal(small.begin(), small.end(), large.begin()));
  EXPECT_FALSE(std::is_sorted(small.begin(), small.end())) << "drawn, not the front of the file";
  EXPECT_EQ(rows(50, true), small);
  EXPECT_EQ(scored_part(whole, "numbers", "test", 200), whole);
  EXPECT_EQ(scored_part(whole, "numbers", "test", 0), whole);
}

TEST(EvaluationLoader, ServesARangeInOrderWithTheSameBitsFromMemoryAndStreamed) {
  const auto source = resident_source(drawn_samples(11, 3, 6, 10));
  const Normalization normalization{{0.49, 0.48, 0.44}, {0.247, 0.243, 0.262}};
  for (const EvaluationView& view :
       {EvaluationView{}, EvaluationView{{12, 20}, "bicubic"}, EvaluationView{{3, 5}, "bilinear"}}) {
    for (const int threads : {1, 2, 7}) {
      EvaluationLoader resident({source, normalization, view, {}, {}}, 2, 10, 3, at::kCPU);
      EvaluationLoader streamed({std::make_shared<Streamed>(source), normalization, view, {}, {threads, 1 << 20}}, 2,
                                10, 3, at::kCPU);
      for (const std::vector<std::int64_t>& rows : {std::vector<std::int64_t>{2, 3, 4}, {5, 6, 7}, {8, 9}}) {
        const auto one = resident.next(), other = streamed.next();
        ASSERT_TRUE(one && other);
        EXPECT_TRUE(at::equal(one->at(kLabel), at::tensor(rows, at::kLong)));
        EXPECT_TRUE(same_bits(*one, *other)) << threads;
        if (view.extent[0] > 0) {
          EXPECT_EQ(one->at(kImage).size(3), view.extent[1]);
        }
      }
      EXPECT_FALSE(resident.next());
      EXPECT_FALSE(streamed.next());
    }
  }
}

TEST(EvaluationLoader, RefusesAnUnknownInterpolation) {
  EvaluationLoader data({numbered(2), kPlain, {{4, 4}, "nearest"}, {}, {}}, 0, 2, 2, at::kCPU);
  EXPECT_THROW(data.next(), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine
