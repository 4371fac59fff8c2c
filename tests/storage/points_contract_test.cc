// Contract: appending points, reading curves, superseded attempts, thinning.
#include <cmath>
#include <limits>

#include "core/limits.h"
#include "tests/storage/store_contract.h"

namespace locus::testing {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
const SeriesKey kLoss{"loss", "train", "{}"};

class PointContract : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    make_world();
    must({grant(1, 1)});
  }

  std::vector<std::int64_t> steps(StageId stage, const SeriesKey& key = kLoss) {
    std::vector<std::int64_t> out;
    for (const Point& point : get(store().points(stage, key, 0)).points) out.push_back(point.step);
    return out;
  }
};
LOCUS_STORE_CONTRACT(PointContract);

TEST_P(PointContract, ReadsBackEveryColumn) {
  PointBatch batch;
  batch.series = {kLoss, {"top1", "validation", R"({"resolution":42})"}};
  batch.series_index = {0, 1, 0};
  batch.step = {1, 1, std::numeric_limits<std::int64_t>::max()};
  batch.epoch = {0.25, 0.25, 1e300};
  batch.images = {32, 32, std::numeric_limits<std::int64_t>::min()};
  batch.time_us = {1'700'000'000'000'000, -5, 0};
  batch.value = {2.3, 0.11, -0.0};
  EXPECT_EQ(must_append(points_of(1, 1, 1, batch)), 3);

  const auto loss = store().points(1, kLoss, 0).value();
  EXPECT_FALSE(loss.reduced);
  ASSERT_EQ(loss.points.size(), 2u);
  EXPECT_EQ(loss.points[0].step, 1);
  EXPECT_EQ(loss.points[0].epoch, 0.25);
  EXPECT_EQ(loss.points[0].images, 32);
  EXPECT_EQ(loss.points[0].time_us, 1'700'000'000'000'000);
  EXPECT_EQ(loss.points[0].value, 2.3);
  EXPECT_EQ(loss.points[1].step, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(loss.points[1].images, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(loss.points[1].epoch, 1e300);
  EXPECT_TRUE(std::signbit(loss.points[1].value));

  const auto series = store().series(1).value();
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0].key, kLoss);
  EXPECT_EQ(series[0].points, 2);
  EXPECT_EQ(series[0].stage_id, 1);
  EXPECT_EQ(series[1].key.labels, R"({"resolution":42})");
  EXPECT_EQ(series[1].points, 1);
  EXPECT_EQ(store().points(1, series[1].key, 0).value().points[0].value, 0.11);
}

TEST_P(PointContract, AcknowledgesTheHighestSequenceOfTheAttempt) {
  EXPECT_EQ(must_append(points_of(1, 1, 1, ramp(1, 10))), 10);
  EXPECT_EQ(must_append(points_of(1, 1, 11, ramp(11, 5))), 15);
  EXPECT_EQ(store().attempts(1).value()[0].acked_seq, 15);
}

TEST_P(PointContract, IgnoresWhatIsStoredAlready) {
  must_append(points_of(1, 1, 1, ramp(1, 10)));
  const Json before = picture(store());
  EXPECT_EQ(must_append(points_of(1, 1, 1, ramp(1, 10))), 10);
  EXPECT_EQ(must_append(points_of(1, 1, 3, ramp(3, 2))), 10);
  EXPECT_EQ(picture(store()), before);
  EXPECT_EQ(must_append(points_of(1, 1, 8, ramp(8, 5))), 12);
  EXPECT_THAT(steps(1), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
}

TEST_P(PointContract, AnswersAnEmptyBatchWithTheMark) {
  must_append(points_of(1, 1, 1, ramp(1, 4)));
  EXPECT_EQ(must_append(points_of(1, 1, 5, {})), 4);
  EXPECT_EQ(must_append(points_of(1, 1, 1, {})), 4);
}

TEST_P(PointContract, MakesNoSeriesForPointsStoredAlready) {
  must_append(points_of(1, 1, 1, ramp(1, 2)));
  must_append(points_of(1, 1, 1, ramp(1, 2, {"other", "", "{}"})));
  EXPECT_EQ(store().series(1).value().size(), 1u);
}

TEST_P(PointContract, RefusesAGapAndNamesTheSequenceExpected) {
  must_append(points_of(1, 1, 1, ramp(1, 4)));
  const PointAppend gap = points_of(1, 1, 6, ramp(6, 2));
  expect_append_refused(gap, StatusCode::kOutOfRange, "SEQUENCE_GAP");
  const auto detail = error_detail(store().append(gap, kNow).status());
  EXPECT_EQ(detail->metadata.at("expected_sequence"), "5");
}

TEST_P(PointContract, RefusesPointsUnderAStaleToken) {
  expect_append_refused(points_of(1, 0, 1, ramp(1, 1)), StatusCode::kAborted, "STALE_ATTEMPT");
  expect_append_refused(points_of(1, 2, 1, ramp(1, 1)), StatusCode::kAborted, "STALE_ATTEMPT");
  expect_append_refused(points_of(3, 1, 1, ramp(1, 1)), StatusCode::kAborted, "STALE_ATTEMPT");  // queued
  expect_append_refused(points_of(9, 1, 1, ramp(1, 1)), StatusCode::kNotFound, "STAGE_NOT_FOUND");
  must({end(1, 1, AttemptState::kLost, StageState::kQueued)});
  expect_append_refused(points_of(1, 1, 1, ramp(1, 1)), StatusCode::kAborted, "STALE_ATTEMPT");
  must({grant(1, 2)});
  expect_append_refused(points_of(1, 1, 1, ramp(1, 1)), StatusCode::kAborted, "STALE_ATTEMPT");
}

TEST_P(PointContract, RefusesBatchesThatAreNotWellFormed) {
  PointBatch uneven = ramp(1, 3);
  uneven.step.pop_back();
  expect_append_refused(points_of(1, 1, 1, uneven), StatusCode::kInvalidArgument, "INVALID_ARGUMENT");
  PointBatch dangling = ramp(1, 3);
  dangling.series_index[1] = 1;
  expect_append_refused(points_of(1, 1, 1, dangling), StatusCode::kInvalidArgument, "INVALID_ARGUMENT");
  expect_append_refused(points_of(1, 1, 0, ramp(1, 3)), StatusCode::kInvalidArgument, "INVALID_ARGUMENT");
  expect_append_refused(points_of(1, 1, 1, ramp(1, kPointsPerBatch + 1)), StatusCode::kResourceExhausted,
                        "LIMIT_EXCEEDED");
}

TEST_P(PointContract, RefusesMoreSeriesThanAStageMayHave) {
  PointBatch batch = ramp(1, kSeriesPerStage);
  for (int i = 0; i < kSeriesPerStage; ++i) {
    batch.series.push_back({"metric-" + std::to_string(i), "", "{}"});
    batch.series_index[i] = static_cast<std::uint32_t>(i + 1);
  }
  must_append(points_of(1, 1, 1, batch));
  EXPECT_EQ(store().series(1).value().size(), static_cast<std::size_t>(kSeriesPerStage));
  expect_append_refused(points_of(1, 1, kSeriesPerStage + 1, ramp(1, 1)), StatusCode::kResourceExhausted,
                        "LIMIT_EXCEEDED");
}

TEST_P(PointContract, NamesASeriesThatIsAbsent) {
  EXPECT_EQ(reason_of(store().points(1, kLoss, 0).status()), "SERIES_NOT_FOUND");
}

TEST_P(PointContract, KeepsNanAndInfinities) {
  PointBatch batch = ramp(1, 4);
  batch.value = {1, kNan, kInf, -kInf};
  must_append(points_of(1, 1, 1, batch));
  const auto points = store().points(1, kLoss, 0).value().points;
  EXPECT_EQ(points[0].value, 1);
  EXPECT_TRUE(std::isnan(points[1].value));
  EXPECT_EQ(points[2].value, kInf);
  EXPECT_EQ(points[3].value, -kInf);
}

TEST_P(PointContract, SupersedesPointsPastTheResumeStepOfALaterAttempt) {
  must_append(points_of(1, 1, 1, ramp(1, 10)));
  must({end(1, 1, AttemptState::kLost, StageState::kQueued), grant(1, 2, 6, kShaA)});
  EXPECT_THAT(steps(1), ElementsAre(1, 2, 3, 4, 5, 6));
  must_append(points_of(1, 2, 1, ramp(7, 3)));
  EXPECT_THAT(steps(1), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  must({end(1, 2, AttemptState::kLost, StageState::kQueued),
        grant(1, 3, 4, kShaB)});  // further back than the one before
  must_append(points_of(1, 3, 1, ramp(5, 1)));
  EXPECT_THAT(steps(1), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(store().series(1).value()[0].points, 14);  // nothing is deleted
}

TEST_P(PointContract, SupersedesEverythingWhenALaterAttemptBeginsAfresh) {
  must_append(points_of(1, 1, 1, ramp(0, 5)));
  must({end(1, 1, AttemptState::kLost, StageState::kQueued), grant(1, 2)});
  EXPECT_TRUE(steps(1).empty());
  must_append(points_of(1, 2, 1, ramp(0, 2)));
  EXPECT_THAT(steps(1), ElementsAre(0, 1));
}

TEST_P(PointContract, GivesPointsInStepOrderWhateverTheyCameIn) {
  PointBatch batch = ramp(1, 5);
  batch.step = {3, 1, 2, 1, 5};
  must_append(points_of(1, 1, 1, batch));
  EXPECT_THAT(steps(1), ElementsAre(1, 1, 2, 3, 5));
  const auto points = store().points(1, kLoss, 0).value().points;
  EXPECT_EQ(points[0].value, 2);  // of equal steps, the first that came
  EXPECT_EQ(points[1].value, 4);
}

TEST_P(PointContract, KeepsEverySpikeAndMarkAtEveryZoom) {
  const int total = 40'000;
  std::int64_t seq = 1;
  for (int from = 0; from < total; from += 8000) {
    PointBatch batch = ramp(from, 8000);
    for (double& value : batch.value) value = std::sin(value / 1000);
    if (from == 16'000) {
      batch.value[123] = 50;
      batch.value[4567] = kNan;
    }
    if (from == 24'000) {
      batch.value[7] = -50;
      batch.value[8] = kInf;
    }
    seq = must_append(points_of(1, 1, seq, batch)) + 1;
  }
  ASSERT_EQ(store().series(1).value()[0].points, total);
  EXPECT_FALSE(store().points(1, kLoss, total).value().reduced);
  for (const int most : {1, 16, 17, 100, 1000, 39'999}) {
    const auto found = store().points(1, kLoss, most).value();
    EXPECT_TRUE(found.reduced);
    EXPECT_LE(static_cast<int>(found.points.size()), std::max(most, 16));
    const auto has = [&](std::int64_t step) {
      return std::any_of(found.points.begin(), found.points.end(), [&](const Point& p) { return p.step == step; });
    };
    for (const std::int64_t step : {0, 39'999, 16'123, 20'567, 24'007, 24'008})
      EXPECT_TRUE(has(step)) << step << " of " << most;
  }
}

// Points of so many series in turn, from a step on; the value tells series and step.
PointBatch in_turn(int series, int from, int steps) {
  PointBatch batch;
  for (int s = 0; s < series; ++s) batch.series.push_back({"metric-" + std::to_string(s), "train", "{}"});
  for (int step = from; step < from + steps; ++step) {
    for (int s = 0; s < series; ++s) {
      batch.series_index.push_back(static_cast<std::uint32_t>(s));
      batch.step.push_back(step);
      batch.epoch.push_back(step / 10.0);
      batch.images.push_back(step);
      batch.time_us.push_back(step);
      batch.value.push_back(s * 10'000 + step);
    }
  }
  return batch;
}

void expect_series(Store& store, int series, int steps) {
  const auto points = store.points(1, {"metric-" + std::to_string(series), "train", "{}"}, 0).value().points;
  ASSERT_EQ(points.size(), static_cast<std::size_t>(steps));
  for (int step = 0; step < steps; ++step) ASSERT_EQ(points[step].value, series * 10'000 + step);
}

TEST_P(PointContract, KeepsPointsOfManySeriesApart) {
  const int series = 50, rounds = 400;  // more than enough to be sealed more than once
  std::int64_t seq = 1;
  for (int round = 0; round < rounds; round += 100)
    seq = must_append(points_of(1, 1, seq, in_turn(series, round, 100))) + 1;
  for (const int s : {0, 17, 49}) expect_series(store(), s, rounds);
}

TEST_P(PointContract, KeepsTheLargestBatchesEachSentWithTheEndOfTheOneBefore) {
  const int series = 8, steps = static_cast<int>(kPointsPerBatch) / series, again = 3;
  must_append(points_of(1, 1, 1, in_turn(series, 0, 10)));  // waits in the log for what comes
  int done = 10;
  for (int batch = 0; batch < 5; ++batch, done += steps - again) {
    const int from = done - again;
    EXPECT_EQ(must_append(points_of(1, 1, from * series + 1, in_turn(series, from, steps))), (from + steps) * series);
  }
  must_append(points_of(1, 1, done * series + 1, in_turn(series, done, 1)));
  for (int s = 0; s < series; ++s) expect_series(store(), s, done + 1);
  EXPECT_EQ(store().series(1).value()[0].points, done + 1);
}

TEST_P(PointContract, KeepsTheCurveWhenTheAttemptEnds) {
  must_append(points_of(1, 1, 1, ramp(1, 100)));
  must({end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded)});
  EXPECT_EQ(steps(1).size(), 100u);
  EXPECT_EQ(store().series(1).value()[0].points, 100);
}

}  // namespace
}  // namespace locus::testing
