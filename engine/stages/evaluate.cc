// Stage "evaluate": scores a trained model on a split, at each of several resolutions.
//
// positions "interpolated": position interpolation, positions multiplied by the training grid's side over the
// present one, axis by axis, so that they span the range seen in training. Every prior that computes from
// coordinates has it as a choice of its option other_grids, in its own coordinates; here that choice is made
// for the whole model, whatever it was trained with. Priors without the option (learned tables, which are
// resized, and coordinates that are normalized anyway) stay as they are.
//
// view: how a task that makes maps looks at an image (engine/tasks/views.h). "multi-scale" is mmsegmentation's: six scales, each
// mirrored as well, twelve looks.
#include <algorithm>
#include <cstdio>

#include "engine/data/dataset.h"
#include "engine/inputs/input.h"
#include "engine/stages/constant_predictor.h"
#include "engine/stages/map_pictures.h"
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
constexpr const char *kWhole = "whole", *kMirrored = "mirrored", *kWindows = "windows", *kMultiScale = "multi-scale";

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

// What the catalog says, with the names of the classes of the copy in use, whose classes may be others.
Json facts_here(const Json& configuration, const Dataset& dataset) {
  Json facts = input_facts(configuration);
  if (const std::vector<std::string> names = dataset.class_names(); !names.empty()) facts["class_names"] = names;
  return facts;
}

// One way of scoring, the same for every image that is scored.
struct View {
  std::string positions, look;
  std::int64_t resolution;
  std::int64_t images;  // of the split; 0: all

  Json labels() const {
    Json out = {{"resolution", resolution}};
    if (positions != kNative) out["positions"] = positions;
    if (look != kWhole) out["view"] = look;
    if (images > 0) out["images"] = images;
    return out;
  }
  // "test  resolution 28"
  std::string text(const std::string& split) const {
    return split + "  resolution " + std::to_string(resolution) +
           (positions == kNative ? "" : "  positions " + positions) + (look == kWhole ? "" : "  view " + look);
  }
};

Views views_named(const std::string& look, const Options& options) {
  Views out;
  out.mirrored = look == kMirrored || look == kMultiScale;
  if (look == kMultiScale) out.scales = {0.5, 0.75, 1, 1.25, 1.5, 1.75};
  if (look == kWindows) out.window = options.integer("window"), out.stride = options.integer("window_stride");
  return out;
}

class Evaluation {
 public:
  explicit Evaluation(StageContext& context)
      : context_(context),
        dataset_(open_data(context)),
        facts_(facts_here(context.configuration, *dataset_)),
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
    const auto looks = context_.options.texts("view");
    steps_ = static_cast<std::int64_t>(positions.size() * looks.size() * resolutions.size()) * split_->size();
    bool first = true;
    for (const std::string& how : positions) {
      load(how);
      for (const std::string& look : looks) {
        task_->look(views_named(look, context_.options));
        for (const std::int64_t resolution : resolutions) {
          const View view{how, look, resolution, split_->size() < whole_ ? split_->size() : 0};
          if (!score(view)) return;
          if (first && !(score_constant(view) && draw(view))) return;
          first = false;
        }
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
    const EvaluationSet set = set_of(split_, view);
    if (!evaluate_range(*task_, set, 0, split_->size(), context_.device, context, *accumulator, go_on)) {
      return false;
    }
    done_ += split_->size();
    keep_results(accumulator->scores(), view.labels());
    char took[64];
    std::snprintf(took, sizeof took, "  %lld images in %.1f s", static_cast<long long>(split_->size()),
                  pace_.elapsed() - start);
    context_.observer.say(text + "  " + scores_text(accumulator->scores()) + took);
    return true;
  }

  void keep_results(const std::vector<Score>& scores, const Json& view_labels) {
    for (const Score& score : scores) {
      Json labels = view_labels;
      labels.update(score.labels);
      context_.results.push_back({{score.metric, context_.options.text("split"), std::move(labels)},
                                  context_.options.text("checkpoint"),
                                  score.value,
                                  state_.step});
    }
  }

  // What one answer for every pixel scores, seen as the first view sees the split. False when it is to end.
  bool score_constant(const View& view) {
    if (!context_.options.boolean("constant")) return true;
    const Json task = context_.configuration.at("task").value("options", Json::object());
    ConstantPredictor constant(facts_.value("classes", std::int64_t{0}), task.value("max_depth", 0.0));
    const auto go_on = [&](std::int64_t) { return context_.observer.wish() == Wish::kContinue; };
    const auto over = [&](const std::shared_ptr<const Source>& part, const std::function<void(const Batch&)>& visit) {
      return visit_range(set_of(part, view), 0, part->size(), context_.device, visit, go_on);
    };
    const bool done = over(dataset_->split("train"), [&](const Batch& batch) { constant.learn(batch); }) &&
                      over(split_, [&](const Batch& batch) { constant.add(batch); });
    if (!done) return ended();
    Json labels = view.labels();
    labels["predictor"] = "constant";
    keep_results(constant.scores(), labels);
    return true;
  }

  // Always false.
  bool ended() {
    const bool cancelled = context_.observer.wish() == Wish::kCancel;
    context_.outcome = cancelled ? Outcome::kCancelled : Outcome::kStopped;
    return false;
  }

  EvaluationSet set_of(std::shared_ptr<const Source> source, const View& view) const {
    const ViewRequest request{view.resolution, context_.options.text("resize"), context_.options.text("interpolation")};
    return scored_set(std::move(source), *input_, request, *task_, context_.execution);
  }

  // The outputs picture-1, picture-2, ...: images at equal distances in what is scored, as the first view sees them; and the
  // output pictures, which says what they show (docs/formats/scored-pictures.md). False when it is to end.
  bool draw(const View& view) {
    const std::int64_t count = std::min(context_.options.integer("pictures"), split_->size());
    if (count == 0) return true;
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < count; ++i) rows.push_back(i * split_->size() / count);
    const Autocast cast(make_recipe(context_.configuration)->loop().eval_precision, context_.device);
    const ForwardContext forward{state_.step, state_.steps, false, random_};
    const EvaluationSet set = set_of(part_of(split_, at::tensor(rows, at::kLong)), view);
    const MapPictures pictures(facts_, input_->normalization());
    Json about = {{"version", 1},
                  {"split", context_.options.text("split")},
                  {"labels", view.labels()},
                  {"pictures", Json::array()}};
    const auto keep = [&](const Batch& batch) {
      about["of"] = batch.contains(kMask) ? kMask : kDepth;
      for (const std::string& png : pictures.draw(batch, task_->answer(batch, forward))) {
        const std::size_t number = about["pictures"].size();
        const std::string slot = "picture-" + std::to_string(number + 1);
        put_out(slot, ".png", png);
        about["pictures"].push_back({{"slot", slot}, {"row", rows.at(number)}});
      }
    };
    const auto go_on = [&](std::int64_t) { return context_.observer.wish() == Wish::kContinue; };
    if (!visit_range(set, 0, count, context_.device, keep, go_on)) return ended();
    if (about["of"] == kMask) about["classes"] = pictures.legend();
    put_out("pictures", ".json", about.dump());
    return true;
  }

