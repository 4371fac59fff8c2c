// Curves as the store's points make them: bands, parts, axes, and what is averaged when there is too much to
// read.
#include "server/analysis/curves_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/analysis/training_clock.h"
#include "storage/memory/store.h"
#include "tests/storage/world.h"

namespace locus::server {
namespace {

using namespace locus::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000;
const SeriesKey kLoss{"loss", "train", "{}"};

// Trials 0 and 1 of one cell; their train stages are 1 and 3.
class CurvesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(apply(*store_, world()).ok());
    ASSERT_TRUE(apply(*store_, {grant(1, 1), grant(3, 1)}).ok());
  }

  // One point a step from first_step on, a second apart, 32 images each.
  void append(StageId stage, std::int64_t attempt, std::int64_t first_step, const std::vector<double>& values,
              std::int64_t first_us = 0, std::int64_t first_seq = 1) {
    PointBatch batch = ramp(first_step, static_cast<int>(values.size()), kLoss);
    batch.value = values;
    for (std::size_t i = 0; i < values.size(); ++i)
      batch.time_us[i] = first_us + kSecond * static_cast<std::int64_t>(i);
    const auto acked = store_->append(points_of(stage, attempt, first_seq, std::move(batch)), kNow);
    ASSERT_TRUE(acked.ok()) << acked.status();
  }

  v1::Curves curves(const std::function<void(v1::GetCurvesRequest&)>& change = [](auto&) {}) {
    v1::GetCurvesRequest request = asked();
    change(request);
    auto out = get_curves(*store_, outline(), request);
    EXPECT_TRUE(out.ok()) << out.status();
    return out.ok() ? *std::move(out) : v1::Curves();
  }

  // What a plan says: a metric, its splits and the resolutions it is evaluated at.
  static Outline outline() {
    Outline out;
    out.metric.name = "loss";
    out.labels["resolution"] = {"28", "42"};
    return out;
  }

  static v1::GetCurvesRequest asked() {
    v1::GetCurvesRequest request;
    request.set_experiment("priors");
    request.set_metric("loss");
    request.set_split("train");
    return request;
  }

  std::unique_ptr<Store> store_ = make_memory_store();
};

