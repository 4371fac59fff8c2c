// The leaderboard in its four forms, letter by letter.
#include "cli/render/leaderboard.h"

#include <gmock/gmock.h>

#include <fstream>
#include <limits>
#include <sstream>

namespace locus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

v1::TableRow row(const std::string& label, double mean, double std) {
  v1::TableRow out;
  out.set_label(label);
  out.set_assignment_json("{\"prior\":[{\"" + label + "\":{}}]}");
  out.set_n(5);
  out.set_mean(mean);
  out.set_std(std);
  out.set_ci_low(mean - std);
  out.set_ci_high(mean + std);
  for (const auto set :
       {&v1::TableRow::set_difference, &v1::TableRow::set_difference_std, &v1::TableRow::set_difference_low,
        &v1::TableRow::set_difference_high, &v1::TableRow::set_p_sign_flip, &v1::TableRow::set_p_floor,
        &v1::TableRow::set_p_t, &v1::TableRow::set_p_holm, &v1::TableRow::set_ms_per_step,
        &v1::TableRow::set_ms_per_step_std, &v1::TableRow::set_selection}) {
    (out.*set)(kNan);
  }
  out.set_parameters(-1);
  out.set_parameters_added(-1);
  return out;
}

v1::Table demo() {
  v1::Table table;
  table.set_experiment("demo");
  table.set_metric("top1");
  table.set_split("test");
  table.set_labels("{\"resolution\":28}");
  table.set_unit("%");
  table.set_direction("max");
  table.set_baseline("learned_absolute");
  table.set_seeds(5);
  table.set_correction("holm over 1 comparison");
  table.set_matched("only the prior differs");
  table.add_warnings("'none' has no result for seed 3");

  v1::TableRow violin = row("learned_absolute + violin", 83.123456, 0.25);
  violin.set_pairs(5);
  violin.set_difference(0.6172);
  violin.set_difference_std(0.1);
  violin.set_p_sign_flip(0.0625);
  violin.set_p_floor(0.0625);
  violin.set_p_holm(0.0625);
  violin.set_parameters(101234);
  violin.set_parameters_added(1234);
  violin.set_ms_per_step(20.25);
  *table.add_rows() = violin;
  v1::TableRow learned = row("learned_absolute", 82.5, 0.31);
  learned.set_baseline(true);
  learned.set_parameters_added(0);
  learned.set_ms_per_step(18.04);
  *table.add_rows() = learned;
  v1::TableRow none = row("none", kNan, kNan);
  none.set_n(0);
  none.set_ci_low(kNan);
  none.set_ci_high(kNan);
  for (int seed = 0; seed < 5; ++seed) none.add_missing_seeds(seed);
  *table.add_rows() = none;

  for (const v1::TableRow& one : table.rows()) {
    v1::SweepSeries* series = table.add_sweep();
    series->set_label(one.label());
    for (const int resolution : {56, 28}) {
      if (one.n() == 0 && resolution == 56) continue;
      v1::SweepPoint* point = series->add_points();
      point->set_labels("{\"resolution\":" + std::to_string(resolution) + "}");
      point->set_x(resolution);
      point->set_mean(one.n() == 0 ? kNan : one.mean() - resolution / 28 + 1);
      point->set_std(one.n() == 0 ? kNan : 0.5);
      point->set_n(one.n());
    }
  }
  return table;
}

std::string golden(const std::string& name) {
  std::ifstream in(std::string(LOCUS_TEST_DATA) + "/" + name);
  EXPECT_TRUE(in.good()) << name;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Leaderboard, AsText) { EXPECT_EQ(render_leaderboard(demo(), TableFormat::kTable), golden("leaderboard.txt")); }

TEST(Leaderboard, SaysWhatOfASeriesCounts) {
  v1::Table table = demo();
  table.set_reduce("best");
  table.set_selects_on("validation");
  EXPECT_THAT(render_leaderboard(table, TableFormat::kTable),
              HasSubstr("on test at resolution 28, best on validation, "));
  table.set_reduce("last");
  table.clear_selects_on();
  EXPECT_EQ(render_leaderboard(table, TableFormat::kTable), golden("leaderboard.txt"))
      << "the last value is the usual one";
}

TEST(Leaderboard, AsMarkdown) {
  EXPECT_EQ(render_leaderboard(demo(), TableFormat::kMarkdown), golden("leaderboard.md"));
}

TEST(Leaderboard, AsLatex) { EXPECT_EQ(render_leaderboard(demo(), TableFormat::kLatex), golden("leaderboard.tex")); }

TEST(Leaderboard, AsCsvWithEveryDigit) {
  EXPECT_EQ(render_leaderboard(demo(), TableFormat::kCsv), golden("leaderboard.csv"));
}

TEST(Leaderboard, SweepAsCsv) { EXPECT_EQ(render_sweep_csv(demo()), golden("sweep.csv")); }

TEST(Leaderboard, LeavesOutWhatNoRowHas) {
  v1::Table table = demo();
  table.clear_baseline();
  table.clear_sweep();
  table.clear_correction();
  const std::string text = render_leaderboard(table, TableFormat::kTable);
  EXPECT_THAT(text, Not(HasSubstr("p (Holm)")));
  EXPECT_THAT(text, Not(HasSubstr("vs ")));
  EXPECT_THAT(text, Not(HasSubstr("resolution 56")));
}

TEST(Leaderboard, LetsNoNameDriveTheTerminal) {
  v1::Table table = demo();
  table.mutable_rows(0)->set_label("evil\033[2J\nname");
  for (const TableFormat format : {TableFormat::kTable, TableFormat::kMarkdown, TableFormat::kLatex}) {
    EXPECT_THAT(render_leaderboard(table, format), Not(HasSubstr("\033")));
    EXPECT_THAT(render_leaderboard(table, format),
                HasSubstr(format == TableFormat::kMarkdown ? "evil \\[2J name" : "evil [2J name"));
  }
}

TEST(Leaderboard, MarksMeansAsThePaperTableDoes) {
  v1::Table table = demo();
  table.mutable_rows(1)->set_mean(table.rows(0).mean());
  table.mutable_rows(2)->set_mean(80);
  const std::string latex = render_leaderboard(table, TableFormat::kLatex);
  EXPECT_THAT(latex, HasSubstr("\\textbf{\\boldmath $83.12 \\pm 0.25$}"));
  EXPECT_THAT(latex, HasSubstr("\\textbf{\\boldmath $83.12 \\pm 0.31$}")) << "equal means share the mark";
  EXPECT_THAT(latex, Not(HasSubstr("\\underline"))) << "two best leave no second";
  table.clear_rows();
  *table.add_rows() = row("alone", 80, 1);
  EXPECT_THAT(render_leaderboard(table, TableFormat::kLatex), Not(HasSubstr("\\textbf")));
}

TEST(Leaderboard, EscapesMarkup) {
  v1::Table table = demo();
  table.mutable_rows(0)->set_label("a|b_c & 50% {x} \"q\", z");
  EXPECT_THAT(render_leaderboard(table, TableFormat::kMarkdown), HasSubstr("a\\|b\\_c &amp; 50%"));
  EXPECT_THAT(render_leaderboard(table, TableFormat::kLatex), HasSubstr("a$|$b\\_c \\& 50\\% \\{x\\}"));
  EXPECT_THAT(render_leaderboard(table, TableFormat::kCsv), HasSubstr("\"a|b_c & 50% {x} \"\"q\"\", z\""));
}

}  // namespace
}  // namespace locus
