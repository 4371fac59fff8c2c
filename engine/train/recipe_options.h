// Options that every supervised recipe has, by the same names: planning reads them, too.
#pragma once

#include "engine/train/recipe.h"

namespace locus::engine::recipes {

void add_horizon(Item& item);  // epochs, batch
// warmup_epochs, min_lr, limit, grad_clip, and the rules that they obey.
void add_course(Item& item, double minimum_rate);
void add_reporting(Item& item);  // validate_every, validation_images, log_every, snapshots

LoopSettings loop_settings(const Options& options);
// lr, warmup_epochs and min_lr as a cosine.
Schedule cosine_schedule(const Options& options, const Horizon& horizon);
// Clips where grad_clip asks for it.
void add_clipping(TrainingHooks& hooks, const Task& task, const Options& options);

}  // namespace locus::engine::recipes
