// The form of claims: what is read, and what is refused with the line it stands on.
#include <gmock/gmock.h>

#include <cmath>

#include "core/base/error.h"
#include "core/claims/match.h"
#include "tests/claims/support.h"

namespace locus::test {
namespace {

using testing::HasSubstr;

constexpr char kPaper[] = R"(version: 1
paper: {id: test, title: A test}
tables:
  - table: Table 1
    caption: Two ways.
    setting: {task: classification, dataset: imagenet-1k, lr: 6.0e-4}
    metric: {name: top1, unit: "%", direction: max}
    n: 3
    baseline: {row: None}
    columns: [Small, {column: Large, setting: {model: ViT-L}}]
    rows:
      - {row: None, prior: [none], values: [70.0, 71.0], std: [0.5, null]}
      - {row: Curves, prior: [{violin: {curves: [hilbert]}}], loosely: {violin: {alpha: false}}, values: [72.5, null]}
      - {row: Both, prior: null, against: Curves, values: [73.0, 74.0], differences: [0.6, null], note: As printed.}
)";

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kPaper;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

PaperClaims parsed(const std::string& text) {
  const auto json = parse_claims_text(text, "test.yaml");
  EXPECT_TRUE(json.ok()) << json.status();
  return *parse_paper(*json);
}

TEST(Claims, AreEveryNumberWithAllThatIsSaidOfIt) {
  const ClaimTable table = parsed(kPaper).tables.front();
  ASSERT_EQ(table.values.size(), 5u);  // null is no claim
  const ClaimValue& small = table.values[0];
  EXPECT_DOUBLE_EQ(small.std, 0.5);
  EXPECT_EQ(small.n, 3);
  EXPECT_EQ(small.against, "");  // the baseline itself
  EXPECT_TRUE(std::isnan(small.difference));
  EXPECT_EQ(small.setting.at("lr"), "0.0006");
  const ClaimValue& curves = table.values[2];
  EXPECT_EQ(curves.against, "None");
  EXPECT_DOUBLE_EQ(curves.difference, 2.5);  // by subtraction
  EXPECT_EQ(priors_json(curves.priors), R"([{"violin":{"curves":["hilbert"]}}])");
  EXPECT_EQ(curves.priors[0].loosely, Json({{"alpha", false}}));
  const ClaimValue& both = table.values[3];
  EXPECT_TRUE(both.priors.empty());
  EXPECT_EQ(both.against, "Curves");
  EXPECT_DOUBLE_EQ(both.difference, 0.6);  // as printed, though 0.5 apart
  EXPECT_EQ(both.note, "As printed.");
  const ClaimValue& large = table.values[4];
  EXPECT_EQ(large.setting.at("model"), "ViT-L");
  EXPECT_EQ(large.against, "");  // nothing is printed where it would be compared
}

struct Refusal {
  std::string name, from, to, says;
  int line;
};

class RefusedClaims : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedClaims, SayTheLineAndTheReason) {
  const auto found = parse_claims_text(changed(GetParam().from, GetParam().to), "test.yaml");
  ASSERT_FALSE(found.ok());
  const std::string message(found.status().message());
  EXPECT_THAT(message, HasSubstr(GetParam().says));
  const auto detail = error_detail(found.status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->metadata.at("where"), "test.yaml:" + std::to_string(GetParam().line)) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Forms, RefusedClaims,
    testing::Values(
        Refusal{"MissingKey", "caption:", "captoin:", "the key 'caption' is missing", 4},
        Refusal{"UnknownKey", "    n: 3\n", "    n: 3\n    seeds: 3\n", "unknown key 'seeds'", 9},
        Refusal{"UnknownSetting", "dataset:", "datset:", "did you mean 'dataset'", 6},
        Refusal{"UnknownKeyOfARow", "{row: None, prior", "{row: None, pior", "did you mean 'prior'", 12},
        Refusal{"TooFewNumbers", "[70.0, 71.0]", "[70.0]", "1 numbers for 2 columns", 12},
        Refusal{"TextForANumber", "[70.0, 71.0]", "[70.0, \"71\"]", "expected a number or null", 12},
        Refusal{"RowTwice", "{row: Both,", "{row: None,", "'None' is given twice", 14},
        Refusal{"AgainstNoRow", "against: Curves", "against: Curvs", "no row 'Curvs'", 14},
        Refusal{"BaselineOfRowAndColumn", "baseline: {row: None}", "baseline: {row: None, column: Small}",
                "one row, one column or one table", 9},
        Refusal{"UnknownDirection", "direction: max", "direction: up", "max or min", 7},
        Refusal{"NoPrior", "prior: [none], ", "", "on one of them", 12},
        Refusal{"PriorOnRowAndColumn", "{column: Large,", "{column: Large, prior: [none],", "on one of them", 12},
        Refusal{"PriorAsText", "prior: [none]", "prior: none", "a list of priors, or null", 12},
        Refusal{"NoMetric", "    metric: {name: top1, unit: \"%\", direction: max}\n", "", "names a metric", 11},
        Refusal{"CellOfNoColumn", "std: [0.5, null]", "std: [0.5, null], cells: {Huge: {note: x}}", "no column 'Huge'",
                12},
        Refusal{"UnknownMetric", "name: top1", "name: top2", "metric 'top2' in '%' is not in", 12},
        Refusal{"UnknownUnit", "unit: \"%\"", "unit: share", "metric 'top1' in 'share' is not in", 12},
        Refusal{"CodeWithoutOptions", "title: A test}", "title: A test, code: {violin: 1}}", "options of violin", 2},
        Refusal{"DifferencesFromNoTable", "baseline: {row: None}", "baseline: {table: Table 2}",
                "there is no other table 'Table 2'", 9},
        Refusal{"OtherVersion", "version: 1", "version: 2", "version is 1", 1},
        Refusal{"TableTwice", "    caption", "    table: Table 1\n    caption", "given twice", 5}),
    [](const auto& test) { return test.param.name; });

