// The durable outbox: what is on disk survives, what is torn is cut off, what is full says so.
#include "worker/link/outbox.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <fstream>
#include <sstream>

#include "core/base/error.h"
#include "core/limits.h"
#include "tests/client/temporary_folder.h"

namespace locus {
namespace {

v1::PointColumns points(int count, std::int64_t first_step, const std::string& metric = "loss") {
  v1::PointColumns columns;
  auto* series = columns.add_series();
  series->set_metric(metric);
  series->set_split("train");
  series->set_labels("{}");
  for (int i = 0; i < count; ++i) {
    columns.add_series_index(0);
    columns.add_step(first_step + i);
    columns.add_epoch(0.5);
    columns.add_images(32);
    columns.add_time_us(1);
    columns.add_value(static_cast<double>(first_step + i));
  }
  return columns;
}

std::vector<std::int64_t> steps_after(Outbox& outbox, std::int64_t seq) {
  std::vector<std::int64_t> steps;
  while (true) {
    const auto batch = outbox.read_after(seq);
    if (!batch.ok() || !batch->has_value()) return steps;
    EXPECT_EQ((*batch)->last_seq - (*batch)->first_seq + 1, (*batch)->points.value_size());
    for (std::int64_t s = seq + 1; s <= (*batch)->last_seq; ++s) {
      steps.push_back((*batch)->points.step(static_cast<int>(s - (*batch)->first_seq)));
    }
    seq = (*batch)->last_seq;
  }
}

class OutboxTest : public testing::Test {
 protected:
  std::unique_ptr<Outbox> open(OutboxOptions options = {}) {
    auto outbox = Outbox::open(path_, options);
    EXPECT_TRUE(outbox.ok()) << outbox.status();
    return *std::move(outbox);
  }
  std::string bytes() const {
    std::ifstream in(path_, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes; }

  TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / "outbox";
};

TEST_F(OutboxTest, NumbersPointsFromOneWithoutGaps) {
  auto outbox = open();
  EXPECT_EQ(outbox->last_seq(), 0);
  ASSERT_TRUE(outbox->append(points(3, 10)).ok());
  ASSERT_TRUE(outbox->append(points(2, 20)).ok());
  EXPECT_EQ(outbox->last_seq(), 5);
  EXPECT_EQ(steps_after(*outbox, 0), (std::vector<std::int64_t>{10, 11, 12, 20, 21}));
}

TEST_F(OutboxTest, ResendsFromAnySequence) {
  auto outbox = open();
  ASSERT_TRUE(outbox->append(points(3, 10)).ok());
  ASSERT_TRUE(outbox->append(points(2, 20)).ok());
  EXPECT_EQ(steps_after(*outbox, 1), (std::vector<std::int64_t>{11, 12, 20, 21}));
  EXPECT_EQ(steps_after(*outbox, 4), (std::vector<std::int64_t>{21}));
  EXPECT_TRUE(steps_after(*outbox, 5).empty());
}

TEST_F(OutboxTest, MergesTheDictionariesOfRecordsInOneBatch) {
  auto outbox = open();
  ASSERT_TRUE(outbox->append(points(1, 1, "loss")).ok());
  ASSERT_TRUE(outbox->append(points(1, 1, "lr")).ok());
  ASSERT_TRUE(outbox->append(points(1, 2, "loss")).ok());
  const auto batch = outbox->read_after(0);
  ASSERT_TRUE(batch.ok() && batch->has_value());
  ASSERT_EQ((*batch)->points.series_size(), 2);
  EXPECT_EQ((*batch)->points.series((*batch)->points.series_index(1)).metric(), "lr");
  EXPECT_EQ((*batch)->points.series((*batch)->points.series_index(2)).metric(), "loss");
}

TEST_F(OutboxTest, BatchesHoldAtMostTheLimit) {
  auto outbox = open();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(outbox->append(points(3000, i * 3000)).ok());
  const auto batch = outbox->read_after(0);
  ASSERT_TRUE(batch.ok() && batch->has_value());
  EXPECT_LE((*batch)->points.value_size(), kPointsPerBatch);
  EXPECT_EQ(steps_after(*outbox, 0).size(), 15000U);
  EXPECT_FALSE(outbox->append(points(kPointsPerBatch + 1, 0)).ok());
}

TEST_F(OutboxTest, KeepsEverythingOverARestart) {
  open()->append(points(3, 10)).IgnoreError();
  auto again = open();
  EXPECT_EQ(again->last_seq(), 3);
  ASSERT_TRUE(again->append(points(1, 13)).ok());
  EXPECT_EQ(steps_after(*again, 0), (std::vector<std::int64_t>{10, 11, 12, 13}));
}

TEST_F(OutboxTest, NumberingGoesOnAfterEverythingWasAcknowledged) {
  {
    auto outbox = open({.compact_bytes = 1});
    ASSERT_TRUE(outbox->append(points(100, 0)).ok());
    ASSERT_TRUE(outbox->acknowledge(100).ok());
    EXPECT_LT(std::filesystem::file_size(path_), 100U);  // nothing but the mark
  }
  auto again = open();
  EXPECT_EQ(again->last_seq(), 100);
  EXPECT_EQ(again->acked_seq(), 100);
  ASSERT_TRUE(again->append(points(1, 100)).ok());
  EXPECT_EQ(again->last_seq(), 101);
}

TEST_F(OutboxTest, DropsAcknowledgedRecordsAndKeepsTheRest) {
  auto outbox = open({.compact_bytes = 1});
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(outbox->append(points(10, i * 10)).ok());
  const auto before = std::filesystem::file_size(path_);
  ASSERT_TRUE(outbox->acknowledge(75).ok());
  EXPECT_LT(std::filesystem::file_size(path_), before / 2);
  const auto left = steps_after(*outbox, 75);
  ASSERT_EQ(left.size(), 25U);
  EXPECT_EQ(left.front(), 75);
  outbox.reset();
  EXPECT_EQ(steps_after(*open(), 75), left);
}

TEST_F(OutboxTest, SkipsNumbersTheServerHasAndWeForgot) {
  auto outbox = open();
  ASSERT_TRUE(outbox->append(points(5, 0)).ok());
  ASSERT_TRUE(outbox->acknowledge(9).ok());
  ASSERT_TRUE(outbox->append(points(1, 9)).ok());
  EXPECT_EQ(outbox->last_seq(), 10);
  outbox.reset();
  EXPECT_EQ(open()->last_seq(), 10);
}

TEST_F(OutboxTest, CutsATornTailOffAtEveryByte) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(open()->append(points(2, i * 2)).ok());
  const std::string whole = bytes();
  const std::size_t record = whole.size() / 3;
  ASSERT_EQ(whole.size(), record * 3);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    write(whole.substr(0, size));
    auto outbox = open();
    const auto kept = static_cast<std::int64_t>(size / record * 2);
    ASSERT_EQ(outbox->last_seq(), kept) << size;
    ASSERT_TRUE(outbox->append(points(1, 99)).ok());
    const auto steps = steps_after(*outbox, 0);
    ASSERT_EQ(static_cast<std::int64_t>(steps.size()), kept + 1) << size;
    ASSERT_EQ(steps.back(), 99);
  }
}

TEST_F(OutboxTest, CutsAtTheFirstRecordWithAFlippedBit) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(open()->append(points(2, i * 2)).ok());
  const std::string whole = bytes();
  const std::size_t record = whole.size() / 3;
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    const std::size_t bit = byte * 8 + byte % 8;  // one of each byte, every place in a byte
    std::string broken = whole;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << bit % 8));
    write(broken);
    auto outbox = open();
    const auto kept = static_cast<std::int64_t>(bit / 8 / record * 2);
    ASSERT_EQ(outbox->last_seq(), kept) << bit;
    const auto steps = steps_after(*outbox, 0);
    for (std::size_t i = 0; i < steps.size(); ++i) ASSERT_EQ(steps[i], static_cast<std::int64_t>(i)) << bit;
  }
}

