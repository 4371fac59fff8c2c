// A recipe of everything that the loop leaves to recipes: a frozen part, groups with rates of their own, another
// schedule, and a hook that draws, changes batches and gradients, and has state.
#include "engine/train/recipe_options.h"

namespace locus::engine::toys {
namespace {

// Noise on the images, and the last gradient's half added to each.
class Stirring final : public TrainingHook {
 public:
  explicit Stirring(const Task& task) {
    for (const auto& item : task.named_parameters()) {
      if (item.value().requires_grad()) last_.emplace(item.key(), at::zeros_like(item.value()).detach());
    }
  }
  void before_step(Batch& batch, const StepView& step) override {
    Tensor& image = batch.at("image");
    image = image + step.forward.random.normal("stirring", "image", static_cast<std::uint64_t>(step.forward.step),
                                               image.sizes(), 0, 0.05);
  }
  void before_update(const StepView& step) override {
    const at::NoGradGuard no_gradient;
    for (const auto& item : step.task.named_parameters()) {
      if (!item.value().grad().defined()) continue;
      Tensor& last = last_.at(item.key());
      const Tensor now = item.value().grad().clone();
      item.value().mutable_grad().add_(last, 0.5);
      last = now;
    }
  }
  void save(std::map<std::string, Tensor>& tensors) const override {
    for (const auto& [name, last] : last_) tensors["hook.stirring." + name] = last;
  }
  void load(std::map<std::string, Tensor>& tensors) override {
    for (const auto& [name, last] : last_) take_tensor(tensors, "hook.stirring." + name, last);
  }

 private:
  std::map<std::string, Tensor> last_;
};

class SlowHead final : public Recipe {
 public:
  explicit SlowHead(const Options& options) : options_(options) {}

  LoopSettings loop() const override { return recipes::loop_settings(options_); }
  Schedule schedule(const Horizon& horizon) const override {
    return [rate = options_.number("lr"), steps = horizon.steps()](std::int64_t step) {
      return rate * static_cast<double>(steps - step) / static_cast<double>(steps);
    };
  }
  std::unique_ptr<Optimizer> optimizer(Task& task) const override {
    ParameterGroup head{{}, 0.1, 0.25}, rest;
    for (const auto& item : task.named_parameters()) {
      if (item.key().find("embed.") != std::string::npos) item.value().requires_grad_(false);
      if (!item.value().requires_grad()) continue;
      (item.key().starts_with("head.") ? head : rest).parameters.push_back({item.key(), item.value()});
    }
    return std::make_unique<AdamW>(std::vector{head, rest}, AdamW::Settings{.beta2 = 0.99});
  }
  TrainingHooks hooks(Task& task) const override {
    TrainingHooks out;
    out.push_back(std::make_unique<Stirring>(task));
    out.push_back(std::make_unique<AverageWeights>(task, 0.8));
    return out;
  }

 private:
  Options options_;
};

}  // namespace

RecipeItem slow_head() {
  Item item("recipe", "slow-head", 1, "A frozen stem, a slow head, noise and averages");
  recipes::add_horizon(item);
  item.option(Option::number("lr", 0.01, "highest learning rate").above(0.0));
  item.option(Option::integer("limit", 0, "training images used").minimum(0));
  recipes::add_reporting(item);
  return {std::move(item),
          [](const Options& options) -> std::unique_ptr<Recipe> { return std::make_unique<SlowHead>(options); }};
}

}  // namespace locus::engine::toys
