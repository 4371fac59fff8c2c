// What items of the catalog refuse by formulas is refused when a specification is submitted.
#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/experiment/plan/planner.h"
#include "tests/core/plans.h"

namespace locus {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The catalog of tests, one of whose items refuses that.
Catalog refusing(const std::string& kind, const std::string& id, const Json& refusal) {
  Json document = test_catalog_document();
  for (Json& item : document["items"]) {
    if (item["kind"] == kind && item["id"] == id) item["refuses"] = Json::array({refusal});
  }
  return catalog_of(document);
}

std::string answer(const Catalog& catalog, const std::string& changes = "{}") {
  const auto plan = plan_experiment(small(changes), catalog);
  return plan.ok() ? "planned" : std::string(plan.status().message());
}

TEST(Refusals, AreSettingsAtWhichAFormulaIsNotZero) {
  const Catalog catalog = refusing("backbone", "vit", {{"if", "max(dim - 64, 0)"}, {"say", "too wide"}});
  EXPECT_EQ(answer(catalog, R"({"model": {"dim": 64}})"), "planned");
  EXPECT_THAT(answer(catalog, R"({"model": {"dim": 128}})"), HasSubstr("the backbone 'vit' cannot be used: too wide"));
}

TEST(Refusals, SayTheNumbersThatTheyNameAndLeaveOtherBraces) {
  const Catalog catalog =
      refusing("backbone", "vit", {{"if", "1"}, {"say", "{dim} on {height} rows; say model: {dim: 64}"}});
  EXPECT_THAT(answer(catalog, R"({"model": {"dim": 32}})"), HasSubstr("32 on 28 rows; say model: {dim: 64}"));
}

TEST(Refusals, NameTheOptionTheyAreAbout) {
  const Catalog catalog = refusing("backbone", "vit", {{"if", "1"}, {"say", "no"}, {"option", "depth"}});
  const auto plan = plan_experiment(small(), catalog);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(error_detail(plan.status())->field, "model.depth");
  EXPECT_TRUE(has_reason(plan.status(), ErrorReason::kConstraintViolated)) << plan.status();
}

TEST(Refusals, OfAPriorSpeakOfTheModelToo) {
  const Catalog catalog = refusing("prior", "violin", {{"if", "max(dim - 64, 0)"}, {"say", "no room in {dim}"}});
  EXPECT_EQ(answer(catalog, R"({"model": {"dim": 64}})"), "planned");
  EXPECT_THAT(answer(catalog, R"({"model": {"dim": 128}})"),
              HasSubstr("the prior 'violin' cannot be used: no room in 128"));
}

TEST(Refusals, ThatCannotBeComputedRefuseNothing) {
  EXPECT_EQ(answer(refusing("backbone", "vit", {{"if", "what_nobody_knows"}, {"say", "no"}})), "planned");
}

TEST(Refusals, NeedAFormulaAndWords) {
  for (const char* key : {"if", "say"}) {
    Json document = test_catalog_document();
    Json refusal = {{"if", "1"}, {"say", "no"}};
    refusal.erase(key);
    for (Json& item : document["items"]) item["refuses"] = Json::array({refusal});
    const auto parsed = Catalog::parse(document);
    ASSERT_FALSE(parsed.ok());
    EXPECT_THAT(std::string(parsed.status().message()), AllOf(HasSubstr("refuses[0]"), HasSubstr(key)));
  }
}

}  // namespace
}  // namespace locus
