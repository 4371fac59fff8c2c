// Stage "evaluate": scores a trained model on a split, at each of several resolutions.
//
// positions "interpolated": position interpolation, positions multiplied by the training grid's side over the
// present one, axis by axis, so that they span the range seen in training. Every prior that computes from
// coordinates has it as a choice of its option other_grids, in its own coordinates; here that choice is made
// for the whole model, whatever it was trained with. Priors without the option (learned tables, which are
// resized, and coordinates that are normalized anyway) stay as they are.
#include <algorithm>
#include <cstdio>

#include "engine/data/dataset.h"
#include "engine/inputs/input.h"
#include "engine/stages/stages.h"
#include "engine/stages/trained_task.h"
#include "engine/train/evaluation.h"
#include "engine/train/narration.h"
#include "engine/train/recipe.h"
#include "engine/train/training_data.h"

namespace locus::engine::stages {
namespace {

constexpr const char* kNative = "native";
constexpr const char* kPlain = "plain";
constexpr const char* kOption = "other_grids";
constexpr const char* kChoice = "interpolate";

bool can_interpolate(const Json& prior) {
  const Json& options = prior_item(prior.at("id").get<std::string>()).item.json().at("options");
  return std::any_of(options.begin(), options.end(), [](const Json& option) {
    const Json choices = option.value("choices", Json::array());
    return option.at("name") == kOption && std::find(choices.begin(), choices.end(), kChoice) != choices.end();
  });
}

// The configuration to build the model from; ids of the priors that interpolate go to `who`.
Json with_positions(Json configuration, const std::string& positions, Json& who) {
  if (positions == kNative) return configuration;
  for (Json& prior : configuration.at("priors")) {
    if (!can_interpolate(prior)) continue;
    prior["options"][kOption] = kChoice;
    if (prior.contains("stages")) {
      for (Json& differs : prior.at("stages")) {
        if (differs.is_object()) differs.erase(kOption);
      }
    }
    who.push_back(prior.at("id"));
  }
  return configuration;
}

// One way of scoring, the same for every image that is scored.
struct View {
  std::string positions;
  std::int64_t resolution;
  std::int64_t images;  // of the split; 0: all

  Json labels() const {
    Json out = {{"resolution", resolution}};
    if (positions != kNative) out["positions"] = positions;
    if (images > 0) out["images"] = images;
    return out;
  }
  // "test  resolution 28"
  std::string text(const std::string& split) const {
    return split + "  resolution " + std::to_string(resolution) +
           (positions == kNative ? "" : "  positions " + positions);
  }
};

class Evaluation {
 public:
  explicit Evaluation(StageContext& context)
      : context_(context),
        facts_(input_facts(context.configuration)),
        dataset_(open_data(context)),
        input_(make_input(context.configuration, dataset_->normalization())),
        random_(context.configuration.at("seed").get<std::uint64_t>()),
        whole_(dataset_->split(context.options.text("split"))->size()),
        split_(scored_part(dataset_->split(context.options.text("split")), dataset().at("id").get<std::string>(),
                           context.options.text("split"), context.options.integer("images"))) {}

  void run() {
    const auto positions = context_.options.texts("positions");
    std::vector<std::int64_t> resolutions = context_.options.integers("resolution");
    const auto extent = facts_.at("extent").get<Extent>();
    if (resolutions.empty()) resolutions = {std::min(extent[0], extent[1])};
    steps_ = static_cast<std::int64_t>(positions.size() * resolutions.size()) * split_->size();
    for (const std::string& how : positions) {
      load(how);
      for (const std::int64_t resolution : resolutions) {
        if (!score({how, resolution, split_->size() < whole_ ? split_->size() : 0})) return;
      }
    }
    context_.observer.progress(steps_, steps_, "evaluate");
    context_.environment["path"] = task_->path();
  }

 private:
  const Json& dataset() const { return context_.configuration.at("dataset"); }

  void load(const std::string& positions) {
    Json interpolating = Json::array();
    const Json configuration = with_positions(context_.configuration, positions, interpolating);
    const bool first = !task_;
    task_ = trained_task(context_, facts_, random_, configuration, state_);
    if (positions != kNative) context_.environment["interpolated_positions"] = interpolating;
    if (!first) return;
    context_.environment["path"] = context_.execution.path;
    context_.observer.started(context_.environment, steps_, 0);
  }

