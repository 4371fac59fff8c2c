// Every printed table against row and column sums that another hand keyed from the same print.
#include <algorithm>
#include <cmath>
#include <map>

#include "cli/yaml.h"
#include "tests/claims/support.h"

namespace locus::test {
namespace {

constexpr double kNear = 1e-6;  // sums of decimals

struct Sum {
  std::string label;
  double sum = 0;
  int count = 0;
};

std::vector<Sum> sums_of(const ClaimTable& table, bool rows) {
  std::vector<Sum> out;
  for (const ClaimLine& line : rows ? table.rows : table.columns) out.push_back({line.label, 0, 0});
  for (const ClaimValue& value : table.values) {
    Sum& one = out[rows ? value.row : value.column];
    one.sum += value.value;
    ++one.count;
  }
  return out;
}

void compare(const std::string& where, const std::vector<Sum>& ours, const Json& keyed, const char* kind) {
  ASSERT_EQ(ours.size(), keyed.size()) << where << ": another number of " << kind << "s was keyed apart";
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].label, keyed[i][kind].get<std::string>()) << where << ", " << kind << " " << i + 1;
    EXPECT_EQ(ours[i].count, keyed[i]["count"].get<int>())
        << where << ", " << kind << " '" << ours[i].label << "': numbers in it";
    EXPECT_NEAR(ours[i].sum, keyed[i]["sum"].get<double>(), kNear)
        << where << ", " << kind << " '" << ours[i].label << "': sum; look at the print";
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
      EXPECT_TRUE(keyed.emplace(table["table"], table).second)
          << paper.id << ", " << table["table"] << " twice";
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
      EXPECT_TRUE(left_out) << paper.id << ", " << table
                            << ": sums were keyed, but it is neither claimed nor left out";
    }
  }
  EXPECT_EQ(tables, 45);
}

// The comparison itself: a number off by its last digit moves a row and a column.
TEST(KeyedApart, AWrongDigitIsNoticed) {
  ClaimTable table = committed_papers().front().tables.front();
  const std::vector<Sum> before = sums_of(table, true);
  table.values.front().value += 0.01;
  const std::vector<Sum> after = sums_of(table, true);
  EXPECT_GT(std::abs(after.front().sum - before.front().sum), kNear);
}

}  // namespace
}  // namespace locus::test
