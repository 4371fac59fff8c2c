// Which cells a claim is about, how the settings differ, and the sentence that says so.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "core/claims/match.h"
#include "tests/claims/support.h"

namespace locus::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Json config(const std::vector<Json>& priors, const std::string& dataset = "fashion-mnist") {
  return {{"dataset", {{"id", dataset}, {"options", Json::object()}}},
          {"task", {{"id", "classification"}, {"options", Json::object()}}},
          {"model",
           {{"id", "vit"}, {"options", {{"dim", 64}, {"depth", 3}, {"heads", 4}, {"patch", 7}, {"pool", "mean"}}}}},
          {"recipe",
           {{"id", "supervised"}, {"options", {{"epochs", 2}, {"batch", 32}, {"lr", 0.002}, {"weight_decay", 0.05}}}}},
          {"priors", priors}};
}

Json prior(const std::string& id, Json options = Json::object()) {
  return {{"id", id}, {"options", std::move(options)}};
}

ExperimentCell cell(std::int64_t ordinal, const std::vector<Json>& priors, const std::string& group = "{}") {
  static const Catalog kCatalog = engine_catalog();
  Json whole = config(priors);
  ClaimSetting setting = setting_of(whole, kCatalog);
  return {ordinal, group, std::move(whole), std::move(setting)};
}

ClaimValue claim(ClaimPriors priors, ClaimSetting setting = {{"task", "classification"}}) {
  ClaimValue out;
  out.metric = {"top1", "%", "max"};
  out.priors = std::move(priors);
  out.setting = std::move(setting);
  out.std = out.difference = kNaN;
  return out;
}

std::vector<std::int64_t> matched(const ClaimValue& value, const std::vector<ExperimentCell>& cells) {
  std::vector<std::int64_t> out;
  for (const ClaimedCell& one : match_claim(value, cells, engine_catalog())) out.push_back(cells[one.cell].ordinal);
  return out;
}

std::vector<std::string> differences(const ClaimValue& value, const ExperimentCell& one) {
  const auto found = match_claim(value, {one}, engine_catalog());
  std::vector<std::string> out;
  EXPECT_EQ(found.size(), 1u);
  for (const ClaimedCell& match : found) {
    for (const SettingDifference& each : match.differences) out.push_back(to_string(each));
  }
  return out;
}

TEST(AClaim, IsAboutTheCellsOfItsCombinationInWhateverOrder) {
  const std::vector<ExperimentCell> cells = {cell(0, {prior("none")}), cell(1, {prior("violin")}),
                                             cell(2, {prior("violin"), prior("learned-absolute")}),
                                             cell(3, {prior("learned-absolute")})};
  EXPECT_THAT(matched(claim({{"learned-absolute"}, {"violin"}}), cells), ElementsAre(2));
  EXPECT_THAT(matched(claim({{"none"}}), cells), ElementsAre(0));
  EXPECT_THAT(matched(claim({{"guidance"}}), cells), IsEmpty());
}

TEST(AClaim, WithoutPriorsOfOursIsAboutNone) { EXPECT_THAT(matched(claim({}), {cell(0, {prior("none")})}), IsEmpty()); }

TEST(AClaim, OfAnotherTaskOrOfNoneIsAboutNone) {
  EXPECT_THAT(matched(claim({{"none"}}, {{"task", "segmentation"}}), {cell(0, {prior("none")})}), IsEmpty());
  EXPECT_THAT(matched(claim({{"none"}}, {}), {cell(0, {prior("none")})}), IsEmpty());
}

TEST(OptionsThatAClaimStates, MustAgree) {
  const std::vector<ExperimentCell> cells = {cell(0, {prior("pape")}), cell(1, {prior("pape", {{"m", 8}})})};
  EXPECT_THAT(matched(claim({{"pape", {{"m", 8}}}}), cells), ElementsAre(1));
  EXPECT_THAT(matched(claim({{"pape", {{"m", 50}}}}), cells),
              ElementsAre(0));  // the default, left out of a configuration
  EXPECT_THAT(matched(claim({{"pape", {{"m", 16}}}}), cells), IsEmpty());
}

