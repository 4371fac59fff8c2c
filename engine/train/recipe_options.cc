// The shared options and what they make.
#include "engine/train/recipe_options.h"

#include <algorithm>
#include <cmath>

namespace locus::engine::recipes {
namespace {

bool has(const Options& options, const char* name) { return options.json().contains(name); }

double number_or(const Options& options, const char* name, double otherwise) {
  return has(options, name) ? options.number(name) : otherwise;
}
std::int64_t integer_or(const Options& options, const char* name, std::int64_t otherwise) {
  return has(options, name) ? options.integer(name) : otherwise;
}
std::string text_or(const Options& options, const char* name, const char* otherwise) {
  return has(options, name) ? options.text(name) : otherwise;
}
bool boolean_or(const Options& options, const char* name, bool otherwise) {
  return has(options, name) ? options.boolean(name) : otherwise;
}

// An option left out of the identity at `value`, where that is also what is meant by leaving it out.
Option neutral_at(Json value, Option option) {
  return option.json().at("default") == value ? option.neutral(std::move(value)) : option;
}

}  // namespace

void add_horizon(Item& item, std::int64_t epochs, std::int64_t batch, std::int64_t repeats, bool keep_last) {
  item.option(Option::integer("epochs", epochs, "passes over the training images; the schedule's horizon")
                  .minimum(1)
                  .maximum(100000));
  item.option(Option::integer("batch", batch, "images a step").minimum(1).maximum(65536));
  item.option(
      neutral_at(1, Option::integer("repeats", repeats,
                                    "repeated augmentation: an epoch shows each of its images so many times, side "
                                    "by side and augmented anew, and so many times fewer of them, cut to a "
                                    "multiple of 256")
                        .minimum(1)
                        .maximum(64)));
  item.option(
      neutral_at(false, Option::boolean("keep_last", keep_last,
                                        "the last, incomplete batch of an epoch is a step, too, instead of being "
                                        "left out")));
}

void add_limit(Item& item) {
  item.option(Option::integer("limit", 0, "training images used, one fixed subset for every seed; 0 for all")
                  .minimum(0)
                  .neutral(0)
                  .unit("images"));
}

void add_limits(Item& item, double clip) {
  add_limit(item);
  item.option(neutral_at(
      0.0, Option::number("grad_clip", clip, "largest joint norm of the gradients; 0 for no limit").minimum(0.0)));
}

void add_course(Item& item, double minimum_rate, double warmup_epochs, double clip) {
  item.option(
      Option::number("warmup_epochs", warmup_epochs, "epochs of linear warm-up from zero").minimum(0.0).unit("epochs"));
  item.option(
      Option::number("min_lr", minimum_rate, "learning rate at the end of the cosine").minimum(0.0).maximum(10.0));
  add_limits(item, clip);
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

void add_precision(Item& item, Precision training, Precision evaluation) {
  const std::vector<std::string> all = {"float32", "tf32", "bfloat16", "float16"};
  item.option(neutral_at("float32", Option::text("precision", name_of(training),
                                                 "of products while training; weights and sums stay float32. tf32 "
                                                 "rounds their factors to 10 bits, on GPUs alone; float16 scales the "
                                                 "loss, and skips steps that overflow")
                                        .choices(all)));
  item.option(neutral_at(
      "float32",
      Option::text("eval_precision", name_of(evaluation), "of products while a model is scored").choices(all)));
  item.option(Option::integer("accumulate", 1,
                              "parts that a step's batch is computed in, one after another, to need less memory; their "
                              "gradients are added")
                  .minimum(1)
                  .maximum(4096)
                  .neutral(1));
}

void add_momentum(Item& item) {
  item.option(
      Option::number("momentum", 0.9, "share of the last update that the next one keeps").minimum(0.0).maximum(0.9999));
}

void add_gradient_decay(Item& item, double weight_decay) {
  item.option(Option::number("weight_decay", weight_decay, "decay of weight matrices, as part of the gradient")
                  .minimum(0.0)
                  .maximum(10.0));
}

void add_rate(Item& item, double rate, double weight_decay) {
  item.option(Option::number("lr", rate, "highest learning rate").above(0.0).maximum(10.0));
  item.option(
      Option::number("weight_decay", weight_decay, "decoupled decay of weight matrices").minimum(0.0).maximum(10.0));
}

void add_rate_scaling(Item& item, std::string_view rule, std::int64_t batch) {
  item.option(Option::text("lr_scaling", rule,
                           "lr at another batch than lr_batch: the same (none), lr * batch / lr_batch (linear) or "
                           "lr * lr_batch / batch (inverse)")
                  .choices({"none", "linear", "inverse"}));
  item.option(Option::integer("lr_batch", batch, "batch that lr is for; without meaning where lr_scaling is none")
                  .minimum(1)
                  .maximum(65536)
                  .unit("images"));
}

double scaled_rate(const Options& options) {
  const double rate = options.number("lr");
  const std::string rule = text_or(options, "lr_scaling", "none");
  if (rule == "none") return rate;
  const auto batch = static_cast<double>(options.integer("batch")),
             base = static_cast<double>(options.integer("lr_batch"));
  return rule == "linear" ? rate * batch / base : rate * base / batch;
}

void add_groups(Item& item, std::string_view exempt, double layer_decay) {
  item.option(
      Option::text(
          "decay_exempt", exempt,
          "what weight decay spares: vectors, biases and what priors ask for (task), class and register tokens, "
          "too (timm), or vectors and biases whatever they are (matrices); biases and what is named norm "
          "(names); nothing (none); or tokens and what priors ask for, biases and norms decaying (mmseg)")
          .choices({"task", "timm", "matrices", "names", "none", "mmseg"}));
  item.option(neutral_at(1.0, Option::number("layer_decay", layer_decay,
                                             "factor of the learning rate from each block to the one before; the head "
                                             "learns at the full rate")
                                  .above(0.0)
                                  .maximum(1.0)));
  item.option(Option::text("layer_decay_norm", "head",
                           "the final norm learns at the rate of the head, or of the last block, as in timm")
                  .choices({"head", "last-block"})
                  .neutral("head"));
}

GroupRules group_rules(const Options& options) {
  return {.weight_decay = options.number("weight_decay"),
          .decay = decay_rule_of(text_or(options, "decay_exempt", "task")),
          .layer_decay = number_or(options, "layer_decay", 1),
          .norm_with_last_block = text_or(options, "layer_decay_norm", "head") == "last-block"};
}

void add_clip_rule(Item& item) {
  item.option(
      Option::text("grad_clip_rule", "joint",
                   "what grad_clip limits: the norm of all gradients together (joint), of each tensor's (tensor, "
                   "DINO), or of each row's as a share of its weights' norm (unit, adaptive clipping)")
          .choices({"joint", "tensor", "unit"})
          .neutral("joint"));
}

void add_averaging(Item& item, double decay, std::int64_t batch) {
  item.option(neutral_at(
      0.0, Option::number("average_decay", decay, "decay of an exponential average of the weights; 0 for none")
               .minimum(0.0)
               .maximum(0.9999999)));
  item.option(neutral_at(0, Option::integer("average_batch", batch,
                                            "batch that average_decay is for: at another it is average_decay ^ (batch "
                                            "/ average_batch); 0 where it holds at any")
                                .minimum(0)
                                .maximum(65536)
                                .unit("images")));
  item.option(Option::text("average_form", "v2", "how the average follows: as timm's ModelEmaV2, or its ModelEmaV3")
                  .choices({"v2", "v3"})
                  .neutral("v2"));
  item.option(Option::integer("average_after", 0, "first steps in which the average only copies the weights (v3)")
                  .minimum(0)
                  .neutral(0)
                  .unit("steps"));
  item.option(Option::boolean("average_warmup", false, "the decay grows from 0 (v3)").neutral(false));
  item.option(Option::text("report", "raw",
                           "which weights are validated and kept: those that learn (raw) or their average (ema). The "
                           "last model's others are validated, too: top1_ema or top1_raw")
                  .choices({"raw", "ema"}));
}

void add_mixing(Item& item, bool torchvision, double smoothing, std::string_view order) {
  item.option(Option::number("mixup", 0.8, "a of the distribution Beta(a, a) of mixup's share; 0 for no mixup")
                  .minimum(0.0)
                  .maximum(100.0));
  item.option(Option::number("cutmix", 1.0, "a of the distribution Beta(a, a) of CutMix's share; 0 for no CutMix")
                  .minimum(0.0)
                  .maximum(100.0));
  item.option(Option::number("mix_switch", 0.5, "probability of CutMix where both are on").minimum(0.0).maximum(1.0));
  item.option(Option::number("mix_smoothing", smoothing, "share of the mixed targets spread evenly over all classes")
                  .minimum(0.0)
                  .maximum(1.0));
  item.option(Option::integer("mix_chunk", 0,
                              torchvision
                                  ? "images that share a draw; 0 for the whole batch"
                                  : "images that share a draw; 0 for 256 where the batch is a multiple of that, "
                                    "else the whole batch")
                  .minimum(0)
                  .maximum(65536)
                  .neutral(0)
                  .unit("images"));
  if (torchvision) return;
  item.option(Option::number("mix_probability", 1.0, "probability that anything is mixed").minimum(0.0).maximum(1.0));
  item.option(Option::text("mix_mode", "batch", "what shares a draw: a chunk (batch), an image (elem), or two (pair)")
                  .choices({"batch", "elem", "pair"})
                  .neutral("batch"));
  item.option(neutral_at("consecutive",
                         Option::text("mix_order", order,
                                      "images of a chunk: consecutive ones, or every n-th of n chunks (strided), as "
                                      "where n processes share a list")
                             .choices({"consecutive", "strided"})));
  item.option(
      Option::boolean("cutmix_odd", false, "boxes of odd extent keep it, as in timm from 1.0.29 on").neutral(false));
}

MixingSettings mixing_settings(const Options& options, bool torchvision) {
  using Mode = MixingSettings::Mode;
  const std::string mode = text_or(options, "mix_mode", "batch");
  const Mode single = mode == "elem" ? Mode::kElement : Mode::kPair;
  return {.torchvision = torchvision,
          .mode = mode == "batch" ? Mode::kBatch : single,
          .mixup = options.number("mixup"),
          .cutmix = options.number("cutmix"),
          .probability = number_or(options, "mix_probability", 1),
          .switch_probability = options.number("mix_switch"),
          .smoothing = options.number("mix_smoothing"),
          .chunk = options.integer("mix_chunk"),
          .strided = text_or(options, "mix_order", "consecutive") == "strided",
          .odd_boxes = boolean_or(options, "cutmix_odd", false)};
}

void add_timm_cosine(Item& item) {
  item.option(Option::number("warmup_lr", 1e-6, "learning rate that the warm-up begins at").minimum(0.0).maximum(10.0));
  item.option(Option::boolean("schedule_late", true,
                              "the rate is that of an epoch earlier, so that the first two epochs have the same, as in "
                              "DeiT's code"));
  item.option(Option::text("schedule_unit", "epoch", "the rate changes with every epoch, or with every step")
                  .choices({"epoch", "step"})
                  .neutral("epoch"));
  item.option(
      Option::boolean("warmup_prefix", false, "the cosine begins behind the warm-up, not beside it").neutral(false));
  item.option(Option::integer("cooldown_epochs", 0, "last epochs, at min_lr").minimum(0).neutral(0).unit("epochs"));
  item.constraint({{"rule", "at-most"},
                   {"left", "cooldown_epochs"},
                   {"right", "epochs"},
                   {"help", "the last epochs are among the epochs"}});
}

Schedule timm_cosine(const Options& options, const Horizon& horizon) {
  const bool stepwise = options.text("schedule_unit") == "step";
  const std::int64_t unit = stepwise ? horizon.steps_per_epoch : 1;
  const TimmSchedule schedule{
      .peak = scaled_rate(options),
      .minimum = options.number("min_lr"),
      .warmup_rate = options.number("warmup_lr"),
      .warmup = std::llround(options.number("warmup_epochs") * static_cast<double>(unit)),
      .length = std::max<std::int64_t>(horizon.epochs - options.integer("cooldown_epochs"), 1) * unit,
      .late = options.boolean("schedule_late") && !stepwise,
      .prefix = options.boolean("warmup_prefix")};
  return stepwise ? Schedule(schedule) : by_epoch(schedule, horizon.steps_per_epoch);
}

void add_warmup_share(Item& item, double share) {
  item.option(
      Option::number("warmup_share", share, "share of all steps that the linear warm-up takes, cut to whole steps")
          .minimum(0.0)
          .maximum(1.0));
}

std::int64_t warmup_steps(const Options& options, const Horizon& horizon) {
  return static_cast<std::int64_t>(options.number("warmup_share") * static_cast<double>(horizon.steps()));
}

void add_setting(Item& item, Json facts) {
  facts["tuning"] = "all weights";
  item.facts({{"setting", std::move(facts)}});
}

LoopSettings loop_settings(const Options& options) {
  return {.epochs = options.integer("epochs"),
          .batch = options.integer("batch"),
          .steps = integer_or(options, "steps", 0),
          .limit = options.integer("limit"),
          .validate_every = options.number("validate_every"),
          .validation_images = options.integer("validation_images"),
          .log_every = options.integer("log_every"),
          .snapshots = options.integer("snapshots"),
          .precision = precision_of(text_or(options, "precision", "float32")),
          .eval_precision = precision_of(text_or(options, "eval_precision", "float32")),
          .accumulate = integer_or(options, "accumulate", 1),
          .repeats = integer_or(options, "repeats", 1),
          .keep_last = boolean_or(options, "keep_last", false)};
}

TrainingHooks OptionRecipe::hooks(Task& task) const {
  TrainingHooks out;
  if (has(options_, "mixup")) {
    const MixingSettings mixing = mixing_settings(options_, torchvision_);
    if (mixing.mixup > 0 || mixing.cutmix > 0 || mixing.smoothing > 0)
      out.push_back(std::make_unique<MixBatches>(task, mixing));
  }
  if (const double limit = number_or(options_, "grad_clip", 0); limit > 0) {
    const ClipRule rule = clip_rule_of(text_or(options_, "grad_clip_rule", "joint"));
    out.push_back(std::make_unique<ClipGradients>(task, rule, limit));
  }
  if (const double decay = number_or(options_, "average_decay", 0); decay > 0) {
    const std::int64_t base = integer_or(options_, "average_batch", 0);
    const double power = base == 0 ? 1 : static_cast<double>(options_.integer("batch")) / static_cast<double>(base);
    out.push_back(std::make_unique<AverageWeights>(
        task, AveragingSettings{.decay = std::pow(decay, power),
                                .third = text_or(options_, "average_form", "v2") == "v3",
                                .after = integer_or(options_, "average_after", 0),
                                .warmup = boolean_or(options_, "average_warmup", false),
                                .reported = text_or(options_, "report", "ema") == "ema"}));
  }
  return out;
}

Schedule CosineRecipe::schedule(const Horizon& horizon) const {
  const auto warmup = std::llround(options().number("warmup_epochs") * static_cast<double>(horizon.steps_per_epoch));
  return CosineSchedule{options().number("lr"), options().number("min_lr"), warmup, horizon.steps()};
}

std::unique_ptr<Optimizer> DeitRecipe::optimizer(Task& task) const {
  return std::make_unique<AdamW>(parameter_groups(task, group_rules(options())), AdamW::Settings{});
}

void add_deit(Item& item, const DeitNumbers& numbers) {
  add_horizon(item, numbers.epochs, numbers.batch, numbers.repeats);
  add_rate(item, numbers.rate, 0.05);
  add_rate_scaling(item, numbers.scaling, numbers.batch);
  add_course(item, 1e-5, 5);
  add_timm_cosine(item);
  add_groups(item, "timm");
  add_clip_rule(item);
  add_mixing(item, /*torchvision=*/false, numbers.smoothing, "strided");
  add_averaging(item, numbers.average_decay, numbers.average_batch);
  add_precision(item, Precision::kFloat16, Precision::kFloat16);
  add_reporting(item);
}

}  // namespace locus::engine::recipes
