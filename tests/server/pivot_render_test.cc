// The pivot table as documents: golden files, hostile labels, the same numbers in every format, and a real
// LaTeX where one is installed. LOCUS_UPDATE_GOLDEN=1 writes the files anew.
#include "server/analysis/pivot_render.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "core/base/json.h"

namespace locus::server {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const std::vector<std::string> kFormats = {"text", "latex", "markdown", "csv", "html", "json"};

v1::PaperCell cell(double mean, double std, int trial) {
  v1::PaperCell out;
  out.set_n(3);
  out.set_mean(mean);
  out.set_std(std);
  out.set_low(mean - 2 * std);
  out.set_high(mean + 2 * std);
  for (auto set : {&v1::PaperCell::set_difference, &v1::PaperCell::set_difference_std,
                   &v1::PaperCell::set_difference_low, &v1::PaperCell::set_difference_high, &v1::PaperCell::set_p,
                   &v1::PaperCell::set_p_floor, &v1::PaperCell::set_p_adjusted})
    (out.*set)(kNaN);
  for (int seed = 0; seed < 3; ++seed) out.add_trials("exp/" + std::to_string(trial + seed));
  return out;
}

// Two rows by two datasets and two metrics, with every kind of mark; `name` is the second row's label.
v1::PaperTable table(const std::string& name) {
  v1::PaperTable out;
  out.add_row_axes("prior");
  out.add_column_axes("dataset");
  out.add_column_axes("metric");
  for (const std::string& label : {std::string("none"), name}) {
    auto* row = out.add_rows();
    row->add_keys("\"x\"");
    row->add_labels(label);
    row->set_baseline(out.rows_size() == 1);
  }
  for (const char* dataset : {"fashion-mnist", "cifar-10"}) {
    for (const char* metric : {"top1", "loss"}) {
      auto* column = out.add_columns();
      column->add_labels(dataset);
      column->add_labels(metric);
      column->set_metric(metric);
      column->set_split("test");
      column->set_reduce("last");
      column->set_unit(metric == std::string("top1") ? "%" : "");
      column->set_direction(metric == std::string("top1") ? "max" : "min");
    }
  }
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& one : {cell(79.5, 0.25, 0), cell(0.75, 0.01, 3), cell(60, 1, 6), cell(infinity, kNaN, 9),
                          cell(82.125, 0.5, 12), cell(0.5, 0.02, 15), cell(61.5, 1.5, 18), cell(kNaN, kNaN, 21)})
    *out.add_cells() = one;
  out.mutable_cells(3)->add_flags("not-finite");
  out.mutable_cells(7)->add_flags("not-finite");
  auto* best = out.mutable_cells(4);
  best->set_best(true);
  best->set_pairs(3);
  best->set_difference(2.625);
  best->set_difference_std(0.5);
  best->set_p(0.01);
  best->set_p_adjusted(0.02);
  best->set_significant(true);
  best->set_seeds_needed(12);
  out.mutable_cells(0)->set_second(true);
  auto* few = out.mutable_cells(6);
  few->set_n(2);
  few->add_missing_seeds(2);
  few->add_failed_seeds(2);
  few->add_flags("missing-seeds");
  few->add_flags("failed-seeds");
  for (int row = 0; row < 2; ++row) {
    auto* summary = out.add_summaries();
    summary->set_row(row);
    summary->set_metric("top1");
    summary->set_columns(2 - row);
    summary->set_columns_total(2);
    summary->set_mean(70 + row);
    summary->set_iqm(69.5 + row);
    summary->set_iqm_low(69 + row);
    summary->set_iqm_high(70 + row);
    summary->set_mean_rank(2 - row);
  }
  out.set_baseline("none");
  out.set_test("sign-flip");
  out.set_level(0.95);
  out.set_alpha(0.05);
  out.add_warnings("'" + name + "' at cifar-10, top1 has no result for seed 2, failed: 2");
  out.add_notes("Bold: the best mean of the column; underlined: the second.");
  return out;
}

v1::GetPaperTableRequest request(const std::string& format) {
  v1::GetPaperTableRequest out;
  out.set_format(format);
  out.set_differences(true);
  out.set_detect(0.5);
  return out;
}

std::string render(const std::string& name, const std::string& format) {
  const auto out = render_pivot_table(table(name), request(format));
  EXPECT_TRUE(out.ok()) << out.status();
  return out.value_or("");
}

