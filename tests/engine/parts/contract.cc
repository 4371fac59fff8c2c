// Made images, the smallest trainings of parts, and what such a training keeps when it goes on from a checkpoint.
#include "tests/engine/parts/contract.h"

#include <gmock/gmock.h>

#include "tests/engine/train/recording.h"

namespace locus::engine::contract {
namespace {

constexpr std::int64_t kSide = 16, kKinds = 3, kTraining = 96, kScored = 32, kBatch = 8, kEpochs = 2;
constexpr std::int64_t kMostTokens = 64;  // of the networks that train here

bool plugins_alone = false;

std::filesystem::path& root() {
  static std::filesystem::path folder = kDataRoot;
  return folder;
}

// Images whose class is the third of the rows that is brighter, on noise.
Batch made_images(std::int64_t count, std::uint64_t seed) {
  Tensor image = RandomStreams(seed).uniform("contract", "images", 0, {count, 3, kSide, kSide}) * 128;
  for (std::int64_t i = 0; i < count; ++i) image[i].narrow(1, 5 * (i % kKinds), 5).add_(100);
  return {{kImage, image.to(at::kByte)}, {kLabel, at::arange(count).remainder(kKinds)}};
}

class MadeImages final : public Dataset {
 public:
  std::shared_ptr<const Source> split(std::string_view name) override {
    if (name == "train") return resident_source(made_images(kTraining, 1));
    if (name == "validation") return resident_source(made_images(kScored, 2));
    if (name == "test") return resident_source(made_images(kScored, 3));
    throw std::invalid_argument("no split '" + std::string(name) + "': there are train, validation and test");
  }
  const Normalization& normalization() const override { return normalization_; }

 private:
  Normalization normalization_{{0.35}, {0.25}};
};

template <typename Entry>
std::vector<std::string> chosen(const Registry<Entry>& registry) {
  std::vector<std::string> out;
  for (const Entry& entry : registry.all()) {
    if (plugins_alone && !entry.item.json().contains("origin")) continue;
    out.push_back(entry.id());
    if (!plugins_alone) break;
  }
  return out;
}

bool declares(const Item& item, std::string_view name) {
  const Json& options = item.json().at("options");
  return std::any_of(options.begin(), options.end(), [&](const Json& option) { return option.at("name") == name; });
}

// The smallest patch that makes few tokens of an image, or the whole image.
std::int64_t patch_for(const Extent& extent) {
  for (std::int64_t patch = 2; patch <= std::min(extent[0], extent[1]); ++patch) {
    if (extent[0] % patch != 0 || extent[1] % patch != 0) continue;
    if (extent[0] * extent[1] / (patch * patch) <= kMostTokens) return patch;
  }
  return extent[0];
}

Json recipe_of(const RecipeItem& recipe, bool limited) {
  Json options = Json::object();
  const Json wanted = {
      {"epochs", kEpochs}, {"batch", kBatch}, {"log_every", 3}, {"validation_images", kScored}, {"warmup_epochs", 0.5}};
  for (const auto& [name, value] : wanted.items()) {
    if (declares(recipe.item, name)) options[name] = value;
  }
  if (limited && declares(recipe.item, "limit")) options["limit"] = kTraining;
  return {{"id", recipe.id()}, {"options", options}};
}

StageReport run(const Json& configuration, RecordingObserver& observer, const std::filesystem::path& work,
                const std::filesystem::path& resume, bool every_step) {
  StageRequest request = request_for(configuration, work, every_step);
  request.execution.data_root = root();
  request.resume = resume;
  StageReport report = run_stage(request, observer);
  EXPECT_EQ(report.outcome, "succeeded") << report.failure_class << ": " << report.reason;
  return report;
}

}  // namespace

std::vector<std::string> tested(const std::string& kind) {
  if (kind == "dataset") return plugins_alone ? chosen(dataset_registry()) : std::vector<std::string>{kMadeImages};
  if (kind == "backbone") return chosen(backbone_registry());
  if (kind == "task") return chosen(task_registry());
  if (kind == "recipe") return chosen(recipe_registry());
  throw std::logic_error("the contract has no kind " + kind);
}

void test_plugins_alone() { plugins_alone = true; }
void read_data_at(const std::filesystem::path& folder) { root() = folder; }
const std::filesystem::path& data_root() { return root(); }

void add_made_images() {
  Item item("dataset", kMadeImages, 1, "Images that the contract suite makes");
  item.facts({{"digest", std::string(64, '0')},
              {"manifest", Json::object()},
              {"rank", 2},
              {"channels", 3},
              {"extent", {kSide, kSide}},
              {"classes", kKinds},
              {"splits", {{"train", kTraining}, {"validation", kScored}, {"test", kScored}}}});
  dataset_registry().add({std::move(item), [](const DataPlace&, const Options&) -> std::shared_ptr<Dataset> {
                            return std::make_shared<MadeImages>();
                          }});
}

Json options_of_host(const BackboneItem& item, const Extent& extent) {
  Json out = Json::object();
  const Json wanted = {{"dim", 16}, {"depth", 2}, {"heads", 2}, {"patch", patch_for(extent)}};
  for (const Json& option : item.item.json().at("options")) {
    const std::string name = option.at("name");
    if (wanted.contains(name) && option.at("type") == "integer")
      out[name] = std::max(wanted.at(name).get<std::int64_t>(), option.value("minimum", std::int64_t{1}));
  }
  return out;
}

Json training_of(const Parts& parts) {
  const std::string dataset = parts.dataset.empty() ? kMadeImages : parts.dataset;
  const BackboneItem& host = backbone_item(parts.backbone.empty() ? "vit" : parts.backbone);
  const RecipeItem& recipe = recipe_item(parts.recipe.empty() ? "supervised" : parts.recipe);
  const Extent extent = dataset_facts({{"id", dataset}}).at("extent");
  return {{"kind", "train"},
          {"dataset", {{"id", dataset}}},
          {"task", {{"id", parts.task.empty() ? "classification" : parts.task}}},
          {"model", {{"id", host.id()}, {"options", options_of_host(host, extent)}}},
          {"priors", {{{"id", parts.prior.empty() ? "learned-absolute" : parts.prior}}}},
          {"recipe", recipe_of(recipe, dataset != kMadeImages)},
          {"seed", 7}};
}

void expect_to_go_on_from_a_checkpoint(const Json& configuration) {
  const TemporaryFolder folder;
  RecordingObserver whole, late;
  const StageReport expected = run(configuration, whole, folder.path() / "whole", {}, /*every_step=*/true);
  if (testing::Test::HasFailure()) return;
  ASSERT_GE(whole.checkpoints.size(), 2U) << "it saved no checkpoints";
  for (const RecordedPoint& point : whole.points) EXPECT_TRUE(std::isfinite(point.value)) << point.series;
  const auto middle = std::next(whole.checkpoints.begin(), static_cast<std::ptrdiff_t>(whole.checkpoints.size() / 2));
  const StageReport found = run(configuration, late, folder.path() / "late", middle->second, /*every_step=*/false);
  ASSERT_EQ(found.outputs.size(), expected.outputs.size());
  for (std::size_t i = 0; i < found.outputs.size(); ++i) {
    EXPECT_THAT(differences(expected.outputs[i].path, found.outputs[i].path), testing::IsEmpty())
        << "what it trained, " << found.outputs[i].slot << ", after going on from step " << middle->first;
  }
  std::erase_if(whole.points, [&](const RecordedPoint& point) { return point.step <= middle->first; });
  EXPECT_EQ(late.points, whole.points) << "its curves after going on from step " << middle->first;
}

}  // namespace locus::engine::contract
