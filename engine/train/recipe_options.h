// What recipes share: options by the same names in all of them, since planning reads them, too, and what follows from
// these. A recipe adds the groups of options that it has, with its own defaults, and asks for what they make; where it
// leaves a group out, that is as if its options were neutral.
#pragma once

#include "engine/train/groups.h"
#include "engine/train/mixing.h"
#include "engine/train/recipe.h"

namespace locus::engine::recipes {

// epochs, batch, repeats, keep_last
void add_horizon(Item& item, std::int64_t epochs = 10, std::int64_t batch = 128, std::int64_t repeats = 1,
                 bool keep_last = false);
// warmup_epochs, min_lr, limit, grad_clip, and the rules that they obey.
void add_course(Item& item, double minimum_rate, double warmup_epochs = 0.1, double clip = 0);
void add_limit(Item& item);  // limit
// limit and grad_clip alone, of recipes whose schedule counts otherwise.
void add_limits(Item& item, double clip = 0);
void add_reporting(Item& item);  // validate_every, validation_images, log_every, snapshots

// precision, eval_precision, accumulate.
void add_precision(Item& item, Precision training = Precision::kFloat32, Precision evaluation = Precision::kFloat32);

// momentum and weight_decay of plain descent, whose decay is part of the gradient.
void add_momentum(Item& item);
void add_gradient_decay(Item& item, double weight_decay);

// lr and weight_decay.
void add_rate(Item& item, double rate, double weight_decay);
// lr_scaling and lr_batch: whether lr is for a batch of lr_batch, and what it is for another: "linear" lr batch / lr_batch
// (Goyal et al. 2017), "inverse" lr lr_batch / batch (vtab1k-pytorch), "none" the same.
void add_rate_scaling(Item& item, std::string_view rule, std::int64_t batch);
double scaled_rate(const Options& options);

// decay_exempt (groups.h), layer_decay and layer_decay_norm.
void add_groups(Item& item, std::string_view exempt, double layer_decay = 1);
GroupRules group_rules(const Options& options);

// grad_clip_rule, beside grad_clip.
void add_clip_rule(Item& item);

// average_decay, average_batch, average_form, average_after, average_warmup, report. `decay` 0: no average unless asked
// for; `batch` above 0: the decay is for a batch of that many, decay^(batch / average_batch) for another.
void add_averaging(Item& item, double decay, std::int64_t batch = 0);

// mixup, cutmix, mix_probability, mix_switch, mix_mode, mix_smoothing, mix_chunk, mix_order, cutmix_odd; in torchvision's
// flavor without those that it has not.
void add_mixing(Item& item, bool torchvision, double smoothing, std::string_view order = "consecutive");
MixingSettings mixing_settings(const Options& options, bool torchvision);

// warmup_lr, schedule_late, schedule_unit, cooldown_epochs, warmup_prefix: timm's cosine over epochs.
void add_timm_cosine(Item& item);
Schedule timm_cosine(const Options& options, const Horizon& horizon);

// warmup_share, for schedules by step: the share of all steps that the warm-up takes, and those steps.
void add_warmup_share(Item& item, double share);
std::int64_t warmup_steps(const Options& options, const Horizon& horizon);

// What always holds of a recipe that trains all weights, for claims.
void add_setting(Item& item, Json facts);

LoopSettings loop_settings(const Options& options);

// A recipe by its options: hooks for mixing, clipping and averaging, in this order, where they are asked for. What is left
// to say is the schedule and the optimizer.
class OptionRecipe : public Recipe {
 public:
  // `torchvision`: the flavor of its mixing.
  explicit OptionRecipe(const Options& options, bool torchvision = false)
      : options_(options), torchvision_(torchvision) {}

  LoopSettings loop() const override { return loop_settings(options_); }
  TrainingHooks hooks(Task& task) const override;

 protected:
  const Options& options() const { return options_; }

 private:
  Options options_;
  bool torchvision_;
};

// With a cosine over the horizon (CosineSchedule).
class CosineRecipe : public OptionRecipe {
 public:
  using OptionRecipe::OptionRecipe;
  Schedule schedule(const Horizon& horizon) const override;
};

// As DeiT trains: AdamW, timm's cosine.
class DeitRecipe : public OptionRecipe {
 public:
  using OptionRecipe::OptionRecipe;
  Schedule schedule(const Horizon& horizon) const override { return timm_cosine(options(), horizon); }
  std::unique_ptr<Optimizer> optimizer(Task& task) const override;
};

// The numbers in which DeiT and what follows it differ.
struct DeitNumbers {
  std::int64_t epochs = 300, batch = 1024, repeats = 3;
  double rate = 1e-3;
  std::string_view scaling = "linear";
  double smoothing = 0.1;
  double average_decay = 0.99996;
  std::int64_t average_batch = 0;  // 0: the decay holds for any batch
};
void add_deit(Item& item, const DeitNumbers& numbers);

}  // namespace locus::engine::recipes
