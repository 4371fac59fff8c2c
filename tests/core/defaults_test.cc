// Planning: what holds where nothing is written, and what is written in vain.
#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/experiment/plan/planner.h"
#include "core/experiment/schema.h"
#include "tests/core/plans.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Defaults, TakesTheBackboneThereIsWhereNoneIsNamed) {
  Json spec = small();
  const ExperimentPlan named = plan_of(spec);
  spec.erase("model");
  EXPECT_EQ(plan_of(spec).trials[0].stages[0].identity, named.trials[0].stages[0].identity);
}

// A dataset says what fits it; the value is hashed as if it were written, and what is written wins.
TEST(Defaults, TakesADefaultOfTheDatasetWhereNothingIsWritten) {
  Json document = test_catalog_document();
  for (Json& item : document["items"]) {
    if (item["kind"] == "dataset" && item["id"] == "mnist")
      item["facts"]["defaults"] = {{"model.patch", 14}, {"model.window", 3}, {"train.batch", 8}};
  }
  const Catalog catalog = catalog_of(document);
  const auto identity = [&](const std::string& changes) {
    return plan_of(small(changes), catalog).trials[0].stages[0].identity;
  };
  const std::string written = identity(R"({"dataset": "mnist", "model": {"patch": 14}, "train": {"batch": 8}})");
  EXPECT_EQ(identity(R"({"dataset": "mnist"})"), written);
  EXPECT_NE(identity(R"({"dataset": "mnist", "model": {"patch": 7}})"), written);
  EXPECT_EQ(plan_of(small(R"({"dataset": "mnist"})"), catalog).settings.at("model.patch").value, "14");
  const ExperimentPlan both =
      plan_of(small(R"({"dataset": null, "matrix": {"dataset": ["mnist", "fashion-mnist"]}})"), catalog);
  EXPECT_THAT(both.trials[0].stages[0].config_json, HasSubstr("\"patch\":14"));
  EXPECT_THAT(both.trials[1].stages[0].config_json, HasSubstr("\"patch\":7"));
}

TEST(Defaults, WarnsOfNumbersTheDatasetCannotFill) {
  EXPECT_THAT(plan_of(small(R"({"train": {"limit": 100000000}})")).warnings,
              ElementsAre("train.limit is 100000000, but 'fashion-mnist' has only 55000 training images; all of "
                          "them are used"));
  EXPECT_THAT(plan_of(small(R"({"train": {"limit": 10, "batch": 128}})")).warnings,
              ElementsAre("train.batch is 128, but an epoch has only 10 images; every step takes all of them"));
  EXPECT_THAT(plan_of(small(R"({"train": {"limit": 55000, "batch": 55000}})")).warnings, IsEmpty());
}

// docs/specification.md prints these defaults.
TEST(Defaults, NeedsNoKeyThatTheSchemaGivesADefault) {
  Json spec =
      small(R"({"task": "classification", "priority": 0, "class": "normal", "zip": [], "include": [], "exclude": [],
                        "overrides": [], "stages": [], "replicates": {"seed": [0]}, "metric": {}})");
  for (const SpecificationKey& key : specification_keys()) {
    if (*key.initial == '\0' || !spec.contains(key.path)) continue;
    Json without = spec;
    without.erase(key.path);
    EXPECT_TRUE(plan_experiment(without, test_catalog()).ok()) << key.path;
  }
  spec.erase("matrix");
  const absl::Status none = plan_experiment(spec, test_catalog()).status();
  EXPECT_TRUE(has_reason(none, ErrorReason::kMissingKey)) << none;
  for (const SpecificationKey& key : specification_keys()) {
    if (std::string(key.path) == "prior") EXPECT_STREQ(key.initial, "");
  }
}

// By the formulas of the catalog: 4 bytes x (4 x parameters + batch x activations).
TEST(Size, BeyondWhatIsMeantIsRefusedWithTheEstimate) {
  Json document = test_catalog_document();
  for (Json& item : document["items"]) {
    if (item["kind"] == "backbone")
      item["facts"]["costs"] = {{"parameters", "1000000 * dim * depth"},
                                {"activations", "tokens * dim"},
                                {"tokens", "height / patch * width / patch + pool.cls"}};
  }
  const Catalog catalog = catalog_of(document);
  const auto planned = [&](const std::string& changes) { return plan_experiment(small(changes), catalog).status(); };
  EXPECT_TRUE(planned("{}").ok());
  const absl::Status huge = planned(R"({"model": {"dim": 8192, "depth": 128}})");
  EXPECT_TRUE(has_reason(huge, ErrorReason::kLimitExceeded)) << huge;
  EXPECT_EQ(error_detail(huge)->field, "limits.memory_gib");
  EXPECT_EQ(std::string(huge.message()),
            "a model of about 1.05 trillion parameters, trained on 32 images a step, needs about 15625 GiB of memory, "
            "and limits.memory_gib is 1024; make it smaller, or raise limits.memory_gib if it is meant");
  const std::string meant = R"({"model": {"dim": 8192, "depth": 128}, "limits": {"memory_gib": 20000}})";
  EXPECT_TRUE(planned(meant).ok()) << planned(meant);
  EXPECT_EQ(plan_of(small(meant), catalog).trials[0].stages[0].identity,
            plan_of(small(R"({"model": {"dim": 8192, "depth": 128}})")).trials[0].stages[0].identity);
  EXPECT_FALSE(planned(R"({"matrix": {"model.depth": [1, 128]}, "model": {"dim": 8192}})").ok());
}

}  // namespace
}  // namespace locus
