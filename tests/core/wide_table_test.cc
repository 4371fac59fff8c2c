// Tables of series: what is read of them, and what is refused.
#include "core/foreign/wide_table.h"

#include <gmock/gmock.h>

#include <cmath>

#include "core/base/error.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<ForeignSeries> table_of(const std::string& text) {
  Gathered gathered;
  const absl::Status read = read_wide_table(text, &gathered);
  EXPECT_TRUE(read.ok()) << read;
  auto series = gathered.series();
  EXPECT_TRUE(series.ok()) << series.status();
  return series.value_or(std::vector<ForeignSeries>());
}

std::string refusal_of(const std::string& text) {
  Gathered gathered;
  const absl::Status read = read_wide_table(text, &gathered);
  EXPECT_TRUE(has_reason(read, ErrorReason::kInvalidArgument)) << text;
  return std::string(read.message());
}

TEST(WideTable, GivesASeriesForEachColumnAndNoPointForAnEmptyCell) {
  const auto found = table_of("step,train/loss,validation/top1/resolution=42\n0,2.5,\n10,nan,50\n20.0,-inf,+1e1\n");
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].key, (SeriesKey{"loss", "train", "{}"}));
  EXPECT_THAT(found[0].step, ElementsAre(0, 10, 20));
  EXPECT_EQ(found[0].value[0], 2.5);
  EXPECT_TRUE(std::isnan(found[0].value[1]));
  EXPECT_TRUE(std::isinf(found[0].value[2]) && found[0].value[2] < 0);
  EXPECT_EQ(found[1].key, (SeriesKey{"top1", "validation", R"({"resolution":42})"}));
  EXPECT_THAT(found[1].step, ElementsAre(10, 20));
  EXPECT_THAT(found[1].value, ElementsAre(50, 10));
}

TEST(WideTable, OfTensorBoardAndWandbIsReadAsTheyWriteIt) {
  const auto board = table_of("Wall time,Step,Value\r\n1700000000.5,3,0.25\r\n");
  ASSERT_THAT(board, SizeIs(1));
  EXPECT_EQ(board[0].key.metric, "Value");
  EXPECT_THAT(board[0].time_us, ElementsAre(1'700'000'000'500'000));
  const auto wandb = table_of("\xef\xbb\xbf\"_step\",\"_timestamp\",\"val/acc, \"\"top\"\"\"\n\"7\",\"1\",\"0.5\"");
  ASSERT_THAT(wandb, SizeIs(1));
  EXPECT_EQ(wandb[0].key, (SeriesKey{"acc, \"top\"", "validation", "{}"}));
  EXPECT_THAT(wandb[0].step, ElementsAre(7));
}

TEST(WideTable, OrdersRowsByStep) {
  const auto found = table_of("step,loss\n5,1\n2,3\n");
  EXPECT_THAT(found[0].step, ElementsAre(2, 5));
  EXPECT_THAT(found[0].value, ElementsAre(3, 1));
}

TEST(WideTable, SaysWhereItIsWrongAndWhatToDo) {
  EXPECT_THAT(refusal_of(""), HasSubstr("the file is empty"));
  EXPECT_THAT(refusal_of("epoch,loss\n1,2\n"), HasSubstr("no column is called step"));
  EXPECT_THAT(refusal_of("step,metric,value\n1,loss,2\n"), HasSubstr("this is a long table"));
  EXPECT_THAT(refusal_of("step,loss,loss\n1,2,3\n"), HasSubstr("column \"loss\": stands twice"));
  EXPECT_THAT(refusal_of("step,_step,loss\n1,2,3\n"), HasSubstr("column \"_step\": stands twice"));
  EXPECT_THAT(refusal_of("step,loss\n1,2\n2,abc\n"), HasSubstr("line 3, column \"loss\": \"abc\" is no number"));
  EXPECT_THAT(refusal_of("step,loss\n1,0x10\n"), HasSubstr("no number"));
  EXPECT_THAT(refusal_of("step,loss\n1.5,2\n"), HasSubstr("line 2, column \"step\": \"1.5\" is no whole number"));
  EXPECT_THAT(refusal_of("step,loss\n-1,2\n"), HasSubstr("no whole number from 0 on"));
  EXPECT_THAT(refusal_of("step,loss\n1,2\n1,3\n"), HasSubstr("step 1 stands a second time: a file holds one run"));
  EXPECT_THAT(refusal_of("step,loss\n1,2,3\n"), HasSubstr("line 2: has 3 fields, and the header 2"));
  EXPECT_THAT(refusal_of("step,\"loss\n1,2\n"), HasSubstr("does not end with a quote"));
  EXPECT_THAT(refusal_of("step,\"a\nb\"\n1,2\n2,x\n"), HasSubstr("line 4")) << "a line end within a field counts";
}

TEST(WideTable, WithoutARowHoldsNothingToImport) {
  Gathered gathered;
  ASSERT_TRUE(read_wide_table("step,loss\n", &gathered).ok());
  EXPECT_FALSE(gathered.series().ok());
}

}  // namespace
}  // namespace locus
