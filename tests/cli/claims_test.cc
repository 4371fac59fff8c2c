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
            "± is the standard deviation, as printed.\n"
            "* Curves, Top-1: Printed twice.\n");
}

TEST(ATable, BesideAnExperimentHasItsSentencesAndSaysOnceHowSettingsDiffer) {
  v1::ListClaimsResponse beside = response();
  v1::ClaimTable& table = *beside.mutable_tables(0);
  table.mutable_setting(0)->set_here("fashion-mnist");
  v1::ClaimMatch& match = *table.mutable_claims(2)->add_measured();
  match.set_label("violin");
  match.set_sentence("paper +4.17 over Learned; here +0.60 (95 % +0.40 to +0.80), n = 5, other dataset and options");
  match.add_differences("dataset: imagenet-1k in the paper, fashion-mnist here");
  match.add_differences("violin.alpha: false in the paper, true here");
  const std::string text = render_claims(beside);
  EXPECT_THAT(text, testing::HasSubstr("  dataset: imagenet-1k (here fashion-mnist)\n"));
  EXPECT_THAT(text, testing::EndsWith(
                        "Curves, Top-1 = violin\n"
                        "    paper +4.17 over Learned; here +0.60 (95 % +0.40 to +0.80), n = 5, other dataset and "
                        "options\n"
                        "    violin.alpha: false in the paper, true here\n"));
}

TEST(ATable, TellsOptionsOfTheCodeFromThoseOfThePrint) {
  v1::ListClaimsResponse coded = response();
  for (const auto& [name, from] : {std::pair("guidance.lambda", "print"), std::pair("log-cpb.mode", "code")}) {
    for (int claim : {0, 2}) {  // said of two numbers, shown once
      v1::ClaimSetting& option = *coded.mutable_tables(0)->mutable_claims(claim)->add_options();
      option.set_name(name);
      option.set_value("x");
      option.set_from(from);
    }
  }
  EXPECT_THAT(render_claims(coded), testing::HasSubstr("  dataset: imagenet-1k\n"
                                                       "  guidance.lambda: x\n"
                                                       "  log-cpb.mode: x (known from the published code)\n"
                                                       "\n"));
}

TEST(ATable, SaysWhyANumberHasNoCounterpart) {
  v1::ListClaimsResponse grouped = response();
  for (v1::Claim& claim : *grouped.mutable_tables(0)->mutable_claims()) {
    claim.set_metric("mean-accuracy");
    claim.set_unmeasured("the mean over tasks Locus does not have");
  }
  EXPECT_THAT(render_claims(grouped),
              testing::HasSubstr("No counterpart here for mean-accuracy: the mean over tasks Locus does not have.\n"));
}

v1::ClaimSummary* count(v1::ListClaimsResponse& out, const std::string& paper, const std::string& table, int numbers,
                        int agrees, int setting) {
  v1::ClaimSummary* one = out.add_summaries();
  one->set_paper(paper);
  one->set_table(table);
  one->set_numbers(numbers);
  one->set_agrees(agrees);
  one->set_not_comparable(numbers - agrees);
  one->set_same_direction(setting);
  const auto why = [&](const char* name, const char* text, int n) {
    if (n == 0) return;
    v1::ClaimCount* reason = one->add_why();
    reason->set_name(name);
    reason->set_text(text);
    reason->set_count(n);
  };
  why("no-method", "no such method in Locus", numbers - agrees - setting);
  why("setting", "another setting", setting);
  if (setting > 0) {
    v1::ClaimCount* dataset = one->add_settings();
    dataset->set_name("dataset");
    dataset->set_count(setting);
  }
  return one;
}

TEST(Counts, AreALineAPaper) {
  v1::ListClaimsResponse out;
  count(out, "curves", "", 1200, 3, 40);
  count(out, "curves", "Table 1", 1200, 3, 40);
  count(out, "decays", "", 10, 0, 0);
  EXPECT_EQ(
      render_claims_summary(out, "mine"),
      "PAPER   NUMBERS  AGREES  CONTRADICTS  UNDECIDED  SAME WAY  OTHER WAY  OPEN  NOT COMPARABLE\n"
      "curves    1,200       3            0          0        40          0     0  1,197: 1,157 no-method, 40 setting\n"
      "decays       10       0            0          0         0          0     0  10: 10 no-method\n"
      "\n"
      "Not comparable, because of:\n"
      "  no-method: no such method in Locus\n"
      "  setting: another setting (dataset 40)\n"
      "Same way, other way, open: of another setting, where the 95 % interval of the measured difference lies.\n"
      "By table: locus claims PAPER --experiment mine; every number: --table 'Table 1', or --all\n");
}

TEST(Counts, AreALineATableOfOnePaper) {
  v1::ListClaimsResponse out;
  count(out, "curves", "", 30, 3, 4);
  count(out, "curves", "Table 1", 20, 3, 4);
  count(out, "curves", "Table 2", 10, 0, 0);
  const std::string text = render_claims_summary(out, "mine");
  EXPECT_THAT(text, testing::HasSubstr("\nTable 1       20       3 "));
  EXPECT_THAT(text, testing::HasSubstr("\nall           30       3 "));
  EXPECT_THAT(text, testing::HasSubstr("\nNothing measured of Table 2.\n"));
  EXPECT_THAT(text, testing::HasSubstr("locus claims curves --experiment mine --table 'Table 1', or --all\n"));
}

TEST(ATable, LetsNoNameDriveTheTerminal) {
  v1::ListClaimsResponse hostile = response();
  hostile.mutable_tables(0)->set_caption("\x1b[2Jgone");
  EXPECT_THAT(render_claims(hostile), testing::Not(testing::HasSubstr("\x1b")));
}

}  // namespace
}  // namespace locus
