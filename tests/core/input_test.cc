// Planning with an item that gives images their extent: what follows from it, and where one is needed.
#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/catalog/facts.h"
#include "core/experiment/plan/planner.h"
#include "tests/core/testdata.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

// The engine's catalog with a section of two items beside others, and a dataset of images of any size.
Json document() {
  Json out = read_json(LOCUS_SOURCE_ROOT "/engine/catalog.json");
  std::erase_if(out["items"].get_ref<Json::array_t&>(), [](const Json& item) { return item["kind"] == "input"; });
  Json sections = Json::array();
  for (const Json& section : out.value("sections", Json::array())) {
    if (section["key"] != "input") sections.push_back(section);
  }
  sections.push_back({{"key", "input"}, {"kind", "input"}, {"neutral", "native"}, {"help", "what a model takes"}});
  out["sections"] = sections;
  out["items"].push_back({{"kind", "input"}, {"id", "native"}, {"revision", 1}});
  out["items"].push_back(Json::parse(R"({"kind": "input", "id": "resized", "revision": 2,
    "options": [{"name": "size", "type": "integer", "default": 224, "minimum": 1},
                {"name": "sizes", "type": "list", "element": "integer", "default": [], "neutral": []},
                {"name": "normalization", "type": "string", "default": "dataset", "choices": ["dataset", "imagenet"]}],
    "requires": [{"rule": "divides", "of": "patch", "into": "sizes", "help": "patches tile the image"},
                 {"rule": "multiple-of", "value": "channels", "factor": 3, "help": "three channels",
                  "when": {"option": "normalization", "values": ["imagenet"]}}],
    "facts": {"extent": {"option": "size"}}})"));
  for (Json& item : out["items"]) {
    if (item["id"] != "evaluate") continue;
    item["requires"].push_back({{"rule", "none"},
                                {"value", "resized"},
                                {"help", "it has its own"},
                                {"when", {{"option", "interpolation"}, {"values", Json::array({"bicubic"})}}}});
  }
  Json varied;
  for (const Json& item : out["items"]) {
    if (item["id"] == "cifar-10") varied = item;
  }
  varied["id"] = "varied";
  varied["facts"].erase("extent");
  varied["facts"]["defaults"] = {{"model.patch", 16}};
  out["items"].push_back(varied);
  varied["id"] = "stored";
  varied["facts"]["stored"] = Json::object();
  varied["facts"]["extent"] = {64, 64};
  varied["facts"]["defaults"] = {{"input", "resized"}, {"input.size", 96}, {"model.patch", 16}};
  out["items"].push_back(varied);
  return out;
}

const Catalog& catalog() {
  static const Catalog one = catalog_of(document());
  return one;
}

Json specification(const char* changes) {
  Json out = Json::parse(R"({"version": 1, "name": "x", "dataset": "varied", "prior": "none",
                             "model": {"dim": 64, "depth": 2, "heads": 4}})");
  out.merge_patch(Json::parse(changes));
  return out;
}

ExperimentPlan input_plan(const char* changes) {
  auto plan = plan_experiment(specification(changes), catalog());
  if (!plan.ok()) throw std::runtime_error(plan.status().ToString());
  return *std::move(plan);
}

ErrorDetail refused(const char* changes, std::string& message) {
  const auto plan = plan_experiment(specification(changes), catalog());
  if (plan.ok()) throw std::runtime_error("it was not refused");
  message = std::string(plan.status().message());
  return error_detail(plan.status()).value();
}

TEST(Images, ThatDifferInSizeNeedAnInputThatResizesThem) {
  std::string message;
  EXPECT_EQ(refused("{}", message).field, "input");
  EXPECT_THAT(
      message,
      HasSubstr("the images of 'varied' differ in size, and a model takes images of one; write input: resized"));
  refused(R"({"input": "native"})", message);
  EXPECT_THAT(message, HasSubstr("write input: resized"));
  EXPECT_NO_THROW(input_plan(R"({"input": "resized"})"));
}

TEST(Images, AreOfTheExtentThatTheInputGivesThem) {
  const ExperimentPlan plan = input_plan(R"({"input": {"resized": {"size": 64}}})");
  EXPECT_EQ(plan.evaluation_labels, (Json{{"resolution", 64}}));
  EXPECT_EQ(plan.labels.at("resolution"), std::set<std::string>{"64"});
  const Json config = Json::parse(plan.trials.at(0).stages.at(0).config_json);
  EXPECT_EQ(config.at("input"),
            Json::parse(R"({"id": "resized", "options": {"normalization": "dataset", "size": 64}})"));
  EXPECT_EQ(config.at("revisions").at("input/resized"), 2);
  std::string message;
  EXPECT_EQ(refused(R"({"input": {"resized": {"size": 60}}})", message).reason, ErrorReason::kConstraintViolated);
  EXPECT_THAT(message, HasSubstr("patch = 16 does not divide extent = 60"));
}

