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
        const ClaimValue* baseline = baseline_of(paper, table, value);
        if (baseline == nullptr) continue;
        const double from = baseline->value;
        if (std::abs(value.value - from - value.difference) < 0.0051) continue;
        ++contradictions;
        EXPECT_NE(value.note, "") << paper.id << ", " << table.table << ", " << table.rows[value.row].label << " / "
                                  << table.columns[value.column].label << ": " << value.value << " from " << from
                                  << " is not " << value.difference;
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
    EXPECT_EQ(last.own, (ClaimSetting{{"model", "DINOv3 ViT-B"}}));
  }
}

const ClaimValue& printed(const std::vector<PaperClaims>& papers, const std::string& id, const std::string& table,
                          const std::string& row, const std::string& column) {
  for (const PaperClaims& paper : papers) {
    for (const ClaimTable& one : paper.tables) {
      for (const ClaimValue& value : one.values) {
        if (paper.id == id && one.table == table && one.rows[value.row].label == row &&
            one.columns[value.column].label == column)
          return value;
      }
    }
  }
  ADD_FAILURE() << "nothing printed at " << id << ", " << table << ", " << row << ", " << column;
  static const ClaimValue kNone;
  return kNone;
}

// A sample of what was read wrongly before: what print says there.
TEST(CommittedClaims, HaveTheSettingsOfThePrint) {
  const auto papers = committed_papers();
  const auto setting = [&](const char* id, const char* table, const char* row, const char* column) {
    return printed(papers, id, table, row, column).setting;
  };
  ClaimSetting nuscenes = setting("pape", "Table 1", "RoPE", "nuScenes mAP");
  EXPECT_EQ(nuscenes["optimizer"], "Adam");
  EXPECT_EQ(nuscenes["batch"] + "/" + nuscenes["lr"] + "/" + nuscenes["weight-decay"] + "/" + nuscenes["patch"],
            "3/0.003/0.03/8");
  ClaimSetting coco = setting("pape", "Table 1", "RoPE", "COCO mAP");
  EXPECT_EQ(coco["batch"] + "/" + coco["lr"] + "/" + coco["warmup"] + "/" + coco["drop-path"], "64/0.0006/15/0.1");
  ClaimSetting largest = setting("spatial-decay", "Table 2", "SDT-P-XL (2nd)", "FID");
  EXPECT_EQ(largest["iterations"] + ", " + largest["batch"], "800,000, 512");
  EXPECT_EQ(setting("spatial-decay", "Table 2", "DiT-XL-G", "FID")["iterations"], "7,000,000");
  EXPECT_FALSE(setting("spatial-decay", "Table 2", "ADM", "FID").contains("iterations"));
  EXPECT_FALSE(setting("spatial-decay", "Table 1", "Swin-T", "Acc (%)").contains("lr"));
  EXPECT_EQ(setting("spatial-decay", "Table 1", "SDT-H-B (Ours)", "Acc (%)")["drop-path"], "0.4");
  EXPECT_EQ(setting("violin", "Table 17", "DINO-B (300) KNN", "DINO panel: Violin")["augmentation"],
            "the recipe of DINO");
  EXPECT_FALSE(setting("violin", "Table 10", "Swin-T", "Violin").contains("patch"));
  EXPECT_EQ(setting("active-spatial-guidance", "Table 5", "MULTI-RES RoPE", "160")["model"], "DINOv3 ViT-B");
}

TEST(CommittedClaims, SayWhichOptionsAreKnownFromCodeAlone) {
  const auto papers = committed_papers();
  const auto prior = [&](const char* id, const char* table, const char* row, const char* column) {
    return printed(papers, id, table, row, column).priors.back();
  };
  const char* const kAsg = "active-spatial-guidance";
  EXPECT_EQ(prior(kAsg, "Table 2", "Log-CPB", "Top-1 Acc. (%)").code, Json({{"mode", "timm-cr"}}));
  EXPECT_EQ(prior(kAsg, "Table 2", "AbsPE", "Top-1 Acc. (%)").code["decay"], true);
  EXPECT_EQ(prior(kAsg, "Table 2", "RoPE", "Top-1 Acc. (%)").code, Json({{"flavor", "dinov3"}}));
  EXPECT_EQ(prior("pape", "Table 1", "LookHere", "COCO mAP").code, Json({{"layer_slopes", "constant-first"}}));
  EXPECT_EQ(prior("pape", "Table 1", "nD-ALiBi", "COCO mAP").code, Json({{"prefix", "origin"}}));
  EXPECT_EQ(prior(kAsg, "Table 6", "ViT-B Guidance", "Train").loosely, Json({{"lambda", 300}}));
  EXPECT_EQ(prior("violin", "Table 3", "DeiT-T", "Violin Avg.").loosely["alpha_mean"], 1);
  EXPECT_EQ(prior("violin", "Table 15", "no Initialization", "Top-1 Acc").stated, Json({{"a_init", "normal"}}));
  EXPECT_TRUE(prior("spatial-decay", "Table 3", "Ours", "FID").code.empty());
}

}  // namespace
}  // namespace locus::test
