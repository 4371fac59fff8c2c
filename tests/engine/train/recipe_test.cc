// Every recipe and every task of the catalog, and those that tests add: each trains, and goes on from a checkpoint as
// if nothing had happened.
#include <gmock/gmock.h>

#include "engine/base/failure.h"
#include "engine/train/checkpoint.h"
#include "engine/train/recipe.h"
#include "tests/engine/toys/toys.h"
#include "tests/engine/train/recording.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct RecipeChoice {
  std::string recipe, task;
  friend void PrintTo(const RecipeChoice& choice, std::ostream* out) { *out << choice.recipe << " on " << choice.task; }
};

// Each recipe on the first task, each further task by the first recipe. Tasks of maps learn from what these images have not.
std::vector<RecipeChoice> recipe_choices() {
  toys::add_toys();
  std::vector<RecipeChoice> out;
  for (const RecipeItem& recipe : recipe_items()) out.push_back({recipe.id(), task_items().front().id()});
  for (const TaskItem& task : task_items()) {
    if (task.item.json().at("facts").contains("target")) continue;
    if (task.id() != task_items().front().id()) out.push_back({recipe_items().front().id(), task.id()});
  }
  return out;
}

// Every option that a recipe adds beyond the shared ones is set to something else than its default, so that whatever
// it switches on is there.
Json configuration_of(const RecipeChoice& choice) {
  Json out = small_configuration();
  out["task"]["id"] = choice.task;
  out["recipe"] = {
      {"id", choice.recipe},
      {"options", {{"epochs", 3}, {"batch", 8}, {"limit", 64}, {"log_every", 5}, {"validation_images", 100}}}};
  for (const Json& option : recipe_item(choice.recipe).item.json().at("options")) {
    const std::string name = option.at("name");
    if (option.contains("neutral") && option.at("type") == "number") out["recipe"]["options"][name] = 0.5;
  }
  out["stage"] = {{"options", {{"keep_best", "top1"}}}};
  out["recipe"]["options"]["snapshots"] = 2;
  return out;
}

class EveryRecipe : public ::testing::TestWithParam<RecipeChoice> {
 protected:
  void SetUp() override { LOCUS_NEEDS_FASHION_MNIST(); }

  StageReport run(RecordingObserver& observer, const std::string& folder, const std::filesystem::path& resume = {},
                  bool every_step = false) {
    StageRequest request = request_for(configuration_of(GetParam()), folder_.path() / folder, every_step);
    request.resume = resume;
    StageReport report = run_stage(request, observer);
    EXPECT_EQ(report.reason, "");
    return report;
  }

  TemporaryFolder folder_;
};

TEST_P(EveryRecipe, GoesOnFromACheckpointToTheBit) {
  RecordingObserver whole, late;
  const StageReport expected = run(whole, "whole", {}, /*every_step=*/true);
  ASSERT_EQ(expected.outcome, "succeeded");
  const StageReport found = run(late, "late", whole.checkpoints.at(13));
  ASSERT_EQ(found.outputs.size(), expected.outputs.size());
  for (std::size_t i = 0; i < found.outputs.size(); ++i) {
    EXPECT_EQ(found.outputs[i].slot, expected.outputs[i].slot);
    EXPECT_EQ(found.outputs[i].step, expected.outputs[i].step);
    EXPECT_THAT(differences(expected.outputs[i].path, found.outputs[i].path), IsEmpty()) << found.outputs[i].slot;
  }
  std::erase_if(whole.points, [](const RecordedPoint& point) { return point.step <= 13; });
  EXPECT_EQ(late.points, whole.points);
}

TEST_P(EveryRecipe, NeedsEveryTensorOfItsCheckpoint) {
  RecordingObserver whole;
  run(whole, "whole", {}, /*every_step=*/true);
  const TensorFile file = read_safetensors(whole.checkpoints.at(13));
  int refused = 0;
  for (const auto& [name, tensor] : file.tensors) {
    if (!name.starts_with("hook.") && !name.starts_with("optimizer.")) continue;
    TensorFile changed = file;
    changed.tensors.erase(name);
    StageRequest request = request_for(configuration_of(GetParam()), folder_.path() / "refused");
    request.resume = folder_.path() / "changed.safetensors";
    write_safetensors(request.resume, changed);
    RecordingObserver observer;
    const StageReport report = run_stage(request, observer);
    EXPECT_EQ(report.failure_class, "data") << name;
    EXPECT_THAT(report.reason, HasSubstr("lacks the tensor '" + name + "'"));
    if (++refused == 3) break;  // of some sixty alike
  }
  EXPECT_GT(refused, 0);
}

