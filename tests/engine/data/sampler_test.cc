// Repeated augmentation and batches of drawn sizes, held to plain definitions and to the counts of the published recipes.
#include "engine/data/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/engine/data/sources.h"

namespace locus::engine {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::vector<std::int64_t> listed(const Tensor& rows) {
  return {rows.const_data_ptr<std::int64_t>(), rows.const_data_ptr<std::int64_t>() + rows.numel()};
}

// Rows in file order, so that counts of large datasets cost nothing.
class InOrder final : public Sampler {
 public:
  explicit InOrder(std::int64_t size) : size_(size) {}
  std::int64_t samples() const override { return size_; }
  Tensor rows(std::int64_t) const override { return at::arange(size_, at::kLong); }

 private:
  std::int64_t size_;
};

std::shared_ptr<const Sampler> shuffled(std::int64_t size, std::uint64_t seed = 3) {
  return std::make_shared<TrainingOrder>("d", size, 0, RandomStreams(seed));
}

// The list of DeiT's sampler: each entry of a permutation so many times in a row, then cut.
TEST(RepeatedOrder, IsThePermutationWithEveryEntryRepeatedAndCut) {
  for (const std::int64_t size : {256, 700, 100}) {
    for (const std::int64_t repeats : {2, 3}) {
      const auto order = shuffled(size);
      const RepeatedOrder repeated(order, repeats);
      for (const std::int64_t epoch : {0, 4}) {
        const std::vector<std::int64_t> permutation = listed(order->rows(epoch));
        std::vector<std::int64_t> rows, visits;
        for (const std::int64_t row : permutation) {
          for (std::int64_t copy = 0; copy < repeats; ++copy) {
            rows.push_back(row);
            visits.push_back(row * repeats + copy);
          }
        }
        const std::int64_t kept = size < 256 ? size : size - size % 256;
        rows.resize(static_cast<std::size_t>(kept));
        visits.resize(static_cast<std::size_t>(kept));
        EXPECT_EQ(repeated.samples(), kept);
        EXPECT_EQ(listed(repeated.rows(epoch)), rows);
        EXPECT_EQ(listed(repeated.visits(epoch)), visits);
      }
    }
  }
}

TEST(RepeatedOrder, HasImageNetsEpochOfTheUsualLength) {
  const RepeatedOrder repeated(std::make_shared<InOrder>(1281167), 3);
  EXPECT_EQ(repeated.samples(), 1281024);
  EXPECT_EQ(BatchCuts(repeated.samples(), 1024, {}, RandomStreams(0)).typical(), 1251);
  EXPECT_EQ(BatchCuts(repeated.samples(), 2048, {}, RandomStreams(0)).typical(), 625);
  const std::vector<std::int64_t> rows = listed(repeated.rows(0));
  EXPECT_EQ(std::set<std::int64_t>(rows.begin(), rows.end()).size(), 427008u) << "a third of the images";
}

TEST(RepeatedOrder, RefusesNoRepetition) {
  EXPECT_THROW(RepeatedOrder(std::make_shared<InOrder>(5), 0), std::invalid_argument);
}

TEST(BatchCuts, LeaveTheIncompleteBatchOutOrKeepIt) {
  BatchCuts cut(10, 4, {}, RandomStreams(0)), kept(10, 4, {.keep_last = true}, RandomStreams(0));
  EXPECT_EQ(cut.count(7), 2);
  EXPECT_EQ(kept.count(7), 3);
  EXPECT_EQ(kept.at({7, 2}), (BatchPlace{8, 2, 0}));
  EXPECT_EQ(cut.steps(3), 6);
  EXPECT_EQ(kept.steps(3), 9);
  EXPECT_EQ(cut.samples_before({2, 1}), 2 * 8 + 4);
  EXPECT_EQ(kept.samples_before({1, 3}), 20);
  EXPECT_EQ(BatchCuts(8, 4, {.keep_last = true}, RandomStreams(0)).typical(), 2) << "nothing is left over";
}

// PaPE: 1239 steps an epoch, the last of 644 images. ASG at one resolution: 4063 steps, the last of 16 images; 528,190 in
// 130 epochs.
TEST(BatchCuts, CountThePublishedEpochs) {
  BatchCuts pape(1268356, 1024, {.keep_last = true}, RandomStreams(0));
  EXPECT_EQ(pape.count(0), 1239);
  EXPECT_EQ(pape.at({0, 1238}).count, 644);
  EXPECT_EQ(pape.steps(300), 371700);
  BatchCuts asg(130000, 32, {.keep_last = true}, RandomStreams(0));
  EXPECT_EQ(asg.at({129, 4062}).count, 16);
  EXPECT_EQ(asg.steps(130), 528190);
}

BatchRule multi(bool keep_last = true) { return {.keep_last = keep_last, .sizes = {192, 224, 288}, .size = 224}; }

// The plain definition: before every step a size is drawn, and the batch is cut for it.
TEST(BatchCuts, DrawASizeForEveryStepAndABatchForEverySize) {
  const RandomStreams random(11);
  const std::map<std::int64_t, std::int64_t> batches{{192, 43}, {224, 32}, {288, 19}};
  for (const bool keep_last : {true, false}) {
    BatchCuts cuts(1000, 32, multi(keep_last), random);
    std::uint64_t step = 0;
    std::int64_t shown = 0;
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      EXPECT_EQ(cuts.steps(epoch), static_cast<std::int64_t>(step));
      std::int64_t first = 0, batch = 0;
      for (; first < 1000; ++batch) {
        const double u = draw_unit(random, "resolution", "size", {step, 0, 0});
        const std::size_t size = u < 1.0 / 3 ? 0 : u < 2.0 / 3 ? 1 : 2;
        const std::int64_t wanted = batches.at(multi().sizes[size]), count = std::min(wanted, 1000 - first);
        if (count < wanted && !keep_last) break;
        ASSERT_LT(batch, cuts.count(epoch));
        EXPECT_EQ(cuts.at({epoch, batch}), (BatchPlace{first, count, size})) << epoch << " " << batch;
        EXPECT_EQ(cuts.samples_before({epoch, batch}), shown + first);
        first += count;
        ++step;
      }
      EXPECT_EQ(cuts.count(epoch), batch);
      shown += first;
    }
  }
}