TEST(Images, OfSeveralInputsAreEachTheirOwn) {
  const ExperimentPlan plan =
      input_plan(R"({"matrix": {"input": [{"resized": {"size": 64}}, {"resized": {"size": 128}}]}})");
  ASSERT_EQ(plan.cells.size(), 2u);
  EXPECT_EQ(plan.labels.at("resolution"), (std::set<std::string>{"64", "128"}));
  EXPECT_GT(plan.cells[1].cost.memory_bytes, plan.cells[0].cost.memory_bytes);
}

TEST(Images, TileIntoPatchesAtEverySizeThatTrainingTakes) {
  std::string message;
  refused(R"({"input": {"resized": {"sizes": [192, 200]}}})", message);
  EXPECT_THAT(message, HasSubstr("patch = 16 does not divide sizes = 200"));
  EXPECT_NO_THROW(input_plan(R"({"input": {"resized": {"sizes": [192, 224, 288]}}})"));
}

TEST(Images, OfOneChannelTakeNoNumbersOfThree) {
  std::string message;
  refused(R"({"dataset": "fashion-mnist", "model": {"patch": 16},
              "input": {"resized": {"normalization": "imagenet"}}})",
          message);
  EXPECT_THAT(message, HasSubstr("channels = 1 is not a multiple of 3: three channels"));
}

TEST(Images, ThatAreResizedLeaveNoChoiceToAnEvaluation) {
  std::string message;
  refused(R"({"input": "resized", "stages": [{"evaluate": {"interpolation": "bicubic"}}]})", message);
  EXPECT_THAT(message, HasSubstr("it has its own"));
  EXPECT_NO_THROW(input_plan(R"({"dataset": "cifar-10", "stages": [{"evaluate": {"interpolation": "bicubic"}}]})"));
}

TEST(Images, StayInMemoryUnlessTheyAreReadFromFiles) {
  const CellCost varied = input_plan(R"({"input": "resized"})").cells.at(0).cost;
  EXPECT_EQ(varied.data_bytes, 0) << "without a common size";
  EXPECT_EQ(input_plan(R"({"dataset": "stored"})").cells.at(0).cost.data_bytes, 0);
  const CellCost cifar =
      input_plan(R"({"dataset": "cifar-10", "input": "resized", "model": {"patch": 16}})").cells.at(0).cost;
  EXPECT_EQ(cifar.data_bytes, 45000.0 * (32 * 32 * 3 + 8)) << "as the files have them";
  EXPECT_EQ(cifar.memory_bytes - cifar.data_bytes, varied.memory_bytes);
}

TEST(DatasetDefault, MayBeAnItemThatYieldsToWhatIsWritten) {
  const auto input = [](const char* changes) {
    return Json::parse(input_plan(changes).trials.at(0).stages.at(0).config_json).value("input", Json());
  };
  EXPECT_EQ(input(R"({"dataset": "stored"})").at("options").at("size"), 96);
  EXPECT_EQ(input(R"({"dataset": "stored", "input": "resized"})").at("options").at("size"), 96);
  EXPECT_EQ(input(R"({"dataset": "stored", "input": {"resized": {"size": 32}}})").at("options").at("size"), 32);
  EXPECT_TRUE(input(R"({"dataset": "stored", "input": "native"})").is_null());
  EXPECT_TRUE(input(R"({"dataset": "cifar-10"})").is_null());
  EXPECT_EQ(input_plan(R"({"dataset": "stored"})").settings.at("input").value, "\"resized\"");
}

TEST(Images, AsTheFilesHaveThemMoveNoIdentity) {
  Json without = document();
  std::set<std::string> kinds;
  for (const Json& section : without["sections"]) kinds.insert(section["kind"]);
  without.erase("sections");
  std::erase_if(without["items"].get_ref<Json::array_t&>(),
                [&](const Json& item) { return kinds.contains(item["kind"].get<std::string>()); });
  const Catalog old = catalog_of(without);
  Json spec = specification(R"({"dataset": "cifar-10"})");
  const auto before = plan_experiment(spec, old), now = plan_experiment(spec, catalog());
  spec["input"] = "native";
  const auto written = plan_experiment(spec, catalog());
  ASSERT_TRUE(before.ok() && now.ok() && written.ok());
  for (std::size_t i = 0; i < before->trials[0].stages.size(); ++i) {
    EXPECT_EQ(now->trials[0].stages[i].config_json, before->trials[0].stages[i].config_json);
    EXPECT_EQ(written->trials[0].stages[i].identity, before->trials[0].stages[i].identity);
  }
}

}  // namespace
}  // namespace locus