TEST(OptionsThatAClaimStates, ThatAreSetsHaveNoOrder) {
  const Json curves = {"snake-transposed", "snake"};
  EXPECT_THAT(matched(claim({{"violin", {{"curves", {"snake", "snake-transposed"}}}}}),
                      {cell(0, {prior("violin", {{"curves", curves}})})}),
              ElementsAre(0));
}

TEST(OptionsThatAClaimLeavesOpen, AreSpelledOutWhereTheyAreNotThePapers) {
  const ClaimPrior loose{"guidance", Json::object(), {{"lambda", 300}}};
  EXPECT_THAT(differences(claim({loose}), cell(0, {prior("guidance")})),
              ElementsAre("guidance.lambda: 300 in the paper, 100 here"));
  EXPECT_THAT(differences(claim({loose}), cell(0, {prior("guidance", {{"lambda", 300.0}})})), IsEmpty());
}

TEST(OptionsThatAClaimLeavesOpen, PreferTheCellNearestToThePaper) {
  const std::vector<ExperimentCell> cells = {
      cell(0, {prior("violin", {{"curves", {"hilbert"}}})}), cell(1, {prior("violin")}),
      cell(2, {prior("violin", {{"curves", {"hilbert"}}})}, R"({"train.lr":0.1})")};
  EXPECT_THAT(matched(claim({{"violin"}}), cells), ElementsAre(1, 2));  // of each group the nearest it has
}

TEST(TheSettings, DifferInWhatBothStateAndDiffersOnly) {
  const ClaimValue value = claim({{"none"}}, {{"task", "classification"},
                                              {"dataset", "imagenet-1k"},
                                              {"model", "ViT-S"},
                                              {"epochs", "300"},
                                              {"resolution", "224"},
                                              {"batch", "32"},
                                              {"optimizer", "SGD"},
                                              {"initialization", "scratch"}});
  EXPECT_THAT(
      differences(value, cell(0, {prior("none")})),
      ElementsAre("dataset: imagenet-1k in the paper, fashion-mnist here",
                  "model: ViT-S in the paper, vit 64 wide, 3 deep, 4 heads here", "epochs: 300 in the paper, 2 here",
                  "resolution: 224 in the paper, 28 here", "optimizer: SGD in the paper, AdamW here"));
}

TEST(TheSettings, ThatAreNotKnownHereAreNamedAndNeverTakenForTheSame) {
  const ClaimValue value = claim({{"none"}}, {{"task", "classification"},
                                              {"tuning", "LoRA"},
                                              {"augmentation", "none"},
                                              {"warmup-steps", "3000"},
                                              {"hardware", "RTX 4090"}});
  EXPECT_THAT(
      differences(value, cell(0, {prior("none")})),
      ElementsAre("warmup-steps: 3000 in the paper, not known here", "tuning: LoRA in the paper, all weights here",
                  "hardware: RTX 4090 in the paper, not known here"));
}

TEST(TheSettings, OfACostAreThoseThatMatterToIt) {
  ClaimValue value = claim({{"none"}}, {{"model", "ViT-S"}, {"epochs", "300"}, {"lr", "0.1"}});
  value.metric = {"parameters", "M", "min"};
  EXPECT_THAT(differences(value, cell(0, {prior("none")})),
              ElementsAre("model: ViT-S in the paper, vit 64 wide, 3 deep, 4 heads here"));
}

// The claim lists the parts; the experiment has them as options of one prior.
TEST(ACombination, IsTheSameInEitherSpelling) {
  const ClaimPriors claimed = {{"rope-axial", Json::object(), {{"flavor", nullptr}}}, {"lepe"}, {"spatial-decay"}};
  const ExperimentCell apart =
      cell(0, {prior("rope-axial", {{"flavor", "rmt"}}), prior("lepe"), prior("spatial-decay")});
  const ExperimentCell within = cell(1, {prior("spatial-decay", {{"rope", "raster"}, {"lepe", "5x5"}})});
  const ExperimentCell without = cell(2, {prior("spatial-decay")});
  EXPECT_THAT(matched(claim(claimed), {apart, within, without}), ElementsAre(0, 1));
  EXPECT_THAT(differences(claim(claimed), within), IsEmpty());
  const ClaimPriors rmt = {
      {"rope-axial", Json::object(), Json::object(), {{"flavor", "rmt"}}}, {"lepe"}, {"spatial-decay"}};
  EXPECT_THAT(differences(claim(rmt), within), IsEmpty());
  EXPECT_THAT(differences(claim(rmt), cell(3, {prior("spatial-decay", {{"rope", "axial"}, {"lepe", "5x5"}})})),
              ElementsAre("rope-axial.flavor: rmt in the paper's code, rope-vit here"));
}

