// Conditions in the catalog: options, rules and exclusions that hold only while another option has some
// value.
#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/experiment/plan/planner.h"
#include "tests/core/testdata.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

// alibi-2d with a form "lines" that takes no prefix tokens and nothing that needs the whole grid; violin
// needs it.
Json conditional_document() {
  Json document = test_catalog_document();
  const Json when = {{"option", "form"}, {"values", {"lines"}}};
  for (Json& item : document["items"]) {
    if (item["id"] == "alibi-2d") {
      item["options"].push_back(
          {{"name", "form"}, {"type", "string"}, {"choices", {"full", "lines"}}, {"default", "full"}, {"help", "h"}});
      item["options"].push_back(
          {{"name", "causal"}, {"type", "boolean"}, {"default", false}, {"when", when}, {"help", "h"}});
      item["requires"] = Json::array(
          {{{"rule", "none"}, {"value", "prefix"}, {"when", when}, {"help", "lines have no place for them"}}});
      item["excludes_when"] = Json::array({{{"when", when}, {"excludes", {"whole-grid"}}, {"help", "it sees lines"}}});
    }
    if (item["id"] == "violin") item["provides"].push_back("whole-grid");
    if (item["id"] == "vit") {
      item["facts"]["prefix_tokens"] = Json::array({{{"option", "registers"}}, {{"option", "pool"}, {"value", "cls"}}});
    }
  }
  return document;
}

absl::Status planned(const Json& prior, const char* pool) {
  Json spec = demo_specification();
  spec["matrix"] = {{"prior", Json::array({"none", prior})}};
  spec["baseline"] = {{"prior", "none"}};
  spec["model"]["pool"] = pool;
  return plan_experiment(spec, catalog_of(conditional_document())).status();
}

TEST(Conditions, AnOptionThatMeansNothingMustKeepItsDefault) {
  const Catalog catalog = catalog_of(conditional_document());
  const CatalogItem& item = *catalog.find("prior", "alibi-2d");
  EXPECT_TRUE(catalog.resolve(item, {{"form", "lines"}, {"causal", true}}, "prior").ok());
  EXPECT_TRUE(catalog.resolve(item, {{"causal", false}}, "prior").ok());
  const auto refused = catalog.resolve(item, {{"causal", true}}, "prior");
  ASSERT_TRUE(has_reason(refused.status(), ErrorReason::kConstraintViolated)) << refused.status();
  EXPECT_EQ(error_detail(refused.status())->field, "prior.causal");
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("means nothing while form is \"full\""));
}

TEST(Conditions, ARuleHoldsOnlyUnderItsCondition) {
  const Json lines = {{"alibi-2d", {{"form", "lines"}}}};
  EXPECT_TRUE(planned("alibi-2d", "cls").ok());
  EXPECT_TRUE(planned(lines, "mean").ok()) << planned(lines, "mean");
  const absl::Status refused = planned(lines, "cls");
  EXPECT_TRUE(has_reason(refused, ErrorReason::kConstraintViolated)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("prefix = 1 where there may be none"));
}

TEST(Conditions, AnExclusionHoldsOnlyUnderItsCondition) {
  const Json lines = {{"alibi-2d", {{"form", "lines"}}}};
  EXPECT_TRUE(planned(Json::array({"alibi-2d", "violin"}), "mean").ok());
  EXPECT_TRUE(planned(Json::array({"learned-absolute", lines}), "mean").ok());
  for (const Json& pair : {Json::array({"violin", lines}), Json::array({lines, "violin"})}) {
    const absl::Status refused = planned(pair, "mean");
    EXPECT_TRUE(has_reason(refused, ErrorReason::kConflictingPriors)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("it sees lines"));
    EXPECT_THAT(std::string(refused.message()), HasSubstr("'violin'"));
  }
}

TEST(Conditions, SpeakOfOptionsTheItemHas) {
  Json document = conditional_document();
  for (Json& item : document["items"]) {
    if (item["id"] == "alibi-2d") item["excludes_when"][0]["when"]["option"] = "shape";
  }
  const auto parsed = Catalog::parse(document);
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("'shape', which is no option"));
}

}  // namespace
}  // namespace locus
