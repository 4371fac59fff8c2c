// What makes numbers set side by side incomparable.
#include "core/analysis/comparability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace locus {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Cells in one column, one training each; the first is the reference of all.
class Comparability : public testing::Test {
 protected:
  CellEnvironments& add(const std::string& environment) {
    if (cells_.size() <= static_cast<std::size_t>(next_)) cells_.emplace_back();
    CellEnvironments& cell = cells_[static_cast<std::size_t>(next_++)];
    cell.reference = 0;
    environments_.add("train", environment, &cell.stages);
    return cell;
  }
  EnvironmentFindings found() const { return compare_environments(environments_, cells_, "row"); }

  Environments environments_;
  std::vector<CellEnvironments> cells_;
  int next_ = 0;
};

TEST_F(Comparability, LetsAlikeEnvironmentsPass) {
  add(R"({"device":"cuda:0","dtype":"float32","threads":1,"build":"a","path":"flash"})");
  add(R"({"device":"cuda:3","dtype":"float32","threads":1,"build":"a","path":"explicit"})");
  EXPECT_THAT(found().sentences, IsEmpty()) << "neither a device's index nor another prior's path is a difference";
  EXPECT_THAT(found().flags, ElementsAre(IsEmpty(), IsEmpty()));
}

TEST_F(Comparability, NamesEveryPropertyThatDiffersFromTheReference) {
  for (const char* other : {R"("device":"cuda:0")", R"("dtype":"bfloat16")", R"("threads":8)", R"("build":"b")"}) {
    cells_.clear(), environments_ = {}, next_ = 0;
    add(R"({"device":"cpu","dtype":"float32","threads":1,"build":"a"})");
    add(std::string("{") + other + "}");
    ASSERT_EQ(found().sentences.size(), 1u) << other;
    EXPECT_THAT(found().sentences[0], testing::EndsWith(" of 1 row: differences may come from it"));
    EXPECT_THAT(found().flags[0], IsEmpty());
    EXPECT_THAT(found().flags[1],
                ElementsAre(std::string_view(other).starts_with("\"device") ? kMixedDevices : kMixedEnvironment));
  }
}

TEST_F(Comparability, TellsEnginesApartAndTakesAnUnnamedOneForOurs) {
  add(R"({"device":"cpu"})");
  add(R"({"device":"cpu","engine":"own-training"})");
  add(R"({"device":"cpu","engine":"locus"})");
  EXPECT_THAT(found().flags, ElementsAre(IsEmpty(), ElementsAre(kMixedEngine), IsEmpty()));
  EXPECT_THAT(found().sentences,
              ElementsAre("mixed engine in train stages (locus, own-training) of 1 row: differences may come from it"));
}

TEST_F(Comparability, TellsSeveralDevicesFromOneAndTakesAnUnsaidNumberForOne) {
  add(R"({"device":"cpu"})");
  add(R"({"device":"cpu","world":4})");
  add(R"({"device":"cpu","world":1})");
  EXPECT_THAT(found().flags, ElementsAre(IsEmpty(), ElementsAre(kMixedDevices), IsEmpty()));
  EXPECT_THAT(found().sentences,
              ElementsAre("mixed number of devices in train stages (1, 4) of 1 row: differences may come from it"));
}

TEST_F(Comparability, ComparesWithTheWholeColumnWithoutAReference) {
  add(R"({"device":"cpu"})").reference = -1;
  add(R"({"device":"cuda"})").reference = -1;
  CellEnvironments& elsewhere = add(R"({"device":"cpu"})");
  elsewhere.reference = -1;
  elsewhere.column = 1;
  EXPECT_THAT(found().flags, ElementsAre(ElementsAre(kMixedDevices), ElementsAre(kMixedDevices), IsEmpty()));
}

TEST_F(Comparability, HoldsThePathOfOneCellsSeedsTogether) {
  CellEnvironments& cell = add(R"({"path":"flash"})");
  environments_.add("train", R"({"path":"explicit"})", &cell.stages);
  EXPECT_THAT(found().sentences,
              ElementsAre("mixed path in train stages (explicit, flash) of 1 row: differences may come from it"));
}

}  // namespace
}  // namespace locus