TEST(PositionsOnAnotherGrid, AreInterpolatedByTheEvaluationOrByThePriorWhereItCan) {
  const Catalog catalog = engine_catalog();
  const auto told = [&](const char* id, Json options, bool evaluated) {
    return interpolates(config({prior(id, std::move(options))}), catalog, evaluated);
  };
  EXPECT_FALSE(told("rope-axial", Json::object(), false));
  EXPECT_TRUE(told("rope-axial", Json::object(), true));
  EXPECT_TRUE(told("rope-axial", {{"other_grids", "interpolate"}}, false));
  EXPECT_FALSE(told("lookhere", Json::object(), true));  // it has no such option: nothing was done
}

TEST(TheSettings, KnowABackboneByItsLetter) {
  ExperimentCell one = cell(0, {prior("none")});
  one.config["model"]["options"] = {{"dim", 384}, {"depth", 12}, {"heads", 6}, {"patch", 7}};
  one.setting = setting_of(one.config, engine_catalog());
  EXPECT_THAT(differences(claim({{"none"}}, {{"task", "classification"}, {"model", "ViT-S"}}), one), IsEmpty());
  EXPECT_THAT(differences(claim({{"none"}}, {{"task", "classification"}, {"model", "DeiT-S"}}), one), IsEmpty());
  EXPECT_THAT(differences(claim({{"none"}}, {{"task", "classification"}, {"model", "DeiT-III-S"}}), one),
              ElementsAre("model: DeiT-III-S in the paper, ViT-S here"));
}

TEST(AnotherResolution, IsSoughtAtTheSameMultipleOfTheTrainingOne) {
  const ClaimSetting setting = {{"task", "classification"}, {"resolution", "224"}, {"evaluated-at", "448"}};
  const auto found = match_claim(claim({{"none"}}, setting), {cell(0, {prior("none")})}, engine_catalog());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].scale, 2.0);
  EXPECT_EQ(to_string(found[0].differences[0]), "evaluated-at: 448 in the paper, 56 here");
  ClaimSetting same = setting;
  same["evaluated-at"] = "224";
  EXPECT_FALSE(match_claim(claim({{"none"}}, same), {cell(0, {prior("none")})}, engine_catalog())[0].scale.has_value());
  ClaimSetting endless = setting;  // 320 / 224
  endless["evaluated-at"] = "320";
  EXPECT_THAT(differences(claim({{"none"}}, endless), cell(0, {prior("none")})).front(),
              "evaluated-at: 320 in the paper, 40 here");
  ClaimSetting several = setting;
  several["resolution"] = "192, 224 or 288 by batch";
  EXPECT_THAT(matched(claim({{"none"}}, several), {cell(0, {prior("none")})}), IsEmpty());
}

// Every prior and every pair with violin, at two settings each and three learning rates: 50 to 300 cells.
std::vector<ExperimentCell> many_cells() {
  std::vector<ExperimentCell> out;
  std::int64_t ordinal = 0;
  const Catalog catalog = engine_catalog();
  for (const CatalogItem& item : catalog.items()) {
    if (item.kind != "prior") continue;
    for (const char* rate : {"0.001", "0.002", "0.003"}) {
      out.push_back(cell(ordinal++, {prior(item.id)}, rate));
      if (item.id != "violin")
        out.push_back(cell(ordinal++, {prior("violin", {{"sigma", 0.1}}), prior(item.id)}, rate));
    }
  }
  return out;
}

