// Contract: long curves in part and from afar, whatever attempts and batches they came in.
#include <cmath>
#include <limits>
#include <random>

#include "tests/storage/store_contract.h"

namespace locus::testing {
namespace {

constexpr double kCurveNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kCurveInf = std::numeric_limits<double>::infinity();
const SeriesKey kTrainLoss{"loss", "train", "{}"};
const SeriesKey kOther{"top1", "validation", "{}"};

class CurveContract : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    make_world();
    must({grant(1, 1)});
  }

  // Appends values at steps from `first` on, `stride` apart, in batches of changing size, another series
  // mixed in.
  void append(std::int64_t attempt, std::int64_t first, std::int64_t stride, const std::vector<double>& values) {
    std::int64_t seq = 1;
    std::size_t at = 0;
    for (int round = 0; at < values.size(); ++round) {
      PointBatch batch;
      batch.series = {kTrainLoss, kOther};
      const std::size_t size = 500 + 1700 * (round % 3);
      for (std::size_t i = 0; i < size && at < values.size(); ++i, ++at) {
        const std::int64_t step = first + stride * static_cast<std::int64_t>(at);
        add(batch, 0, step, values[at]);
        if (at % 7 == 0) add(batch, 1, step, -1);
      }
      seq = must_append(points_of(1, attempt, seq, batch)) + 1;
    }
  }

  std::vector<Point> all(StepRange range = {}) { return store().points(1, kTrainLoss, 0, range).value().points; }

 private:
  static void add(PointBatch& batch, std::uint32_t series, std::int64_t step, double value) {
    batch.series_index.push_back(series);
    batch.step.push_back(step);
    batch.epoch.push_back(static_cast<double>(step) / 100);
    batch.images.push_back(32 * step);
    batch.time_us.push_back(1000 * step);
    batch.value.push_back(value);
  }
};
LOCUS_STORE_CONTRACT(CurveContract);

std::vector<double> noise(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> out(n);
  for (double& value : out) value = static_cast<double>(random()) / 4e9;
  return out;
}

bool has(const std::vector<Point>& points, std::int64_t step) {
  return std::any_of(points.begin(), points.end(), [&](const Point& point) { return point.step == step; });
}

// What every block must say, from all the points.
void expect_blocks_of(const std::vector<Point>& points, const std::vector<SeriesBlock>& blocks, int shift) {
  std::size_t at = 0;
  for (const SeriesBlock& block : blocks) {
    const std::size_t begin = at;
    double sum = 0, low = kCurveInf, high = -kCurveInf;
    std::size_t marks = 0;
    for (; at < points.size() && points[at].step >> shift == block.index; ++at) {
      sum += points[at].value;
      if (!std::isfinite(points[at].value)) {
        ASSERT_LT(marks, block.marks.size());
        EXPECT_EQ(block.marks[marks++].step, points[at].step);
        continue;
      }
      low = std::min(low, points[at].value);
      high = std::max(high, points[at].value);
    }
    ASSERT_GT(at, begin) << "an empty block " << block.index;
    EXPECT_EQ(block.count, static_cast<std::int64_t>(at - begin));
    EXPECT_EQ(block.marks.size(), marks);
    EXPECT_EQ(block.first.step, points[begin].step);
    EXPECT_EQ(block.last.step, points[at - 1].step);
    EXPECT_EQ(block.last.time_us, points[at - 1].time_us);
    if (marks == 0) {
      EXPECT_NEAR(block.sum, sum, 1e-9 * (1 + std::abs(sum)));
    }
    if (block.finite() == 0) continue;
    EXPECT_EQ(block.low.value, low);
    EXPECT_EQ(block.high.value, high);
  }
  EXPECT_EQ(at, points.size());
}