TEST(BatchCuts, GoByTheMeanBatchWhereSizesAreDrawn) {
  BatchCuts cuts(130000, 32, multi(), RandomStreams(0));
  EXPECT_EQ(cuts.typical(), 4149) << "130,000 / ((43 + 32 + 19) / 3)";
  EXPECT_NEAR(static_cast<double>(cuts.count(0)), 4149.0, 150.0);
  EXPECT_NE(cuts.count(0), cuts.count(1));
}

TEST(BatchCuts, AreTheSameWhereverOneBeginsToAsk) {
  BatchCuts forward(500, 32, multi(), RandomStreams(4)), late(500, 32, multi(), RandomStreams(4));
  const BatchPlace last = late.at({5, 3});
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) forward.count(epoch);
  EXPECT_EQ(forward.at({5, 3}), last);
  EXPECT_EQ(forward.steps(9), late.steps(9));
  BatchCuts other(500, 32, multi(), RandomStreams(5));
  std::vector<std::size_t> here, there;
  for (std::int64_t batch = 0; batch < 10; ++batch) {
    here.push_back(forward.at({0, batch}).size);
    there.push_back(other.at({0, batch}).size);
  }
  EXPECT_NE(here, there);
}

TEST(BatchCuts, OfAnEpochBelowItsOnlyBatchAreAllItsSamples) {
  BatchCuts cuts(5, 5, {.sizes = {2}, .size = 4}, RandomStreams(0));
  EXPECT_EQ(cuts.count(0), 1);
  EXPECT_EQ(cuts.at({0, 0}), (BatchPlace{0, 5, 0}));
  EXPECT_THROW(BatchCuts(5, 5, {.sizes = {0}, .size = 4}, RandomStreams(0)), std::invalid_argument);
  EXPECT_THROW(BatchCuts(5, 5, {.sizes = {4}, .size = 0}, RandomStreams(0)), std::invalid_argument);
}

}  // namespace
}  // namespace locus::engine