TEST_F(CurvesTest, DrawsTheBandAskedFor) {
  append(1, 1, 1, {1, 2, 3});
  append(3, 1, 1, {3, 6, 3});
  const auto std_band = curves().cells(0);
  EXPECT_THAT(std_band.mean(), ElementsAre(2, 4, 3));
  EXPECT_DOUBLE_EQ(std_band.low(0), 2 - std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(std_band.high(1), 4 + 2 * std::sqrt(2.0));
  EXPECT_EQ(std_band.low(2), 3);
  // t(0.975, 1 degree of freedom) = 12.7062; half the width is t s / sqrt(2).
  const auto interval = curves([](auto& request) { request.set_band("interval"); }).cells(0);
  EXPECT_NEAR(interval.high(0), 2 + 12.7062047, 1e-6);
  EXPECT_NEAR(interval.low(1), 4 - 2 * 12.7062047, 1e-6);
  EXPECT_EQ(interval.std(0), std_band.std(0));
}

TEST_F(CurvesTest, HasNoBandOverOneSeed) {
  append(1, 1, 1, {1, 2});
  const auto cell = curves().cells(0);
  EXPECT_THAT(cell.n(), ElementsAre(1, 1));
  EXPECT_TRUE(std::isnan(cell.low(0)));
  EXPECT_TRUE(std::isnan(curves([](auto& request) { request.set_band("interval"); }).cells(0).high(0)));
}

TEST_F(CurvesTest, GivesThePartZoomedInto) {
  append(1, 1, 0, std::vector<double>(5000, 1));
  const auto part = curves([](auto& request) {
    request.set_from_step(100);
    request.set_to_step(104);
  });
  EXPECT_THAT(part.trials(0).step(), ElementsAre(99, 100, 101, 102, 103, 104, 105));
  EXPECT_THAT(part.cells(0).step(), ElementsAre(99, 100, 101, 102, 103, 104, 105));
  EXPECT_FALSE(part.trials(0).reduced());
  EXPECT_TRUE(curves().trials(0).reduced());
  const auto tail = curves([](auto& request) { request.set_from_step(4998); });
  EXPECT_THAT(tail.trials(0).step(), ElementsAre(4997, 4998, 4999));
}

TEST_F(CurvesTest, ReachesTheEdgesOfAPartBetweenItsPoints) {
  for (std::int64_t i = 0; i < 40; ++i)
    append(1, 1, 1 + 47 * i, {1.0 * static_cast<double>(i)}, 0, 1 + i);  // 1, 48, 95, ..., 1834
  const auto part = curves([](auto& request) {
    request.set_from_step(362);
    request.set_to_step(632);
  });
  EXPECT_THAT(part.cells(0).step(), ElementsAre(330, 377, 424, 471, 518, 565, 612, 659));
  const auto between = curves([](auto& request) {
    request.set_from_step(2);
    request.set_to_step(40);
  });
  EXPECT_THAT(between.trials(0).step(), ElementsAre(1, 48)) << "no point inside, a line all the same";
}

TEST_F(CurvesTest, SaysEpochImagesAndSecondsOfEveryPoint) {
  append(1, 1, 10, {1, 2, 3}, 50 * kSecond);
  append(3, 1, 10, {1, 2, 3}, 900 * kSecond);
  const auto out = curves();
  EXPECT_THAT(out.trials(0).epoch(), ElementsAre(0.10, 0.11, 0.12));
  EXPECT_THAT(out.trials(0).images(), ElementsAre(320, 352, 384));
  // Ten steps went before the first point, at a second each.
  EXPECT_THAT(out.trials(0).seconds(), ElementsAre(10, 11, 12));
  EXPECT_THAT(out.trials(1).seconds(), ElementsAre(10, 11, 12));
  EXPECT_THAT(out.cells(0).seconds(), ElementsAre(10, 11, 12));
  EXPECT_THAT(out.cells(0).images(), ElementsAre(320, 352, 384));
}

TEST_F(CurvesTest, LeavesPausesBetweenAttemptsOut) {
  append(1, 1, 1, {1, 2, 3, 4, 5});  // steps 1 to 5 at a second each; resumed after step 3
  ASSERT_TRUE(apply(*store_, {end(1, 1, AttemptState::kLost, StageState::kQueued), grant(1, 2, 3, kShaA)}).ok());
  append(1, 2, 4, {6, 7, 8}, 3600 * kSecond);  // an hour later, or by another clock
  EXPECT_THAT(curves().trials(0).step(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(curves().trials(0).seconds(), ElementsAre(1, 2, 3, 4, 5, 6));
  const auto zoomed = curves([](auto& request) { request.set_from_step(5); });
  EXPECT_THAT(zoomed.trials(0).seconds(), ElementsAre(4, 5, 6)) << "and the point that the line comes from";
}

TEST_F(CurvesTest, KeepsWhatIsNotFinite) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  append(1, 1, 1, {1, nan, 3});
  append(3, 1, 1, {1, 2, inf});
  const auto out = curves();
  EXPECT_TRUE(std::isnan(out.trials(0).value(1)));
  EXPECT_EQ(out.trials(1).value(2), inf);
  EXPECT_TRUE(std::isnan(out.cells(0).mean(1)));
  EXPECT_EQ(out.cells(0).mean(2), inf);
}

TEST_F(CurvesTest, AveragesEachSeedOverStretchesWhenThereIsTooMuchToRead) {
  const int batch = 4000, batches = static_cast<int>(kPointsRead) / batch / 2 + 2;
  for (int i = 0; i < batches; ++i) {
    std::vector<double> one(batch, 1), three(batch, 3);
    if (i == 7) one[11] = 5000;
    const std::int64_t from = std::int64_t{i} * batch;
    append(1, 1, from, one, from * kSecond, from + 1);
    append(3, 1, from, three, from * kSecond, from + 1);
  }
  const auto out = curves([](auto& request) { request.set_max_points(200); });
  const auto& cell = out.cells(0);
  EXPECT_LE(cell.step_size(), 200);
  EXPECT_GE(cell.step_size(), 60);
  EXPECT_EQ(cell.step(cell.step_size() - 1), std::int64_t{batch} * batches - 1);
  EXPECT_DOUBLE_EQ(cell.mean(cell.step_size() - 1), 2);
  EXPECT_DOUBLE_EQ(cell.std(cell.step_size() - 1), std::sqrt(2.0));
  EXPECT_GT(*std::max_element(cell.mean().begin(), cell.mean().end()), 2.1);  // a spike moves its stretch
  const auto& spiked = out.trials(0).value();
  EXPECT_EQ(*std::max_element(spiked.begin(), spiked.end()), 5000);  // and is itself in the seed's own curve
  const auto zoomed = curves([](auto& request) {
    request.set_from_step(28'000);
    request.set_to_step(28'100);
  });
  const auto& means = zoomed.cells(0).mean();
  EXPECT_EQ(*std::max_element(means.begin(), means.end()), 2501.5);
}

TEST_F(CurvesTest, LeavesOutSingleRunsWhereOnlyMeansAreAsked) {
  append(1, 1, 1, {1, 2, 3});
  append(3, 1, 1, {3, 6, 3});
  const auto whole = curves();
  const auto means = curves([](auto& request) { request.set_means_only(true); });
  EXPECT_EQ(whole.trials_size(), 2);
  EXPECT_EQ(means.trials_size(), 0);
  ASSERT_EQ(means.cells_size(), 1);
  EXPECT_EQ(means.cells(0).SerializeAsString(), whole.cells(0).SerializeAsString());
  EXPECT_EQ(means.available_size(), whole.available_size());
}

TEST_F(CurvesTest, RefusesWhatNobodyPlansOrMeasured) {
  append(1, 1, 0, {1, 2, 3});
  const auto refused = [&](const std::function<void(v1::GetCurvesRequest&)>& change) {
    v1::GetCurvesRequest request = asked();
    change(request);
    return std::string(get_curves(*store_, outline(), request).status().message());
  };
  EXPECT_THAT(refused([](auto& r) { r.set_metric("accuracy"); }),
              HasSubstr("no metric 'accuracy'; choose one of: loss"));
  EXPECT_THAT(refused([](auto& r) { r.set_split("tset"); }), HasSubstr("no split 'tset'; did you mean 'test'?"));
  EXPECT_THAT(refused([](auto& r) { r.set_split(""); }), HasSubstr("name one of: train"));
  EXPECT_THAT(refused([](auto& r) { r.set_labels(R"({"resolutoin":42})"); }),
              HasSubstr("no label 'resolutoin'; did you mean 'resolution'?"));
  EXPECT_THAT(refused([](auto& r) { r.set_labels(R"({"resolution":43})"); }), HasSubstr("no resolution '43'"));
  EXPECT_EQ(curves([](auto& r) { r.set_split("validation"); }).cells_size(), 0) << "it may come";
  EXPECT_EQ(curves([](auto& r) { r.set_labels(R"({"resolution":42})"); }).cells_size(), 0);
}

TEST_F(CurvesTest, RefusesWhatItCannotDraw) {
  const auto field_of = [&](const std::function<void(v1::GetCurvesRequest&)>& change) {
    v1::GetCurvesRequest request = asked();
    change(request);
    return error_detail(get_curves(*store_, outline(), request).status())->field;
  };
  EXPECT_EQ(field_of([](auto& request) { request.set_band("iqr"); }), "band");
  EXPECT_EQ(field_of([](auto& request) { request.set_from_step(-1); }), "from_step");
  EXPECT_EQ(field_of([](auto& request) {
              request.set_from_step(10);
              request.set_to_step(9);
            }),
            "to_step");
  EXPECT_EQ(field_of([](auto& request) { request.set_max_points(-1); }), "max_points");
}

}  // namespace
}  // namespace locus::server
