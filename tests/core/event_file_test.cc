// TensorBoard's event files: what is read of them, and what is refused.
#include "core/foreign/event_file.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/error.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string kept_file(const std::string& name) {
  std::ifstream in(std::filesystem::path(LOCUS_FOREIGN_FILES) / name, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

struct ReadEvents {
  absl::Status status;
  Gathered gathered;
  EventFileEnd end;
};
ReadEvents read_events(std::string_view bytes) {
  ReadEvents out;
  out.status = read_event_file(bytes, &out.gathered, &out.end);
  return out;
}

std::vector<ForeignSeries> series_in(const std::string& bytes) {
  const ReadEvents read = read_events(bytes);
  EXPECT_TRUE(read.status.ok()) << read.status;
  auto series = read.gathered.series();
  EXPECT_TRUE(series.ok()) << series.status();
  return series.value_or(std::vector<ForeignSeries>());
}

std::vector<SeriesKey> keys_of(const std::vector<ForeignSeries>& all) {
  std::vector<SeriesKey> out;
  for (const ForeignSeries& one : all) out.push_back(one.key);
  return out;
}

TEST(EventFile, OfOurOwnExportGivesTheSeriesThatWereExported) {
  const auto found = series_in(kept_file("export/0001-none-seed-1/events.out.tfevents.1700000000.kept"));
  ASSERT_THAT(found, SizeIs(4));
  EXPECT_EQ(found[0].key, (SeriesKey{"loss", "train", "{}"}));
  EXPECT_THAT(found[0].step, ElementsAre(1, 2, 3));
  EXPECT_THAT(found[0].time_us, ElementsAre(1'700'000'001'000'000, 1'700'000'001'000'001, 1'700'000'001'000'002));
  EXPECT_EQ(found[0].value[0], 1.5);
  EXPECT_TRUE(std::isnan(found[0].value[1]));
  EXPECT_EQ(found[0].value[2], static_cast<double>(static_cast<float>(1.0 / 3)));
  EXPECT_EQ(found[1].key, (SeriesKey{"result/test/top1", "", R"({"resolution":28})"}));
  EXPECT_EQ(found[2].key, (SeriesKey{"result/test/top1", "", R"({"resolution":42})"}));
  EXPECT_EQ(found[3].key, (SeriesKey{"top1", "validation", R"({"resolution":42})"})) << "its tag has no =";
  EXPECT_THAT(found[3].value, ElementsAre(50.5, 62.25));
}

TEST(EventFile, OfOthersGivesScalarsOfBothKindsAndCountsTheRest) {
  const ReadEvents read = read_events(kept_file("mixed.tfevents"));
  ASSERT_TRUE(read.status.ok()) << read.status;
  const auto found = read.gathered.series().value();
  EXPECT_THAT(keys_of(found), ElementsAre(SeriesKey{"epoch_loss", "", "{}"}, SeriesKey{"eval/accuracy", "", "{}"},
                                          SeriesKey{"loss", "validation", "{}"}, SeriesKey{"lr", "", "{}"}));
  EXPECT_THAT(found[0].value, ElementsAre(0.5, 0.25, 0.125)) << "the plugin is named with the first alone";
  EXPECT_THAT(found[1].value, ElementsAre(0.1)) << "a double stays one";
  EXPECT_EQ(read.gathered.left_out(), 3) << "a histogram, a text and a curve of several numbers";
  EXPECT_FALSE(read.end.cut_off);
}

TEST(EventFile, OfARunThatWasStartedAgainGivesWhatWasWrittenLast) {
  const auto found = series_in(kept_file("mixed.tfevents"));
  ASSERT_THAT(found, SizeIs(4));
  EXPECT_THAT(found[2].step, ElementsAre(5, 7));
  EXPECT_THAT(found[2].value, ElementsAre(4.0, 2.0));
  EXPECT_THAT(found[2].time_us, ElementsAre(1'700'000'020'000'000, 1'700'000'030'000'000));
}

TEST(EventFile, KnowsTheSettingsOfTheHparamsTab) {
  EXPECT_TRUE(read_events(kept_file("export/0000-none-seed-0/settings/events.out.tfevents.1700000000.kept"))
                  .gathered.holds_settings());
  EXPECT_FALSE(
      read_events(kept_file("export/0000-none-seed-0/events.out.tfevents.1700000000.kept")).gathered.holds_settings());
}

TEST(EventFile, ThatIsStillBeingWrittenIsReadUpToItsLastWholeRecord) {
  const std::string whole = kept_file("mixed.tfevents");
  for (const std::size_t missing : {std::size_t{1}, std::size_t{5}, std::size_t{40}}) {
    const ReadEvents read = read_events(std::string_view(whole).substr(0, whole.size() - missing));
    EXPECT_TRUE(read.status.ok()) << read.status;
    EXPECT_TRUE(read.end.cut_off) << missing;
    EXPECT_EQ(read.gathered.series().value()[2].value.back(), 3.0) << "the last record replaced it";
  }
}

TEST(EventFile, WithAnyFlippedBitIsRefused) {
  const std::string whole = kept_file("export/0000-none-seed-0/events.out.tfevents.1700000000.kept");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const ReadEvents read = read_events(damaged);
    EXPECT_FALSE(read.status.ok()) << "byte " << at;
    EXPECT_TRUE(has_reason(read.status, ErrorReason::kInvalidArgument));
  }
}

TEST(EventFile, IsNotAnyOtherFile) {
  for (const std::string& bytes : {std::string("step,loss\n1,2\n"), std::string(100, '\0'), std::string("x")}) {
    const ReadEvents read = read_events(bytes);
    EXPECT_THAT(std::string(read.status.message()), HasSubstr("this is no event file of TensorBoard"));
    EXPECT_FALSE(read.gathered.series().ok());
  }
  EXPECT_FALSE(read_events("").status.ok());
}

TEST(Gathered, RenamesASeriesAndRefusesTwoOfOneName) {
  Gathered points;
  ASSERT_TRUE(points.add("acc", 1, 0, 0.5).ok());
  ASSERT_TRUE(points.add("val/top1", 1, 0, 0.75).ok());
  const auto renamed = points.series({{"acc", "train/top1"}}).value();
  EXPECT_THAT(keys_of(renamed), ElementsAre(SeriesKey{"top1", "train", "{}"}, SeriesKey{"top1", "validation", "{}"}));
  const auto twice = points.series({{"acc", "validation/top1"}});
  EXPECT_THAT(std::string(twice.status().message()), HasSubstr("\"acc\" and \"val/top1\" are one series"));
  const auto unknown = points.series({{"accuracy", "top1"}});
  EXPECT_THAT(std::string(unknown.status().message()), HasSubstr("there are acc, val/top1"));
}

TEST(Gathered, RefusesNothingNegativeStepsAndMoreThanAnImportHolds) {
  Gathered points;
  EXPECT_FALSE(points.series().ok());
  EXPECT_FALSE(points.add("loss", -1, 0, 1).ok());
  for (std::int64_t step = 0; step < kForeignPointsMost; ++step) ASSERT_TRUE(points.add("loss", step, 0, 1).ok());
  ASSERT_TRUE(points.add("loss", 7, 0, 2).ok());
  EXPECT_TRUE(points.series().ok()) << "the same step again is no further point";
  ASSERT_TRUE(points.add("loss", kForeignPointsMost, 0, 1).ok());
  EXPECT_TRUE(has_reason(points.series().status(), ErrorReason::kLimitExceeded));
  EXPECT_THAT(keys_of({}), IsEmpty());
}

}  // namespace
}  // namespace locus