TEST_F(OutboxTest, NoticesAFileThatChangesUnderIt) {
  auto outbox = open();
  ASSERT_TRUE(outbox->append(points(2, 0)).ok());
  std::string broken = bytes();
  broken.back() = static_cast<char>(broken.back() ^ 1);
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(broken.size()) - 1);
    file.put(broken.back());
  }
  EXPECT_EQ(outbox->read_after(0).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(OutboxTest, RefusesWhenFullAndTakesAgainAfterAcknowledgement) {
  auto outbox = open({.max_bytes = 4000});
  absl::Status status;
  std::int64_t taken = 0;
  while ((status = outbox->append(points(10, taken))).ok()) taken += 10;
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(has_reason(status, ErrorReason::kLimitExceeded));
  EXPECT_GT(taken, 0);
  EXPECT_EQ(outbox->last_seq(), taken);
  ASSERT_TRUE(outbox->acknowledge(10).ok());
  EXPECT_TRUE(outbox->append(points(10, taken)).ok());
  EXPECT_EQ(steps_after(*outbox, 10).size(), static_cast<std::size_t>(taken));
}

TEST_F(OutboxTest, TakesARecordLargerThanTheBoundWhenItIsEmpty) {
  auto outbox = open({.max_bytes = 10});
  EXPECT_TRUE(outbox->append(points(100, 0)).ok());
  EXPECT_FALSE(outbox->append(points(1, 100)).ok());
}

// Limits file sizes of this process, so that writes beyond fail as on a full disk (EFBIG there, ENOSPC here:
// both are refusals).
TEST_F(OutboxTest, AFailedWriteLosesNothingThatWasTaken) {
  auto outbox = open();
  ASSERT_TRUE(outbox->append(points(5, 0)).ok());
  struct rlimit before {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  struct rlimit tight = before;
  tight.rlim_cur = std::filesystem::file_size(path_) + 100;  // the next record fits in part
  ::setrlimit(RLIMIT_FSIZE, &tight);
  const absl::Status refused = outbox->append(points(50, 5));
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(outbox->last_seq(), 5);
  ASSERT_TRUE(outbox->append(points(1, 5)).ok());
  outbox.reset();
  EXPECT_EQ(steps_after(*open(), 0), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
}

TEST_F(OutboxTest, RefusesColumnsOfDifferentLengths) {
  auto outbox = open();
  v1::PointColumns columns = points(2, 0);
  columns.mutable_step()->RemoveLast();
  EXPECT_EQ(outbox->append(columns).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(outbox->last_seq(), 0);
}

}  // namespace
}  // namespace locus