  void put_out(const std::string& slot, const char* extension, const std::string& bytes) {
    const auto path = context_.execution.work / (slot + extension);
    write_picture(path, bytes);
    context_.outputs.push_back({slot, path, state_.step});
  }

  StageContext& context_;
  std::shared_ptr<Dataset> dataset_;
  const Json facts_;
  std::shared_ptr<const Input> input_;
  RandomStreams random_;
  const std::int64_t whole_;                   // images of the split
  const std::shared_ptr<const Source> split_;  // what of it is scored
  Pace pace_{steady_seconds()};
  TrainingState state_;
  std::shared_ptr<Task> task_;
  std::int64_t steps_ = 0, done_ = 0;
};

// Of tasks that make maps (facts.of_maps).
void add_map_options(Item& item) {
  item.option(
      Option::list("view", "string", Json::array({kWhole}),
                   "how tasks that make maps look at an image: at the whole of it, at its mirror as well, in windows, "
                   "or at six scales from 0.5 to 1.75 with their mirrors; other tasks take none but whole")
          .choices({kWhole, kMirrored, kWindows, kMultiScale})
          .min_items(1)
          .unique()
          .neutral(Json::array({kWhole})));
  item.option(Option::integer("window", 512, "side of a window, of the view windows; of smaller images all is one")
                  .minimum(1)
                  .maximum(4096)
                  .unit("pixels")
                  .neutral(512));
  item.option(Option::integer("window_stride", 341, "from one window to the next; the last ends with the image")
                  .minimum(1)
                  .maximum(4096)
                  .unit("pixels")
                  .neutral(341));
  item.option(
      Option::integer("pictures", 0,
                      "pictures kept of scored images at equal distances: input, what was said, target and error "
                      "side by side; of tasks that make maps")
          .minimum(0)
          .maximum(64)
          .neutral(0)
          .unit("images"));
  item.option(
      Option::boolean("constant", false,
                      "also scores one answer for every pixel, the most frequent class or the usual depth of the "
                      "training split, under the label predictor: constant; reads that split once. Of tasks that "
                      "make maps")
          .neutral(false));
}

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
  add_map_options(item);
  item.set(
      "requires",
      Json::array({{{"rule", "divides"}, {"of", "patch"}, {"into", "resolution"}, {"help", "patches tile the image"}},
                   {{"rule", "none"},
                    {"value", "resized"},
                    {"when", {{"option", "resize"}, {"values", Json::array({"pillow", "tensor"})}}},
                    {"help", "the input resizes images in its own way; leave resize out"}}}));
  item.facts(
      {{"inputs", checkpoint_inputs()}, {"outputs", Json::array()}, {"of_maps", {"view", "pictures", "constant"}}});
  return {std::move(item), run_evaluate};
}

}  // namespace locus::engine::stages
