// What recipes share: options by the same names in all of them, since planning reads them, too, and what follows from
// these.
#pragma once

#include "engine/train/recipe.h"

namespace locus::engine::recipes {

void add_horizon(Item& item);  // epochs, batch
// warmup_epochs, min_lr, limit, grad_clip, and the rules that they obey.
void add_course(Item& item, double minimum_rate);
void add_reporting(Item& item);  // validate_every, validation_images, log_every, snapshots

LoopSettings loop_settings(const Options& options);

// A recipe with all of the options above and lr: a cosine over the horizon, gradients clipped where grad_clip asks for
// it. What is left to say is the optimizer.
class CosineRecipe : public Recipe {
 public:
  explicit CosineRecipe(const Options& options) : options_(options) {}

  LoopSettings loop() const override { return loop_settings(options_); }
  Schedule schedule(const Horizon& horizon) const override;
  TrainingHooks hooks(Task& task) const override;

 protected:
  const Options& options() const { return options_; }

 private:
  Options options_;
};

}  // namespace locus::engine::recipes
