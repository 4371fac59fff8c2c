// Every printed table against row and column sums that another hand keyed from the same print.
#include <algorithm>
#include <cmath>
#include <map>

#include "cli/yaml.h"
#include "tests/claims/support.h"

namespace locus::test {
namespace {

constexpr double kNear = 1e-6;  // sums of decimals

// Numbers, deviations and printed differences of a row or column, by the keys of claims/sums.
struct Sum {
  std::string label;
  std::map<std::string, double> sums;
  std::map<std::string, int> counts;

  void add(const char* sum, const char* count, double value) {
    sums[sum] += value;
    ++counts[count];
  }
};

std::vector<Sum> sums_of(const ClaimTable& table, bool rows) {
  std::vector<Sum> out;
  for (const ClaimLine& line : rows ? table.rows : table.columns)
    out.push_back({line.label, {{"sum", 0}}, {{"count", 0}}});
  for (const ClaimValue& value : table.values) {
    Sum& one = out[rows ? value.row : value.column];
    one.add("sum", "count", value.value);
    if (!std::isnan(value.std)) one.add("deviations", "deviation_count", value.std);
    if (value.printed_difference) one.add("differences", "difference_count", value.difference);
  }
  return out;
}

void compare(const std::string& where, const std::vector<Sum>& ours, const Json& keyed, const char* kind) {
  ASSERT_EQ(ours.size(), keyed.size()) << where << ": another number of " << kind << "s was keyed apart";
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].label, keyed[i][kind].get<std::string>()) << where << ", " << kind << " " << i + 1;
    Json rest = keyed[i];
    rest.erase(kind);
    const std::string line = where + ", " + kind + " '" + ours[i].label + "', ";
    for (const auto& [key, count] : ours[i].counts)
      EXPECT_EQ(count, rest.value(key, 0)) << line << key << ": numbers in it";
    for (const auto& [key, sum] : ours[i].sums)
      EXPECT_NEAR(sum, rest.value(key, 0.0), kNear) << line << key << ": look at the print";
    EXPECT_EQ(rest.size(), ours[i].sums.size() + ours[i].counts.size()) << line << "more was keyed: " << rest;
  }
}

TEST(KeyedApart, RowsAndColumnsOfEveryTableHaveTheSameSums) {
  int tables = 0;
  for (const PaperClaims& paper : committed_papers()) {
    const auto document = parse_yaml(contents(kRoot / "claims" / "sums" / (paper.id + ".yaml")));
    ASSERT_TRUE(document.ok()) << paper.id << ": " << document.status();
    EXPECT_EQ(document->json["paper"], paper.id);
    std::map<std::string, Json> keyed;
    for (const Json& table : document->json["tables"]) {
      EXPECT_TRUE(keyed.emplace(table["table"], table).second) << paper.id << ", " << table["table"] << " twice";
    }
    for (const ClaimTable& table : paper.tables) {
      const std::string where = paper.id + ", " + table.table;
      const auto found = keyed.find(table.table);
      ASSERT_NE(found, keyed.end()) << where << ": nobody keyed its sums";
      compare(where, sums_of(table, true), found->second["rows"], "row");
      compare(where, sums_of(table, false), found->second["columns"], "column");
      keyed.erase(found);
      ++tables;
    }
    for (const auto& [table, sums] : keyed) {
      const bool left_out = std::any_of(paper.left_out.begin(), paper.left_out.end(),
                                        [&table = table](const LeftOut& one) { return one.table == table; });
      EXPECT_TRUE(left_out) << paper.id << ", " << table << ": sums were keyed, but it is neither claimed nor left out";
    }
  }
  EXPECT_EQ(tables, 45);
}

// The comparison itself: a number, a deviation or a difference off by its last digit moves a row and a column.
TEST(KeyedApart, AWrongDigitIsNoticed) {
  const ClaimTable table = committed_papers().front().tables.front();  // with all three in its last column
  const auto moved = [&](const char* key, double ClaimValue::*number) {
    ClaimTable wrong = table;
    wrong.values.back().*number += 0.01;
    for (const bool rows : {true, false}) {
      const double off = sums_of(wrong, rows).back().sums.at(key) - sums_of(table, rows).back().sums.at(key);
      EXPECT_GT(std::abs(off), kNear) << key;
    }
  };
  moved("sum", &ClaimValue::value);
  moved("deviations", &ClaimValue::std);
  moved("differences", &ClaimValue::difference);
}

TEST(KeyedApart, AreEveryDeviationAndEveryPrintedDifference) {
  int deviations = 0, differences = 0;
  for (const PaperClaims& paper : committed_papers()) {
    for (const ClaimTable& table : paper.tables) {
      for (const ClaimValue& value : table.values) {
        deviations += std::isnan(value.std) ? 0 : 1;
        differences += value.printed_difference ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(deviations, 30);
  EXPECT_EQ(differences, 113 + 56);
}

}  // namespace
}  // namespace locus::test