class Golden : public testing::TestWithParam<std::string> {};
TEST_P(Golden, IsAsReviewed) {
  const std::filesystem::path file = std::filesystem::path(LOCUS_TEST_GOLDEN) / ("pivot." + GetParam());
  const std::string actual = render("violin", GetParam());
  if (std::getenv("LOCUS_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << actual;
  }
  std::ifstream in(file);
  std::stringstream expected;
  expected << in.rdbuf();
  EXPECT_EQ(actual, expected.str()) << "LOCUS_UPDATE_GOLDEN=1 writes " << file
                                    << " anew: read the difference like code";
}
INSTANTIATE_TEST_SUITE_P(Formats, Golden, testing::ValuesIn(kFormats), [](const auto& param) { return param.param; });

TEST(Render, ShowsTheSameNumbersInEveryFormat) {
  for (const char* format : {"text", "latex", "markdown", "csv", "html"}) {
    const std::string out = render("violin", format);
    for (const char* number : {"79.50", "0.25", "82.12", "+2.62", "61.50"})
      EXPECT_THAT(out, HasSubstr(number)) << format;
    EXPECT_THAT(out, HasSubstr("NaN")) << format;
    EXPECT_THAT(out, testing::AnyOf(HasSubstr("inf"), HasSubstr("\\infty"))) << format;
    if (format != std::string_view("csv")) {
      EXPECT_THAT(out, HasSubstr("1 of 2 columns")) << format;
    }
    if (format != std::string_view("text")) {
      EXPECT_THAT(out, HasSubstr("exp/12 exp/13 exp/14")) << format;
    }
  }
  EXPECT_EQ(Json::parse(render("violin", "json"))["cells"][4]["mean"], 82.125);
  EXPECT_EQ(Json::parse(render("violin", "json"))["summaries"][1]["columns_total"], 2);
}

const char kHostile[] = "=x\\input{a}&%$#_{}~^|<script>\"'--> \n\\end{tabular} \xE6\x97\xA5 \xff";

TEST(Render, LabelsCannotBreakOutOfAnyFormat) {
  EXPECT_THAT(render(kHostile, "html"), Not(HasSubstr("<script>")));
  const std::string latex = render(kHostile, "latex");
  for (std::size_t at = 0; at < latex.size();) {  // outside comments the label's command is gone
    const std::size_t end = latex.find('\n', at);
    const std::string line = latex.substr(at, end - at);
    if (line.find_first_not_of(' ') != std::string::npos && line[line.find_first_not_of(' ')] != '%') {
      EXPECT_THAT(line, Not(HasSubstr("\\input")));
      EXPECT_TRUE(line.find("\\end{tabular}") == std::string::npos || line == "\\end{tabular}") << line;
    }
    at = end + 1;
  }
  const std::string csv = render(kHostile, "csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 9) << "a head and eight cells";
  EXPECT_THAT(csv, HasSubstr("\"'=x"));
  const std::string markdown = render(kHostile, "markdown");
  EXPECT_THAT(markdown, HasSubstr("\\|&lt;script&gt;"));
  const std::size_t comment = markdown.find("<!--");
  EXPECT_EQ(markdown.find("-->", comment), markdown.size() - 4) << "only its own end ends the comment";
}

TEST(Render, RefusesAFormatNobodyKnows) {
  const auto out = render_pivot_table(table("violin"), request("pdf"));
  EXPECT_EQ(out.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(out.status().message()), HasSubstr("choose text, latex, markdown, csv, json or html"));
}

TEST(Render, LatexCompilesWithHostileLabels) {
  if (std::system("command -v pdflatex >/dev/null 2>&1") != 0) GTEST_SKIP() << "no pdflatex here";
  std::string pattern = (std::filesystem::temp_directory_path() / "locus-latex-XXXXXX").string();
  const std::filesystem::path folder = mkdtemp(pattern.data());
  std::ofstream(folder / "t.tex") << "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n"
                                  << render("violin", "latex") << "\n\n"
                                  << render(kHostile, "latex") << "\n\n"
                                  << render("[4pt]", "latex") << "\n\n"
                                  << render("*\xE6\x97\xA5", "latex") << "\\end{document}\n";
  const std::string command =
      "cd " + folder.string() + " && pdflatex -interaction=nonstopmode -halt-on-error -no-shell-escape t.tex";
  EXPECT_EQ(std::system((command + " >/dev/null 2>&1").c_str()), 0);
  std::ifstream log(folder / "t.log");
  std::stringstream text;
  text << log.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("Output written on t.pdf"));
  EXPECT_THAT(text.str(), Not(HasSubstr("Missing character"))) << text.str();
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace locus::server
