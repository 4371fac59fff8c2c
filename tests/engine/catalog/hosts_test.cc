// Every prior of the catalog in every backbone of the catalog: what the planner takes trains a step, and what the engine
// would not build is refused when it is submitted.
#include <gtest/gtest.h>

#include <ATen/ops/isfinite.h>

#include "core/catalog/catalog.h"
#include "core/experiment/plan/planner.h"
#include "engine/catalog/catalog.h"
#include "engine/tasks/task.h"
#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

using test::PriorSetting;

constexpr std::int64_t kSide = 28, kBatch = 4;
const Json kFacts = {{"channels", 1}, {"extent", {kSide, kSide}}, {"classes", 10}};

const Catalog& catalog() {
  static const Catalog parsed = [] {
    auto made = Catalog::parse(catalog_json());
    if (!made.ok()) throw std::logic_error(std::string(made.status().message()));
    return *std::move(made);
  }();
  return parsed;
}

absl::StatusOr<ExperimentPlan> planned(const std::string& backbone, const PriorSetting& prior) {
  return plan_experiment({{"version", 1},
                          {"name", "every-host"},
                          {"dataset", "fashion-mnist"},
                          {"model", {{"backbone", backbone}, {"size", "mini"}}},
                          {"prior", {{prior.id, prior.options}}}},
                         catalog());
}

// The configuration that the trainer would get.
Json training(const ExperimentPlan& plan) {
  for (const PlannedStage& stage : plan.trials.at(0).stages) {
    if (stage.kind == "train") return Json::parse(stage.config_json);
  }
  throw std::logic_error("the plan trains nothing");
}

// The same where the planner refuses: with the patches of the dataset where the size says nothing of them.
Json refused_training(const std::string& backbone, const PriorSetting& prior) {
  const Json& item = backbone_item(backbone).item.json();
  Json options = {{"size", "mini"}};
  for (const Json& option : item.at("options")) {
    if (option.at("name") == "patch" && !item.at("presets").at("mini").contains("patch")) options["patch"] = 7;
  }
  return {{"task", {{"id", "classification"}}},
          {"model", {{"id", backbone}, {"options", options}}},
          {"priors", {{{"id", prior.id}, {"options", prior.options}}}}};
}

void expect_a_step(const Json& configuration) {
  const RandomStreams random(5);
  const auto task = make_task({configuration, kFacts, random});
  const Tensor loss =
      task->train_step(task->example_batch(kBatch, {kSide, kSide}, random), test::test_context(true)).loss;
  loss.backward();
  ASSERT_TRUE(loss.isfinite().item<bool>());
  std::int64_t learning = 0;
  for (const auto& entry : task->named_parameters()) {
    const Tensor& gradient = entry.value().grad();
    if (!gradient.defined()) continue;
    ASSERT_TRUE(gradient.isfinite().all().item<bool>()) << entry.key();
    learning += gradient.abs().max().item<double>() > 0 ? 1 : 0;
  }
  EXPECT_GT(learning, 0);
}

class EveryHost : public testing::TestWithParam<std::string> {};

TEST_P(EveryHost, HasASizeForTryingOut) {
  EXPECT_TRUE(backbone_item(GetParam()).item.json().value("presets", Json::object()).contains("mini"));
}

TEST_P(EveryHost, TrainsAStepWithEverySettingOfEveryPriorOrRefusesItWhenSubmitted) {
  int taken = 0;
  for (const PriorSetting& prior : test::all_settings()) {
    SCOPED_TRACE(prior.name());
    const auto plan = planned(GetParam(), prior);
    if (plan.ok()) {
      EXPECT_NO_THROW(expect_a_step(training(*plan)));
      ++taken;
      continue;
    }
    EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument) << plan.status();
    const RandomStreams random(5);
    EXPECT_ANY_THROW(make_task({refused_training(GetParam(), prior), kFacts, random}))
        << "the engine would run what the planner refuses: " << plan.status().message();
  }
  const bool conditioned = backbone_item(GetParam()).item.json().at("facts").value("condition", false);
  EXPECT_EQ(taken > 0, !conditioned) << "a network that follows a condition has no place in classification";
}

std::vector<std::string> hosts() {
  std::vector<std::string> ids;
  for (const BackboneItem& item : backbone_items()) ids.push_back(item.id());
  return ids;
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryHost, testing::ValuesIn(hosts()));

}  // namespace
}  // namespace locus::engine
