// Batches made ahead by threads: their order and bits, the budget of bytes, failures, the end.
#include "engine/data/batch_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/data/sources.h"

namespace locus::engine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Rows 0, 1, 2, ... of `size`, `batch` at a time: one pass for `epochs`, or without end for 0.
BatchPlan in_order(std::int64_t size, std::int64_t batch, std::int64_t epochs = 1) {
  return [=, epoch = std::int64_t{0}, row = std::int64_t{0}]() mutable -> std::optional<PlannedBatch> {
    if (row + batch > size) row = 0, ++epoch;
    if (epochs > 0 && epoch == epochs) return std::nullopt;
    PlannedBatch out{epoch, {}};
    for (const std::int64_t end = row + batch; row < end; ++row) out.rows.push_back(row);
    return out;
  };
}

std::unique_ptr<BatchStream> stream(std::shared_ptr<const Source> source, BatchPlan plan, Decoding decoding,
                                    Transforms transforms = {}, Collate collate = {}) {
  return std::make_unique<BatchStream>(std::move(source), std::move(transforms), std::move(collate), RandomStreams(3),
                                       std::move(plan), decoding);
}

std::string failure(BatchStream& batches) {
  try {
    batches.next();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no failure";
}

class Threads : public ::testing::TestWithParam<int> {};

TEST_P(Threads, GiveTheSameBatchesInTheSameOrderHoweverReadsOvertake) {
  const auto samples = resident_source(drawn_samples(12, 3, 4, 5));
  const auto source = std::make_shared<Scrambled>(samples, GetParam());
  const auto batches =
      stream(source, in_order(12, 4, /*epochs=*/0), {GetParam(), 1 << 20}, {std::make_shared<Jittered>()});
  const RandomStreams random(3);
  for (std::int64_t number = 0; number < 9; ++number) {
    const std::optional<Batch> batch = batches->next();
    ASSERT_TRUE(batch);
    for (std::int64_t i = 0; i < 4; ++i) {
      const std::int64_t row = number % 3 * 4 + i;
      ASSERT_EQ(batch->at(kLabel)[i].item<std::int64_t>(), row);
      const Sample expected = Jittered().apply(samples->read(row), StreamDraws(random, number / 3, row));
      EXPECT_TRUE(at::equal(batch->at(kImage)[i], expected.at(kImage))) << number << " " << i;
    }
  }
  const std::vector<std::int64_t> ended = source->ended();
  EXPECT_EQ(std::is_sorted(ended.begin(), ended.begin() + 12), GetParam() == 1) << "or the test would show nothing";
  source->open();
}

TEST_P(Threads, EndAfterTheLastBatchAndStayAtTheEnd) {
  const auto batches = stream(std::make_shared<Streamed>(resident_source(drawn_samples(6, 1, 2, 2))), in_order(6, 2),
                              {GetParam(), 1 << 20});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(batches->next());
  EXPECT_FALSE(batches->next());
  EXPECT_FALSE(batches->next());
}

TEST_P(Threads, TellAFailureWhenItsBatchIsDueWithTheFirstSamplesName) {
  const auto source =
      std::make_shared<Damaged>(resident_source(drawn_samples(40, 1, 2, 2)), std::set<std::int64_t>{6, 7});
  const auto batches = stream(source, in_order(40, 4, 0), {GetParam(), 1 << 20});
  EXPECT_TRUE(batches->next());
  for (int again = 0; again < 2; ++again) {
    try {
      batches->next();
      FAIL() << "a damaged sample was passed over";
    } catch (const DataError& error) {
      EXPECT_STREQ(error.what(), "sample 6: /data/6.png ends in the middle");
    }
  }
}

TEST_P(Threads, EndAStreamWithoutEnd) {
  const auto source = std::make_shared<Streamed>(resident_source(drawn_samples(6, 1, 2, 2)));
  for (int taken = 0; taken < 3; ++taken) {
    const auto batches = stream(source, in_order(6, 2, 0), {GetParam(), 1 << 14});
    for (int i = 0; i < taken; ++i) EXPECT_TRUE(batches->next());
  }
}

INSTANTIATE_TEST_SUITE_P(Count, Threads, ::testing::Values(1, 2, 7));

// Rows whose images have other extents, and other numbers of boxes.
class Ragged : public Source {
 public:
  std::int64_t size() const override { return 12; }
  Sample read(std::int64_t index) const override {
    const Extent extent = extent_of(index);
    return {{kImage, at::full({1, extent[0], extent[1]}, index, at::kByte)},
            {"boxes", at::full({index % 3, 4}, index, at::kFloat)}};
  }
  std::int64_t bytes(std::int64_t index) const override { return extent_of(index)[0] * extent_of(index)[1] + 48; }

 private:
  static Extent extent_of(std::int64_t index) { return {1 + index % 5, 2 + index % 3}; }
};

TEST(BatchStream, ServesSamplesOfAnyExtentBySomethingElseThanStacking) {
  const auto source = std::make_shared<Ragged>();
  const auto refused = stream(source, in_order(12, 4), {2, 1 << 20}, {}, joining({"boxes"}));
  EXPECT_THAT(failure(*refused), AllOf(HasSubstr("'image'"), HasSubstr("[1, 1, 2] and [1, 2, 3]")));
  const Transforms to_one{normalizing({}), resizing({4, 6}, 1, "bilinear")};
  const auto batches = stream(source, in_order(12, 4), {2, 1 << 20}, to_one, joining({"boxes"}));
  const std::optional<Batch> batch = batches->next();
  EXPECT_EQ(batch->at(kImage).sizes(), (std::vector<std::int64_t>{4, 1, 4, 6}));
  EXPECT_TRUE(at::allclose(batch->at(kImage).select(2, 3).select(2, 5).view({4}), at::tensor({0.f, 1.f, 2.f, 3.f})));
  EXPECT_TRUE(at::equal(batch->at("boxes.count"), at::tensor({0, 1, 2, 0}, at::kLong)));
}

// Counts the bytes of its samples that are being read or still exist.
class Counting : public Source {
 public:
  struct Tally {
    std::mutex mutex;
    std::condition_variable changed;
    std::int64_t alive = 0, most = 0;
    void add(std::int64_t bytes) {
      const std::lock_guard lock(mutex);
      alive += bytes;
      most = std::max(most, alive);
      changed.notify_all();
    }
  };

  explicit Counting(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  std::int64_t bytes(std::int64_t index) const override { return 1000 + index * 7919 % 5000; }
  Sample read(std::int64_t index) const override {
    const std::int64_t count = bytes(index);
    tally->add(count);
    auto* data = new std::uint8_t[static_cast<std::size_t>(count)]();
    return {{"bytes", at::from_blob(
                          data, {count},
                          [count, tally = tally](void* held) {
                            delete[] static_cast<std::uint8_t*>(held);
                            tally->add(-count);
                          },
                          at::kByte)}};
  }
  const std::shared_ptr<Tally> tally = std::make_shared<Tally>();

 private:
  std::int64_t size_;
};

// The first number of every sample: next to nothing, so that only samples weigh.
Batch heads(std::span<const Sample> samples) {
  std::vector<Tensor> out;
  for (const Sample& sample : samples) out.push_back(sample.at("bytes").slice(0, 0, 1).clone());
  return {{"heads", at::cat(out)}};
}

// The samples themselves, under the numbers 0, 1, ...
Batch kept(std::span<const Sample> samples) {
  Batch out;
  for (const Sample& sample : samples) out.emplace(std::to_string(out.size()), sample.at("bytes"));
  return out;
}

constexpr std::int64_t kBudget = 60'000;  // some three batches of six

TEST(Budget, IsUsedAheadOfNeed) {
  for (const int threads : {1, 2, 7}) {
    const auto source = std::make_shared<Counting>(60);
    const auto batches = stream(source, in_order(60, 6), {threads, kBudget}, {}, kept);
    std::unique_lock lock(source->tally->mutex);
    source->tally->changed.wait(lock, [&] { return source->tally->alive > 50'000; });  // without a call of next()
  }
}

TEST(Budget, IsNeverExceeded) {
  for (const int threads : {1, 2, 7}) {
    const auto source = std::make_shared<Counting>(60);
    const auto batches = stream(source, in_order(60, 6, 3), {threads, kBudget}, {}, heads);
    for (int i = 0; i < 30; ++i) ASSERT_TRUE(batches->next());
    EXPECT_FALSE(batches->next());
    EXPECT_LE(source->tally->most, kBudget);
    EXPECT_EQ(source->tally->alive, 0) << "no sample outlives its batch";
  }
}

TEST(Budget, StopsReadingAheadUntilABatchIsTaken) {
  const auto source = std::make_shared<Streamed>(resident_source(drawn_samples(1000, 1, 100, 100)));
  const auto scrambled = std::make_shared<Scrambled>(source, 1);
  const auto batches = stream(scrambled, in_order(1000, 1), {1, 35'000});
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(batches->next());
    EXPECT_LE(scrambled->ended().size(), static_cast<std::size_t>(i) + 4) << "three samples fit";
  }
}

TEST(Budget, RefusesABatchThatDoesNotFitWhateverTheThreads) {
  std::set<std::string> said;
  for (const int threads : {1, 2, 7}) {
    const auto batches = stream(std::make_shared<Streamed>(resident_source(drawn_samples(8, 1, 100, 100))),
                                in_order(8, 4), {threads, 30'000});
    said.insert(failure(*batches));
    EXPECT_EQ(failure(*batches), *said.begin());
  }
  EXPECT_EQ(said.size(), 1u);
  EXPECT_THAT(*said.begin(), AllOf(HasSubstr("a batch of 4 samples"), HasSubstr("30000 bytes"),
                                   HasSubstr("the first 2"), HasSubstr("choose smaller batches")));
}

// A source or transform that promises too little would break the budget unseen.
class Promising : public Streamed {
 public:
  using Streamed::Streamed;
  std::int64_t bytes(std::int64_t) const override { return 3; }
};

TEST(Budget, NamesASourceThatPromisedTooLittle) {
  const auto batches =
      stream(std::make_shared<Promising>(resident_source(drawn_samples(4, 1, 2, 2))), in_order(4, 2), {1, 1 << 20});
  EXPECT_THAT(failure(*batches),
              HasSubstr("sample 0 takes 12 bytes where its source and transforms promised at most 3"));
}

TEST(BatchStream, TellsWhatCollationAndPlansThrow) {
  const auto source = std::make_shared<Streamed>(resident_source(drawn_samples(4, 1, 2, 2)));
  const auto collating = stream(source, in_order(4, 2), {2, 1 << 20}, {},
                                [](std::span<const Sample>) -> Batch { throw std::invalid_argument("no such batch"); });
  EXPECT_EQ(failure(*collating), "no such batch");
  const auto planning =
      stream(source, []() -> std::optional<PlannedBatch> { throw std::runtime_error("no plan"); }, {2, 1 << 20});
  EXPECT_EQ(failure(*planning), "no plan");
  const auto empty = stream(source, [] { return std::optional(PlannedBatch{}); }, {2, 1 << 20});
  EXPECT_EQ(failure(*empty), "a batch of no samples was planned");
}

}  // namespace
}  // namespace locus::engine