TEST_P(CurveContract, GivesOnlyThePartAskedFor) {
  append(1, 0, 10, noise(30'000, 1));
  const auto part = all({100'000, 100'050});
  ASSERT_EQ(part.size(), 6u);
  EXPECT_EQ(part.front().step, 100'000);
  EXPECT_EQ(part.back().step, 100'050);
  EXPECT_TRUE(all({100'001, 100'009}).empty());
  EXPECT_TRUE(all({5, 4}).empty());
  EXPECT_EQ(all({299'990}).size(), 1u);
  const auto zoomed = store().points(1, kTrainLoss, 100, {10'000, 200'000}).value();
  EXPECT_TRUE(zoomed.reduced);
  EXPECT_LE(zoomed.points.size(), 100u);
  EXPECT_EQ(zoomed.points.front().step, 10'000);
  EXPECT_EQ(zoomed.points.back().step, 200'000);
  EXPECT_EQ(zoomed.series.points, 30'000);
}

TEST_P(CurveContract, SumsUpEveryBlockWhateverItsWidth) {
  auto values = noise(25'000, 2);
  values[20'000] = kCurveNan;
  values[20'001] = kCurveInf;
  values[3] = -kCurveInf;
  append(1, 1, 3, values);
  for (const int shift : {0, 4, 6, 9, 12, 13, 20, 62}) {
    SCOPED_TRACE(shift);
    expect_blocks_of(all(), store().blocks(1, kTrainLoss, shift).value(), shift);
    const StepRange part{777, 44'444};
    expect_blocks_of(all(part), store().blocks(1, kTrainLoss, shift, part).value(), shift);
  }
  const auto marked = store().blocks(1, kTrainLoss, 6).value();
  EXPECT_TRUE(std::isnan(marked[60'001 >> 6].sum));
  EXPECT_EQ(marked[0].sum, -kCurveInf);
}

TEST_P(CurveContract, SumsUpWhatAResumptionSupersededOnlyOnce) {
  append(1, 0, 1, noise(20'000, 3));
  must({end(1, 1, AttemptState::kLost, StageState::kQueued), grant(1, 2, 12'345, kShaA)});
  append(2, 12'346, 1, noise(20'000, 4));
  const auto points = all();
  ASSERT_EQ(points.size(), 32'346u);
  for (const int shift : {6, 10, 15}) expect_blocks_of(points, store().blocks(1, kTrainLoss, shift).value(), shift);
  const auto drawn = store().points(1, kTrainLoss, 200).value().points;
  EXPECT_EQ(drawn.front().step, 0);
  EXPECT_EQ(drawn.back().step, 32'345);
}

// The property the pyramid stands for: whatever the curve, the zoom and the number of points asked for, the
// highest, the lowest and every value that is not finite are among those drawn, each as it was reported.
TEST_P(CurveContract, KeepsSpikesOfRandomCurvesAtEveryZoom) {
  std::mt19937 random(5);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n); };
  const std::int64_t stride = 1 + below(60), n = 40'000;
  auto values = noise(n, 6);
  for (int i = 0; i < 40; ++i) values[below(n)] = 100.0 * (static_cast<double>(below(200)) - 100);
  for (int i = 0; i < 3; ++i) values[below(n)] = i == 0 ? kCurveNan : i == 1 ? kCurveInf : -kCurveInf;
  append(1, 0, stride, values);
  const auto every = all();
  for (int zoom = 0; zoom < 60; ++zoom) {
    StepRange range{below(n * stride), below(n * stride)};
    if (range.first > range.last) std::swap(range.first, range.last);
    if (zoom == 0) range = {};
    const int most = 16 << below(6);
    const auto drawn = store().points(1, kTrainLoss, most, range).value().points;
    EXPECT_LE(static_cast<int>(drawn.size()), most);
    EXPECT_TRUE(std::is_sorted(drawn.begin(), drawn.end(), [](auto& a, auto& b) { return a.step < b.step; }));
    const Point *low = nullptr, *high = nullptr;
    for (const Point& point : every) {
      if (!range.contains(point.step)) continue;
      if (!std::isfinite(point.value)) {
        EXPECT_TRUE(has(drawn, point.step)) << "mark at " << point.step;
        continue;
      }
      if (low == nullptr || point.value < low->value) low = &point;
      if (high == nullptr || point.value > high->value) high = &point;
    }
    if (low == nullptr) continue;
    EXPECT_TRUE(has(drawn, low->step)) << low->step << " of " << range.first << " to " << range.last;
    EXPECT_TRUE(has(drawn, high->step)) << high->step << " of " << range.first << " to " << range.last;
    for (const Point& point : drawn) {
      const auto& original = every[static_cast<std::size_t>(point.step / stride)];
      EXPECT_EQ(std::bit_cast<std::uint64_t>(point.value), std::bit_cast<std::uint64_t>(original.value));
      EXPECT_EQ(point.images, original.images);
    }
  }
}

TEST_P(CurveContract, ReadsACurveThatIsMostlyNotFinite) {
  std::vector<double> values(30'000, kCurveNan);
  values[17] = 1;
  append(1, 0, 1, values);
  const auto drawn = store().points(1, kTrainLoss, 50).value();
  EXPECT_TRUE(drawn.reduced);
  EXPECT_LE(drawn.points.size(), 50u);
  EXPECT_TRUE(has(drawn.points, 17));
  EXPECT_TRUE(has(drawn.points, 29'999));
}

TEST_P(CurveContract, RefusesABlockWidthThatIsNone) {
  append(1, 0, 1, {1});
  EXPECT_EQ(reason_of(store().blocks(1, kTrainLoss, 63).status()), "INVALID_ARGUMENT");
  EXPECT_EQ(reason_of(store().blocks(1, kTrainLoss, -1).status()), "INVALID_ARGUMENT");
  EXPECT_EQ(reason_of(store().blocks(1, {"none", "", "{}"}, 6).status()), "SERIES_NOT_FOUND");
  EXPECT_EQ(reason_of(store().blocks(99, kTrainLoss, 6).status()), "STAGE_NOT_FOUND");
}

TEST_P(CurveContract, ForgetsTheBlocksOfADeletedExperiment) {
  append(1, 0, 1, noise(30'000, 7));
  must({end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded), DeleteExperiment{1}, PurgeDeleted{10}});
  EXPECT_EQ(reason_of(store().blocks(1, kTrainLoss, 6).status()), "STAGE_NOT_FOUND");
  EXPECT_TRUE(store().check().value().problems.empty());
}

}  // namespace
}  // namespace locus::testing
