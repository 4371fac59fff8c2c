// What `locus claims` prints.
#include "cli/render/claims.h"

#include <gmock/gmock.h>

#include <limits>

namespace locus {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

v1::Claim* add(v1::ClaimTable& table, const std::string& row, const std::string& column, double value) {
  v1::Claim* claim = table.add_claims();
  claim->set_row(row);
  claim->set_column(column);
  claim->set_value(value);
  claim->set_std(kNaN);
  claim->set_unit("%");
  return claim;
}

v1::ListClaimsResponse response() {
  v1::ListClaimsResponse out;
  v1::ClaimTable& table = *out.add_tables();
  table.set_paper("curves");
  table.set_title("On curves");
  table.set_table("Table 1");
  table.set_caption("Ways.");
  table.set_note("Captions are lost.");
  for (const char* row : {"Learned", "Curves", "Nobody's"}) table.add_rows(row);
  for (const char* column : {"Top-1", "Params"}) table.add_columns(column);
  v1::ClaimSetting& setting = *table.add_setting();
  setting.set_name("dataset");
  setting.set_value("imagenet-1k");
  add(table, "Learned", "Top-1", 75)->set_std(0.5);
  add(table, "Learned", "Params", 5.7)->set_unit("M");
  add(table, "Curves", "Top-1", 79.17)->set_note("Printed twice.");
  v1::ClaimPaper& paper = *out.add_papers();
  paper.set_id("curves");
  paper.set_title("On curves");
  paper.set_tables(1);
  paper.set_claims(1234);
  return out;
}

TEST(Papers, AreALineEach) {
  EXPECT_EQ(render_papers(response()),
            "PAPER   TABLES  NUMBERS  TITLE\n"
            "curves       1    1,234  On curves\n");
}

TEST(ATable, IsPrintedAsInThePaper) {
  EXPECT_EQ(render_claims(response()),
            "curves: On curves\n"
            "\n"
            "Table 1. Ways.\n"
            "  dataset: imagenet-1k\n"
            "\n"
            "                Top-1  Params\n"
            "Learned  75.00 ± 0.50   5.7 M\n"
            "Curves        79.17 *\n"
            "\n"
            "Captions are lost.\n"
            "* Curves, Top-1: Printed twice.\n");
}

TEST(ATable, BesideAnExperimentHasItsSentencesAndSaysOnceHowSettingsDiffer) {
  v1::ListClaimsResponse beside = response();
  v1::ClaimTable& table = *beside.mutable_tables(0);
  table.mutable_setting(0)->set_here("fashion-mnist");
  v1::ClaimMatch& match = *table.mutable_claims(2)->add_measured();
  match.set_label("violin");
  match.set_sentence("paper +4.17 over Learned; here +0.60 ± 0.20, n = 5, other dataset and options");
  match.add_differences("dataset: imagenet-1k in the paper, fashion-mnist here");
  match.add_differences("violin.alpha: false in the paper, true here");
  const std::string text = render_claims(beside);
  EXPECT_THAT(text, testing::HasSubstr("  dataset: imagenet-1k (here fashion-mnist)\n"));
  EXPECT_THAT(text, testing::EndsWith(
                        "Curves, Top-1 = violin\n"
                        "    paper +4.17 over Learned; here +0.60 ± 0.20, n = 5, other dataset and options\n"
                        "    violin.alpha: false in the paper, true here\n"));
}

TEST(ATable, LetsNoNameDriveTheTerminal) {
  v1::ListClaimsResponse hostile = response();
  hostile.mutable_tables(0)->set_caption("\x1b[2Jgone");
  EXPECT_THAT(render_claims(hostile), testing::Not(testing::HasSubstr("\x1b")));
}

}  // namespace
}  // namespace locus
