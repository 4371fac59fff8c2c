// Every prior of the catalog in every backbone of the catalog: what the planner takes trains a step, and what the engine
// would not build is refused when it is submitted.
#include <gmock/gmock.h>

#include <ATen/ops/isfinite.h>

#include "core/base/error.h"
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

TEST_P(EveryHost, SaysThePriorsOfThePublishedNetworkForEachOfItsSizes) {
  const Json& item = backbone_item(GetParam()).item.json();
  const Json& own = item.at("facts").at("own_priors");
  std::set<std::string> sizes, told;
  for (const auto& entry : item.at("presets").items()) sizes.insert(entry.key());
  for (const auto& [size, priors] : own.items()) {
    told.insert(size);
    for (const Json& prior : priors) {
      const std::string id = prior.is_string() ? prior.get<std::string>() : prior.items().begin().key();
      EXPECT_NO_THROW(prior_item(id)) << size;
    }
  }
  EXPECT_EQ(told, sizes);
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

// What only formulas over all of a network can tell. The engine's reason, and the option it is about.
struct RefusedNetwork {
  const char *backbone, *model, *prior, *task, *option, *words;
};
constexpr RefusedNetwork kRefusedNetworks[] = {
    {"swin", R"({"window": 3})", "none", "{}", ".window",
     "windows of 3 x 3 do not tile the grid of 14 x 14 in stage 0, which compat ms asks for"},
    {"swin", R"({"depths": [2]})", "none", "{}", ".depths", "depths has 1 entries and dims 2: one for each stage"},
    {"swin", R"({"heads": [2, 3]})", "none", "{}", ".heads",
     "stage 1 has 2 blocks and 3 heads, which must divide its width of 64"},
    {"rmt", R"({"hidden": [64, 64, 64]})", "none", "{}", ".hidden",
     "hidden has 3 entries and dims 2: one for each stage"},
    {"rmt", R"({"layer_scale": [0.1]})", "none", "{}", ".layer_scale", "layer_scale has 1 entries and dims 2"},
    {"vit", R"({"pool": "registers"})", "none", "{}", ".pool", "pool registers needs registers, and there are 0"},
    {"vit", R"({"final_norm": "untied"})", "none", "{}", ".final_norm", "final_norm untied gives prefix tokens"},
    {"vit", "{}", R"({"local-ffn": {"mode": "original", "reduction": 1000}})", "{}", ".reduction",
     "256 hidden units cannot be reduced by 1000"},
    {"vit", "{}", R"({"lookhere": {"groups": ["halves", "none"]}})", "{}", ".groups",
     "4 heads cannot be split into 2 groups"},
    {"vit", "{}", R"({"rope-axial": {"flavor": "dinov3", "min_period": 1}})", "{}", ".min_period",
     "min_period and max_period come together"},
    {"vit", "{}", "none", R"({"loss": "binary-cross-entropy", "label_smoothing": 0.1})", ".label_smoothing",
     "label_smoothing would make all of them ones; set it to 0"},
    {"vit", R"({"pool": "cls"})", "none", R"({"distilled_head": true})", ".distilled_head",
     "the model has prefix tokens: 1; say model: {pool: cls, registers: 1}"},
};

TEST(RefusedNetworks, AreRefusedWhenSubmittedInTheWordsOfTheEngine) {
  for (const RefusedNetwork& one : kRefusedNetworks) {
    SCOPED_TRACE(one.words);
    Json model = Json::parse(one.model);
    const Json task = Json::parse(one.task), prior = one.prior[0] == '{' ? Json::parse(one.prior) : Json(one.prior);
    model["size"] = "mini";
    if (std::string_view(one.backbone) == "vit") model["patch"] = 7;
    Json asked = {{"version", 1}, {"name", "refused"}, {"dataset", "fashion-mnist"}, {"prior", prior}};
    asked["task"] = {{"classification", task}};
    asked["model"] = model;
    asked["model"]["backbone"] = one.backbone;
    const auto plan = plan_experiment(asked, catalog());
    ASSERT_FALSE(plan.ok());
    EXPECT_THAT(std::string(plan.status().message()), testing::HasSubstr(one.words));
    const auto detail = error_detail(plan.status());
    ASSERT_TRUE(detail.has_value());
    EXPECT_THAT(detail->field, testing::EndsWith(one.option));
    Json priors = Json::array();
    if (prior.is_object()) {
      for (const auto& [id, options] : prior.items()) priors.push_back({{"id", id}, {"options", options}});
    }
    const Json configuration = {{"task", {{"id", "classification"}, {"options", task}}},
                                {"model", {{"id", one.backbone}, {"options", model}}},
                                {"priors", priors}};
    const RandomStreams random(5);
    try {
      make_task({configuration, kFacts, random});
      ADD_FAILURE() << "the engine builds it";
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(one.words));
    }
  }
}

std::vector<std::string> hosts() {
  std::vector<std::string> ids;
  for (const BackboneItem& item : backbone_items()) ids.push_back(item.id());
  return ids;
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryHost, testing::ValuesIn(hosts()));

}  // namespace
}  // namespace locus::engine
