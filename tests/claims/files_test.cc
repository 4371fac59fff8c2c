// The committed claims: what they name exists, what servers read is made of them, and what contradicts itself
// is noted.
#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "tests/claims/support.h"

namespace locus::test {
namespace {

TEST(CommittedClaims, NamePriorsAndOptionsOfTheCatalog) {
  const Catalog catalog = engine_catalog();
  int about_ours = 0;
  for (const PaperClaims& paper : committed_papers()) {
    EXPECT_TRUE(check_claims(paper, catalog).ok()) << check_claims(paper, catalog);
    for (const ClaimTable& table : paper.tables) {
      for (const ClaimValue& value : table.values) about_ours += value.priors.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(about_ours, 1000);
}

TEST(CommittedClaims, AreThoseServersRead) {
  const auto papers = read_claims_folder(kRoot / "claims");
  ASSERT_TRUE(papers.ok()) << papers.status();
  EXPECT_TRUE(contents(kRoot / "claims" / "claims.json") == claims_document(*papers))
      << "Write it anew: build/release/bin/locus reference claims --claims claims > claims/claims.json";
}

TEST(CommittedClaims, CoverTheFourPapers) {
  std::map<std::string, std::size_t> tables;
  for (const PaperClaims& paper : committed_papers()) tables[paper.id] = paper.tables.size();
  EXPECT_EQ(tables, (std::map<std::string, std::size_t>{
                        {"active-spatial-guidance", 6}, {"pape", 7}, {"spatial-decay", 5}, {"violin", 27}}));
}

// 72.2 to 72.3 is no +0.2: who meets such a claim is told which of the two was printed how.
TEST(CommittedClaims, NoteEveryPrintedDifferenceThatTheNumbersContradict) {
  int contradictions = 0;
  for (const PaperClaims& paper : committed_papers()) {
    for (const ClaimTable& table : paper.tables) {
      for (const ClaimValue& value : table.values) {
        if (value.against_value < 0) continue;
        const double from = table.values[static_cast<std::size_t>(value.against_value)].value;
        if (std::abs(value.value - from - value.difference) < 0.0051) continue;
        ++contradictions;
        EXPECT_NE(value.note, "") << paper.id << ", " << table.table << ", " << table.rows[value.row].label
                                  << " / " << table.columns[value.column].label << ": " << value.value
                                  << " from " << from << " is not " << value.difference;
      }
    }
  }
  EXPECT_GT(contradictions, 0);  // the papers have some
}

TEST(CommittedClaims, ThatAMatchIsSoughtForSayTheTaskTheyAreAbout) {
  for (const PaperClaims& paper : committed_papers()) {
    for (const ClaimTable& table : paper.tables) {
      for (const ClaimValue& value : table.values) {
        if (value.metric.name != "top1" || value.priors.empty()) continue;
        EXPECT_TRUE(value.setting.contains("task")) << paper.id << ", " << table.table;
        EXPECT_TRUE(value.setting.contains("dataset")) << paper.id << ", " << table.table;
        EXPECT_TRUE(value.setting.contains("model")) << paper.id << ", " << table.table;
      }
    }
  }
}

TEST(CommittedClaims, AreReadAsPrinted) {
  for (const PaperClaims& paper : committed_papers()) {
    if (paper.id != "active-spatial-guidance") continue;
    const ClaimTable& table = paper.tables[0];
    const ClaimValue& last = table.values.back();
    EXPECT_EQ(table.rows[last.row].label, "ViT-B");
    EXPECT_EQ(table.columns[last.column].label, "Guidance");
    EXPECT_DOUBLE_EQ(last.value, 72.26);
    EXPECT_DOUBLE_EQ(last.std, 0.70);
    EXPECT_DOUBLE_EQ(last.difference, 4.17);
    EXPECT_EQ(last.n, 4);
    EXPECT_EQ(last.against, "RoPE");
    EXPECT_EQ(priors_json(last.priors), R"(["guidance"])");
    EXPECT_EQ(last.priors[0].loosely, Json({{"lambda", 300}}));
    EXPECT_EQ(last.setting.at("dataset"), "imagenet-100");
    EXPECT_EQ(last.own, (ClaimSetting{{"model", "ViT-B"}}));
  }
}

}  // namespace
}  // namespace locus::test