TEST(Claims, MayDifferFromAnotherTableWhereDifferencesArePrinted) {
  std::string text = kPaper;
  std::string second = text.substr(text.find("  - table:"));
  second.replace(second.find("Table 1"), 7, "Table 2");
  second.replace(second.find("{row: None}"), 11, "{table: Table 1}");
  second.replace(second.find(", against: Curves"), 17, "");
  const PaperClaims paper = parsed(text + second);
  const ClaimTable& table = paper.tables[1];
  const ClaimValue& both = table.values[3];
  EXPECT_EQ(both.against, "Table 1");
  EXPECT_TRUE(both.printed_difference);
  EXPECT_EQ(baseline_of(paper, table, both), &paper.tables[0].values[3]);
  EXPECT_EQ(table.values[0].against, "");  // nothing printed: nothing subtracted from another table
  EXPECT_TRUE(std::isnan(table.values[0].difference));
}

TEST(Claims, TellWhatIsKnownFromCodeFromWhatIsPrinted) {
  const PaperClaims paper =
      parsed(changed("title: A test}", "title: A test, code: {violin: {alpha: true, a_min: 4}}}"));
  const ClaimPrior& violin = paper.tables[0].values[2].priors[0];
  EXPECT_EQ(violin.loosely, Json({{"alpha", false}}));
  EXPECT_EQ(violin.code, Json({{"alpha", true}, {"a_min", 4}}));
  std::vector<std::string> options;
  for (const SettingDifference& one : claimed_options(paper.tables[0].values[2])) options.push_back(to_string(one));
  EXPECT_THAT(options, testing::ElementsAre("violin.alpha: false in the paper, not known here",
                                            "violin.a_min: 4 in the paper's code, not known here"));
}

TEST(Claims, OfTheSameTableTwiceAreRefused) {
  std::string text = kPaper;
  text += text.substr(text.find("  - table:"));
  const auto found = parse_claims_text(text, "test.yaml");
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(std::string(found.status().message()), HasSubstr("Table 1 is given twice"));
}

TEST(Claims, OfTheSamePaperTwiceAreRefused) {
  const Json paper = *parse_claims_text(kPaper, "test.yaml");
  EXPECT_FALSE(parse_claims({{"version", 1}, {"papers", {paper, paper}}}).ok());
  EXPECT_TRUE(parse_claims({{"version", 1}, {"papers", {paper}}}).ok());
}

TEST(Claims, ThatNameWhatTheCatalogHasNotAreFound) {
  const Catalog catalog = engine_catalog();
  EXPECT_TRUE(check_claims(parsed(kPaper), catalog).ok());
  const absl::Status prior = check_claims(parsed(changed("[{violin:", "[{violn:")), catalog);
  EXPECT_TRUE(has_reason(prior, ErrorReason::kUnknownPrior)) << prior;
  EXPECT_FALSE(check_claims(parsed(changed("curves: [hilbert]", "curvs: [hilbert]")), catalog).ok());
  EXPECT_FALSE(check_claims(parsed(changed("{alpha: false}", "{alfa: false}")), catalog).ok());
}

}  // namespace
}  // namespace locus::test