// Whether the optimizer has kept anything but zeros of a parameter.
bool remembered(const std::map<std::string, Tensor>& checkpoint, const std::string& parameter) {
  return std::any_of(checkpoint.begin(), checkpoint.end(), [&](const auto& entry) {
    return entry.first.starts_with("optimizer.") && entry.first.ends_with("." + parameter) &&
           entry.second.count_nonzero().template item<std::int64_t>() > 0;
  });
}

TEST_P(EveryRecipe, MovesWhatItTrainsAndNothingElse) {
  RecordingObserver observer;
  const StageReport report = run(observer, "whole", {}, /*every_step=*/true);
  const auto first = read_safetensors(observer.checkpoints.at(1)).tensors;
  const auto last = read_safetensors(observer.checkpoints.at(23)).tensors;
  const Json configuration = configuration_of(GetParam());
  const RandomStreams random(configuration.at("seed").get<std::uint64_t>());
  const Json facts = dataset_facts(configuration.at("dataset"));
  const auto task = make_task({configuration, facts, random});
  const auto optimizer = make_recipe(configuration)->optimizer(*task);
  std::set<std::string> trained;
  for (const ParameterGroup& group : optimizer->groups()) {
    for (const NamedParameter& named : group.parameters) EXPECT_TRUE(trained.insert(named.name).second) << named.name;
  }
  EXPECT_FALSE(trained.empty());
  for (const auto& item : task->named_parameters()) {
    EXPECT_EQ(item.value().requires_grad(), trained.contains(item.key())) << item.key();
    const std::string name = "model." + item.key();
    if (task->holds(item.key())) {
      EXPECT_FALSE(first.contains(name)) << name << " is made again by whoever resumes";
      continue;
    }
    if (item.key().starts_with("teacher.")) continue;  // follows by the task's own rule
    const bool moved = !same_bits(first.at(name), last.at(name));
    if (trained.contains(item.key())) {
      // A step may be too small for the last bit of a weight; what the optimizer keeps tells that gradients came.
      EXPECT_TRUE(moved || remembered(last, item.key())) << item.key();
    } else {
      EXPECT_FALSE(moved) << item.key();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryRecipe, ::testing::ValuesIn(recipe_choices()),
                         [](const ::testing::TestParamInfo<RecipeChoice>& tested) {
                           std::string name = tested.param.recipe + "_" + tested.param.task;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// The toy's teacher is no part of what is kept, and what is kept can be scored.
TEST(TwoModels, OnlyTheStudentIsExported) {
  LOCUS_NEEDS_FASHION_MNIST();
  toys::add_toys();
  TemporaryFolder folder;
  RecordingObserver observer;
  const Json configuration = configuration_of({"supervised", "two-losses"});
  const StageReport trained = run_stage(request_for(configuration, folder.path() / "train"), observer);
  ASSERT_EQ(trained.reason, "");
  for (const auto& [name, tensor] : read_safetensors(trained.outputs.at(0).path).tensors)
    EXPECT_FALSE(name.starts_with("model.teacher.")) << name;
  Json evaluation = configuration;
  evaluation["kind"] = "evaluate";
  evaluation["stage"] = {{"options", {{"images", 200}}}};
  evaluation["inputs"] = {{"checkpoint", configuration_identity(configuration)}};
  StageRequest request = request_for(evaluation, folder.path() / "evaluate");
  request.inputs["checkpoint"] = trained.outputs.at(0).path;
  const StageReport scored = run_stage(request, observer);
  ASSERT_EQ(scored.reason, "");
  EXPECT_EQ(scored.results.at(0).key.metric, "top1");
}

TEST(TwoLosses, AreBothInTheCurves) {
  LOCUS_NEEDS_FASHION_MNIST();
  toys::add_toys();
  TemporaryFolder folder;
  RecordingObserver observer;
  run_stage(request_for(configuration_of({"supervised", "two-losses"}), folder.path()), observer);
  std::set<std::string> series;
  for (const RecordedPoint& point : observer.points) series.insert(point.series);
  EXPECT_TRUE(series.contains("loss/train {}"));
  EXPECT_TRUE(series.contains("consistency/train {}"));
}

}  // namespace
}  // namespace locus::engine