  // False when it is to end.
  bool score(const View& view) {
    const auto accumulator = task_->accumulator();
    const std::string text = view.text(context_.options.text("split"));
    const double start = pace_.elapsed();
    const auto go_on = [&](std::int64_t images) {
      const Wish wish = context_.observer.wish();
      if (wish == Wish::kCancel) context_.outcome = Outcome::kCancelled;
      if (wish == Wish::kCheckpointAndStop)
        context_.outcome = Outcome::kStopped;  // nothing worth keeping: it starts again
      context_.observer.progress(done_ + images, steps_, "evaluate");
      if (pace_.due(/*milestone=*/false))
        context_.observer.say(text + "  " + std::to_string(images) + "/" + std::to_string(split_->size()) + " images");
      return wish == Wish::kContinue;
    };
    const Autocast cast(make_recipe(context_.configuration)->loop().eval_precision, context_.device);
    const ForwardContext context{state_.step, state_.steps, false, random_};
    const EvaluationSet set = scored_set(
        split_, *input_, {view.resolution, context_.options.text("resize"), context_.options.text("interpolation")},
        *task_, context_.execution);
    if (!evaluate_range(*task_, set, 0, split_->size(), context_.device, context, *accumulator, go_on)) {
      return false;
    }
    done_ += split_->size();
    for (const Score& score : accumulator->scores()) {
      context_.results.push_back({{score.metric, context_.options.text("split"), view.labels()},
                                  context_.options.text("checkpoint"),
                                  score.value,
                                  state_.step});
    }
    char took[64];
    std::snprintf(took, sizeof took, "  %lld images in %.1f s", static_cast<long long>(split_->size()),
                  pace_.elapsed() - start);
    context_.observer.say(text + "  " + scores_text(accumulator->scores()) + took);
    return true;
  }

  StageContext& context_;
  const Json facts_;
  std::shared_ptr<Dataset> dataset_;
  std::shared_ptr<const Input> input_;
  RandomStreams random_;
  const std::int64_t whole_;                   // images of the split
  const std::shared_ptr<const Source> split_;  // what of it is scored
  Pace pace_{steady_seconds()};
  TrainingState state_;
  std::shared_ptr<Task> task_;
  std::int64_t steps_ = 0, done_ = 0;
};

void run_evaluate(StageContext& context) { Evaluation(context).run(); }

}  // namespace

StageItem evaluate() {
  Item item("stage", "evaluate", 1, "Scores a trained model on a split, at each of several resolutions");
  item.option(Option::list("resolution", "integer", Json::array(),
                           "shorter sides of the images, which keep the dataset's aspect "
                           "ratio; empty for the dataset's own")
                  .minimum(1)
                  .maximum(4096)
                  .unique()
                  .unit("pixels"));
  item.option(Option::text("split", "test", "which part of the data").choices({"train", "validation", "test"}));
  item.option(Option::integer("images", 0,
                              "images of the split that are scored, the first of one fixed permutation of it, "
                              "the same for every model and seed; 0 for all. Results of a part are labeled with "
                              "their number")
                  .minimum(0)
                  .neutral(0)
                  .unit("images"));
  item.option(Option::text("interpolation", "bilinear",
                           "kernel that images are resized by to another resolution; half-pixel centers. An input that "
                           "resizes images has its own")
                  .choices({"bilinear", "bicubic"}));
  item.option(
      Option::text("resize", kPlain,
                   "how images are resized to another resolution: normalized and without antialiasing (plain), or "
                   "as bytes with antialiasing, by Pillow's resize or torchvision's of tensors. An input that "
                   "resizes images does it in its own way and takes none but plain")
          .choices({kPlain, "pillow", "tensor"})
          .neutral(kPlain));
  add_checkpoint_option(item);
  item.option(Option::list("positions", "string", Json::array({kNative}),
                           "positions on other grids than at training: as the priors are set (native), or "
                           "multiplied so that they span the training grid's range (interpolated)")
                  .choices({kNative, "interpolated"})
                  .min_items(1)
                  .unique()
                  .neutral(Json::array({kNative})));
  item.set(
      "requires",
      Json::array({{{"rule", "divides"}, {"of", "patch"}, {"into", "resolution"}, {"help", "patches tile the image"}},
                   {{"rule", "none"},
                    {"value", "resized"},
                    {"when", {{"option", "resize"}, {"values", Json::array({"pillow", "tensor"})}}},
                    {"help", "the input resizes images in its own way; leave resize out"}}}));
  item.facts({{"inputs", checkpoint_inputs()}, {"outputs", Json::array()}});
  return {std::move(item), run_evaluate};
}

}  // namespace locus::engine::stages
