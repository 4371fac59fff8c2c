// Trainings of adapters and of heads alone: what their checkpoints hold, that they go on to the bit, and that what they
// export can be scored, merged or not.
#include <gmock/gmock.h>

#include "engine/train/checkpoint.h"
#include "tests/engine/train/recording.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct AdapterChoice {
  std::string name;
  Json adapter = {};
  std::string recipe = "supervised";
  friend void PrintTo(const AdapterChoice& choice, std::ostream* out) { *out << choice.name; }
};

std::vector<AdapterChoice> adapter_choices() {
  const auto adapter = [](const char* id, Json options) { return Json{{"id", id}, {"options", std::move(options)}}; };
  return {{"lora", adapter("lora", {{"rank", 2}, {"dropout", 0.2}})},
          {"lora_merged", adapter("lora", {{"rank", 2}, {"split_qkv", true}, {"exported", "merged"}})},
          {"dora_merged", adapter("dora", {{"rank", 2}, {"exported", "merged"}})},
          {"dora_columns", adapter("dora", {{"rank", 2},
                                            {"norm", "columns"},
                                            {"norm_gradient", "through"},
                                            {"magnitude", "frozen"},
                                            {"dropout", 0.2}})},
          {"lora_averaged", adapter("lora", {{"rank", 2}}), "sgd"},
          {"linear_probe", Json(), "linear-probe"}};
}

class HeldTraining : public ::testing::TestWithParam<AdapterChoice> {
 protected:
  void SetUp() override { LOCUS_NEEDS_FASHION_MNIST(); }

  // Its best and snapshots are kept, too.
  static Json configuration() {
    Json out = small_configuration();
    if (!GetParam().adapter.is_null()) out["adapter"] = GetParam().adapter;
    out["recipe"]["id"] = GetParam().recipe;
    Json& options = out["recipe"]["options"];
    options = {{"epochs", 3},   {"batch", 8}, {"limit", 64}, {"lr", 0.01}, {"log_every", 5}, {"validation_images", 100},
               {"snapshots", 2}};
    if (GetParam().recipe == "sgd") options["average_decay"] = 0.5;  // of the weights, which are then what is scored
    out["stage"] = {{"options", {{"keep_best", "top1"}}}};
    return out;
  }
  static bool merged() {
    return GetParam().adapter.is_object() && GetParam().adapter.at("options").contains("exported");
  }
  StageReport run(RecordingObserver& observer, const std::string& folder, const std::filesystem::path& resume = {}) {
    StageRequest request = request_for(configuration(), folder_.path() / folder, /*every_step=*/true);
    request.resume = resume;
    StageReport report = run_stage(request, observer);
    EXPECT_EQ(report.reason, "");
    return report;
  }

  TemporaryFolder folder_;
};

TEST_P(HeldTraining, GoesOnFromACheckpointToTheBit) {
  RecordingObserver whole, late;
  const StageReport expected = run(whole, "whole");
  ASSERT_EQ(expected.outcome, "succeeded");
  const StageReport found = run(late, "late", whole.checkpoints.at(13));
  ASSERT_EQ(found.outputs.size(), expected.outputs.size());
  for (std::size_t i = 0; i < found.outputs.size(); ++i)
    EXPECT_THAT(differences(expected.outputs[i].path, found.outputs[i].path), IsEmpty()) << found.outputs[i].slot;
  std::erase_if(whole.points, [](const RecordedPoint& point) { return point.step <= 13; });
  EXPECT_EQ(late.points, whole.points);
  EXPECT_THAT(differences(whole.checkpoints.at(23), late.checkpoints.at(23)), IsEmpty());
}

TEST_P(HeldTraining, KeepsWhatLearnsInCheckpointsAndNotWhatIsFrozen) {
  RecordingObserver observer;
  const StageReport report = run(observer, "whole");
  const auto file = read_safetensors(observer.checkpoints.at(23)).tensors;
  int learning = 0;
  for (const auto& [name, tensor] : file) {
    learning += name.starts_with("optimizer.");
    // Models that were kept on the way have weights of their own where adapters are merged into them.
    if (merged() && !name.starts_with("model.") && !name.starts_with("optimizer.")) continue;
    EXPECT_THAT(name, Not(HasSubstr("qkv.weight"))) << "of the base";
  }
  EXPECT_GT(learning, 0);
  double whole = 0, trained = 0;
  for (const StageResult& result : report.results) {
    if (result.key.metric == "parameters") whole = result.value;
    if (result.key.metric == "trained_parameters") trained = result.value;
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(trained, 0);
  if (GetParam().recipe == "linear-probe") {
    EXPECT_EQ(trained, 16 * 10 + 10);
    EXPECT_GT(whole, trained);
  }
}

TEST_P(HeldTraining, RefusesACheckpointThatWasMadeBesideOtherFrozenWeights) {
  RecordingObserver observer;
  run(observer, "whole");
  TensorFile file = read_safetensors(observer.checkpoints.at(13));
  Json document = Json::parse(file.metadata.at("locus"));
  EXPECT_EQ(document.at("base").get<std::string>().size(), 64u);
  document["base"] = std::string(64, '0');
  file.metadata["locus"] = document.dump();
  StageRequest request = request_for(configuration(), folder_.path() / "refused");
  request.resume = folder_.path() / "changed.safetensors";
  write_safetensors(request.resume, file);
  const StageReport report = run_stage(request, observer);
  EXPECT_EQ(report.failure_class, "data");
  EXPECT_THAT(report.reason, HasSubstr("other frozen weights"));
}

// What the training said of its last model is what the model that it left says of itself.
TEST_P(HeldTraining, ExportsAModelThatIsScoredAsItWasValidated) {
  RecordingObserver observer;
  const StageReport trained = run(observer, "whole");
  std::map<std::string, double> validation;
  for (const StageResult& result : trained.results) {
    if (result.key.split == "validation") validation[result.key.metric] = result.value;
  }
  const auto tensors = read_safetensors(trained.outputs.at(0).path).tensors;
  const bool adapters = std::any_of(tensors.begin(), tensors.end(), [](const auto& one) {
    return one.first.find("lora_") != std::string::npos || one.first.ends_with("magnitude");
  });
  EXPECT_EQ(adapters, GetParam().adapter.is_object() && !merged());
  EXPECT_TRUE(tensors.contains("model.backbone.blocks.0.attention.qkv.weight"));
  Json evaluation = configuration();
  evaluation["kind"] = "evaluate";
  evaluation["stage"] = {{"options", {{"split", "validation"}}}};
  evaluation["inputs"] = {{"checkpoint", configuration_identity(configuration())}};
  StageRequest request = request_for(evaluation, folder_.path() / "evaluate");
  request.inputs["checkpoint"] = trained.outputs.at(0).path;
  const StageReport scored = run_stage(request, observer);
  ASSERT_EQ(scored.reason, "");
  for (const StageResult& result : scored.results)
    EXPECT_NEAR(result.value, validation.at(result.key.metric), 2e-3 * validation.at(result.key.metric))
        << result.key.metric;
}

INSTANTIATE_TEST_SUITE_P(Choices, HeldTraining, ::testing::ValuesIn(adapter_choices()),
                         [](const ::testing::TestParamInfo<AdapterChoice>& tested) { return tested.param.name; });

}  // namespace
}  // namespace locus::engine
