// The shared options and what they make.
#include "engine/train/recipe_options.h"

#include <cmath>

namespace locus::engine::recipes {

void add_horizon(Item& item) {
  item.option(Option::integer("epochs", 10, "passes over the training images; the schedule's horizon")
                  .minimum(1)
                  .maximum(100000));
  item.option(Option::integer("batch", 128, "images a step").minimum(1).maximum(65536));
}

void add_course(Item& item, double minimum_rate) {
  item.option(Option::number("warmup_epochs", 0.1, "epochs of linear warm-up from zero").minimum(0.0).unit("epochs"));
  item.option(
      Option::number("min_lr", minimum_rate, "learning rate at the end of the cosine").minimum(0.0).maximum(10.0));
  item.option(Option::integer("limit", 0, "training images used, one fixed subset for every seed; 0 for all")
                  .minimum(0)
                  .neutral(0)
                  .unit("images"));
  item.option(Option::number("grad_clip", 0.0, "largest joint norm of the gradients; 0 for no limit")
                  .minimum(0.0)
                  .neutral(0.0));
  item.constraint({{"rule", "at-most"},
                   {"left", "warmup_epochs"},
                   {"right", "epochs"},
                   {"help", "the warm-up must end within the horizon"}});
  item.constraint({{"rule", "at-most"},
                   {"left", "min_lr"},
                   {"right", "lr"},
                   {"help", "the learning rate at the end must not exceed the highest"}});
}

void add_reporting(Item& item) {
  item.option(
      Option::number("validate_every", 0.25, "how often the model is validated while it trains; 0 for the end alone")
          .minimum(0.0)
          .unit("epochs"));
  item.option(Option::integer("validation_images", 1000,
                              "images of a validation during training, from the front of the split; "
                              "0 for all. The last validation always uses all")
                  .minimum(0)
                  .unit("images"));
  item.option(
      Option::integer("log_every", 10, "steps averaged into one point of a training curve").minimum(1).unit("steps"));
  item.option(Option::integer("snapshots", 0,
                              "models kept on the way, after steps that divide training into equal parts: 3 keeps "
                              "those after a quarter, half and three quarters. Checkpoints carry them and grow by a "
                              "copy of the weights each")
                  .minimum(0)
                  .maximum(64)
                  .neutral(0));
}

LoopSettings loop_settings(const Options& options) {
  return {.epochs = options.integer("epochs"),
          .batch = options.integer("batch"),
          .limit = options.integer("limit"),
          .validate_every = options.number("validate_every"),
          .validation_images = options.integer("validation_images"),
          .log_every = options.integer("log_every"),
          .snapshots = options.integer("snapshots")};
}

Schedule CosineRecipe::schedule(const Horizon& horizon) const {
  const auto warmup = std::llround(options_.number("warmup_epochs") * static_cast<double>(horizon.steps_per_epoch));
  return CosineSchedule{options_.number("lr"), options_.number("min_lr"), warmup, horizon.steps()};
}

TrainingHooks CosineRecipe::hooks(Task& task) const {
  TrainingHooks out;
  if (const double norm = options_.number("grad_clip"); norm > 0)
    out.push_back(std::make_unique<ClipJointNorm>(task, norm));
  return out;
}

}  // namespace locus::engine::recipes
