// Contract: series that another program measured, beside an experiment.
#include <cmath>
#include <limits>

#include "core/experiment/foreign.h"
#include "tests/storage/store_contract.h"

namespace locus::testing {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const SeriesKey kForeignLoss{"loss", "train", "{}"}, kForeignTop1{"top1", "validation", R"({"resolution":42})"};

ForeignImport run_of(char digest, const std::string& source) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ForeignImport out{.digest = std::string(64, digest), .source = source, .format = "csv", .imported_by = "ada"};
  out.series = {{kForeignTop1, 1, {7}, {0}, {0.1 + 0.2}},
                {kForeignLoss, 3, {1, 2, 5}, {1'700'000'000'000'000, 0, 3}, {2.5, nan, -0.0}}};
  return out;
}

class ForeignContract : public StoreContract {
 protected:
  std::vector<ForeignImport> all(const ForeignQuery& query = {.with_points = true}) {
    return get(store().foreign(1, query));
  }
};
LOCUS_STORE_CONTRACT(ForeignContract);

TEST_P(ForeignContract, GivesBackEveryPointToTheBitByDigestAndKey) {
  make_world();
  must({PutForeign{1, run_of('b', "runs/two")}, PutForeign{1, run_of('a', "runs/one")}});
  const auto found = all();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].digest, std::string(64, 'a'));
  EXPECT_EQ(found[0].source, "runs/one");
  EXPECT_EQ(found[0].format, "csv");
  EXPECT_EQ(found[0].imported_by, "ada");
  EXPECT_GT(found[0].imported_us, 0);
  ASSERT_THAT(found[1].series, SizeIs(2));
  const ForeignSeries& loss = found[1].series[0];
  EXPECT_EQ(loss.key, kForeignLoss);
  EXPECT_EQ(loss.points, 3);
  EXPECT_THAT(loss.step, ElementsAre(1, 2, 5));
  EXPECT_THAT(loss.time_us, ElementsAre(1'700'000'000'000'000, 0, 3));
  EXPECT_EQ(loss.value[0], 2.5);
  EXPECT_TRUE(std::isnan(loss.value[1]));
  EXPECT_TRUE(std::signbit(loss.value[2]));
  EXPECT_EQ(found[1].series[1].value, std::vector<double>{0.1 + 0.2});
}

TEST_P(ForeignContract, GivesTheImportAndTheSeriesAskedFor) {
  make_world();
  must({PutForeign{1, run_of('a', "one")}, PutForeign{1, run_of('b', "two")}});
  const auto named = all({.digest = std::string(64, 'b')});
  ASSERT_THAT(named, SizeIs(1));
  EXPECT_EQ(named[0].source, "two");
  EXPECT_EQ(named[0].series[0].points, 3);
  EXPECT_THAT(named[0].series[0].step, IsEmpty()) << "columns were not asked for";
  const auto top1 = all({.key = kForeignTop1, .with_points = true});
  ASSERT_THAT(top1, SizeIs(2));
  ASSERT_THAT(top1[0].series, SizeIs(1));
  EXPECT_THAT(top1[0].series[0].step, ElementsAre(7));
  EXPECT_THAT(all({.key = SeriesKey{"top1", "validation", "{}"}}), IsEmpty());
}

TEST_P(ForeignContract, ThinsALongSeriesAndKeepsItsSpike) {
  make_world();
  ForeignImport row = run_of('a', "one");
  ForeignSeries& loss = row.series[1];
  loss = {.key = kForeignLoss, .points = 1000};
  for (int step = 0; step < 1000; ++step) {
    loss.step.push_back(step), loss.time_us.push_back(0), loss.value.push_back(step == 567 ? 99 : 1);
  }
  must({PutForeign{1, row}});
  const auto found = all({.key = kForeignLoss, .with_points = true, .max_points = 50});
  ASSERT_THAT(found, SizeIs(1));
  const ForeignSeries& thinned = found[0].series[0];
  EXPECT_EQ(thinned.points, 1000);
  EXPECT_LE(thinned.step.size(), 50u);
  EXPECT_EQ(thinned.time_us.size(), thinned.step.size());
  EXPECT_THAT(thinned.value, ::testing::Contains(99));
  EXPECT_EQ(thinned.step.back(), 999);
}

TEST_P(ForeignContract, KeepsTheFirstOfEqualDigests) {
  make_world();
  must({PutForeign{1, run_of('a', "one")}});
  must({PutForeign{1, run_of('a', "another name")}});
  const auto found = all();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].source, "one");
}

TEST_P(ForeignContract, RefusesWhatIsNotThereAndMoreThanAnExperimentMayHave) {
  make_world();
  expect_refused({PutForeign{9, run_of('a', "one")}}, StatusCode::kNotFound, "EXPERIMENT_NOT_FOUND");
  expect_refused({RemoveForeign{1, std::string(64, 'a')}}, StatusCode::kNotFound, "SERIES_NOT_FOUND");
  for (int i = 0; i < kForeignImportsMost; ++i) {
    ForeignImport row = run_of('a', "one");
    row.digest = std::to_string(1000 + i);
    must({PutForeign{1, row}});
  }
  expect_refused({PutForeign{1, run_of('b', "one too many")}}, StatusCode::kResourceExhausted, "LIMIT_EXCEEDED");
  must({RemoveForeign{1, "1000"}, PutForeign{1, run_of('b', "in its place")}});
  EXPECT_THAT(all(), SizeIs(kForeignImportsMost));
}

TEST_P(ForeignContract, GoesWithItsExperimentAlone) {
  make_world();
  must({PutForeign{1, run_of('a', "one")}});
  const auto before = all();
  EXPECT_EQ(get(store().series_of(1)).size(), 0u) << "they are no series of a stage";
  EXPECT_EQ(get(store().results(1)).size(), 0u);
  must({DeleteExperiment{1}});
  while (get(store().next_purge(1)).left) must({PurgeDeleted{1}});
  EXPECT_THAT(all(), IsEmpty());
  const auto report = store().check();
  EXPECT_TRUE(!report.ok() || report->problems.empty());
  EXPECT_THAT(before, SizeIs(1));
}

}  // namespace
}  // namespace locus::testing