TEST(AMatcher, GivesEveryClaimWhatItWouldGetAlone) {
  const std::vector<ExperimentCell> cells = many_cells();
  const Catalog catalog = engine_catalog();
  ClaimMatcher matcher(cells, catalog);
  std::size_t found = 0;
  for (const PaperClaims& paper : committed_papers()) {
    for (const ClaimTable& table : paper.tables) {
      for (const ClaimValue& value : table.values) {
        const std::vector<ClaimedCell>& together = matcher.match(value);
        // Alone, cell by cell, but for the choice among a group's cells.
        std::map<std::string, std::vector<ClaimedCell>> groups;
        for (std::size_t i = 0; i < cells.size(); ++i) {
          for (ClaimedCell one : match_claim(value, {cells[i]}, catalog)) {
            one.cell = i;
            groups[cells[i].group].push_back(one);
          }
        }
        std::size_t alone = 0;
        for (const auto& [group, members] : groups) {
          const auto away = [](const ClaimedCell& one) {
            return std::count_if(one.differences.begin(), one.differences.end(), [](const auto& difference) {
              return difference.name.find('.') != std::string::npos;  // an option of a prior
            });
          };
          std::ptrdiff_t fewest = away(members.front());
          for (const ClaimedCell& one : members) fewest = std::min(fewest, away(one));
          for (const ClaimedCell& one : members) {
            if (away(one) != fewest) continue;
            ++alone;
            const auto same = std::find_if(together.begin(), together.end(),
                                           [&](const ClaimedCell& each) { return each.cell == one.cell; });
            ASSERT_NE(same, together.end()) << paper.id << " " << table.table;
            EXPECT_EQ(same->scale, one.scale);
            ASSERT_EQ(same->differences.size(), one.differences.size());
            for (std::size_t i = 0; i < one.differences.size(); ++i)
              EXPECT_EQ(to_string(same->differences[i]), to_string(one.differences[i]));
          }
        }
        EXPECT_EQ(together.size(), alone) << paper.id << " " << table.table;
        found += alone;
      }
    }
  }
  EXPECT_GT(found, 1000u);
}

TEST(ASentence, SetsThePairedDifferenceBesideThePrintedOne) {
  ClaimValue value = claim({{"guidance"}});
  value.value = 72.26;
  value.difference = 4.17;
  value.against = "RoPE";
  const std::vector<SettingDifference> others = {{"dataset", "imagenet-100", "fashion-mnist"}};
  const Measured paired{.mean = 80.1,
                        .half_width = 0.4,
                        .n = 6,
                        .has_baseline = true,
                        .difference = 0.6,
                        .difference_half_width = 0.2,
                        .pairs = 5};
  EXPECT_EQ(claim_sentence(value, paired, others),
            "paper +4.17 over RoPE; here +0.60 (95 % +0.40 to +0.80), n = 5, other dataset");
  Measured alone = paired;
  alone.has_baseline = false;
  alone.pairs = 0;
  EXPECT_EQ(claim_sentence(value, alone, {{"dataset", "a", "b"}, {"model", "a", "b"}, {"guidance.lambda", "a", "b"}}),
            "paper +4.17 over RoPE, which this experiment lacks; here 80.10 (95 % 79.70 to 80.50), n = 6, "
            "other dataset, model and options");
  Measured unpaired = paired;
  unpaired.pairs = 0;
  EXPECT_EQ(claim_sentence(value, unpaired, {}),
            "paper +4.17 over RoPE, without a shared seed here; here 80.10 (95 % 79.70 to 80.50), n = 6, "
            "same setting as far as stated");
  Measured one = paired;
  one.pairs = 1;
  one.difference_half_width = kNaN;
  EXPECT_EQ(claim_sentence(value, one, others), "paper +4.17 over RoPE; here +0.60, n = 1, other dataset");
  EXPECT_EQ(claim_sentence(value, {.mean = kNaN, .half_width = kNaN}, others),
            "paper +4.17 over RoPE; nothing measured here yet, other dataset");
  value.against.clear();
  EXPECT_EQ(claim_sentence(value, paired, others),
            "paper 72.26; here 80.10 (95 % 79.70 to 80.50), n = 6, other dataset");
  value.std = 0.7;  // ± is a deviation wherever it stands
  EXPECT_EQ(claim_sentence(value, paired, {{"dataset", "a", "b"}, {"hardware", "a", ""}}),
            "paper 72.26 ± 0.7; here 80.10 (95 % 79.70 to 80.50), n = 6, other dataset, hardware not known here");
}

}  // namespace
}  // namespace locus::test
