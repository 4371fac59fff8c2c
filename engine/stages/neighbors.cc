// Stage "neighbors": classifies images by the nearest training images in the features of a trained model, without a head.
//
// Features are what the task reads of each image (Task::features), in evaluation mode, float32, divided by their length;
// a class's vote is the sum of exp(product / T) over its images among the k nearest (Wu et al. 2018, arXiv:1805.01978;
// DINO's k-NN evaluation, Caron et al. 2021, arXiv:2104.14294, whose features are the class token after the final norm).
// Images go through the model once each. Those that are classified are held as features, the others pass by. Of weights
// that were given it tells after the recipe linear-probe, which leaves the backbone as it is.
#include <algorithm>

#include "engine/inputs/input.h"
#include "engine/stages/stages.h"
#include "engine/stages/trained_task.h"
#include "engine/train/evaluation.h"
#include "engine/train/narration.h"
#include "engine/train/neighbors.h"
#include "engine/train/training_data.h"

namespace locus::engine::stages {
namespace {

class NeighborVotes {
 public:
  explicit NeighborVotes(StageContext& context)
      : context_(context),
        facts_(input_facts(context.configuration)),
        dataset_(open_data(context)),
        input_(make_input(context.configuration, dataset_->normalization())),
        random_(context.configuration.at("seed").get<std::uint64_t>()) {}

  void run() {
    if (context_.options.text("split") == context_.options.text("references"))
      throw std::invalid_argument("stage neighbors: split and references are both " + context_.options.text("split") +
                                  ", where every image is its own nearest; choose two parts of the data");
    const auto scored = part("split", "images"), references = part("references", "reference_images");
    task_ = trained_task(context_, facts_, random_, context_.configuration, state_);
    context_.environment["path"] = context_.execution.path;
    steps_ = scored->size() + references->size();
    context_.observer.started(context_.environment, steps_, 0);
    std::vector<Tensor> features, labels;
    const bool whole = visit(scored, [&](const Tensor& feature, const Tensor& label) {
      features.push_back(feature);
      labels.push_back(label);
    });
    if (!whole) return;
    const std::vector<std::int64_t> k = context_.options.integers("k");
    Neighbors neighbors(at::cat(features), *std::max_element(k.begin(), k.end()));
    features.clear();
    if (!visit(references, [&](const Tensor& feature, const Tensor& label) { neighbors.add(feature, label); })) return;
    for (const Neighbors::Right& right : neighbors.right(k, context_.options.number("temperature"),
                                                         facts_.at("classes").get<std::int64_t>(), at::cat(labels))) {
      report(right, scored->size(), references->size());
    }
    context_.observer.progress(steps_, steps_, "neighbors");
    context_.environment["path"] = task_->path();
  }

 private:
  const Json& dataset() const { return context_.configuration.at("dataset"); }

  std::shared_ptr<const Source> part(const char* split, const char* images) {
    const std::string name = context_.options.text(split);
    return scored_part(dataset_->split(name), dataset().at("id").get<std::string>(), name,
                       context_.options.integer(images));
  }

  // False when the stage is to end.
  bool visit(const std::shared_ptr<const Source>& source,
             const std::function<void(const Tensor& features, const Tensor& labels)>& take) {
    const ForwardContext forward{state_.step, state_.steps, false, random_};
    const EvaluationSet set = scored_set(source, *input_, {}, *task_, context_.execution);
    const auto go_on = [&](std::int64_t images) {
      const Wish wish = context_.observer.wish();
      if (wish == Wish::kCancel) context_.outcome = Outcome::kCancelled;
      if (wish == Wish::kCheckpointAndStop)
        context_.outcome = Outcome::kStopped;  // nothing worth keeping: it starts anew
      context_.observer.progress(done_ + images, steps_, "neighbors");
      if (pace_.due(/*milestone=*/false))
        context_.observer.say("features of " + std::to_string(done_ + images) + "/" + std::to_string(steps_) +
                              " images");
      return wish == Wish::kContinue;
    };
    const auto read = [&](const Batch& batch) {
      take(task_->features(batch, forward).to(at::kFloat), batch.at(kLabel));
    };
    if (!visit_range(set, 0, source->size(), context_.device, read, go_on)) return false;
    done_ += source->size();
    return true;
  }

  void report(const Neighbors::Right& right, std::int64_t scored, std::int64_t references) {
    const std::string split = context_.options.text("split");
    Json labels = {{"k", right.k}};
    if (context_.options.integer("images") > 0) labels["images"] = scored;
    if (context_.options.integer("reference_images") > 0) labels["references"] = references;
    std::vector<Score> scores;
    for (const auto& [metric, count] : {std::pair{"knn_top1", right.top1}, std::pair{"knn_top5", right.top5}}) {
      scores.push_back({metric, 100 * static_cast<double>(count) / static_cast<double>(scored)});
      context_.results.push_back(
          {{metric, split, labels}, context_.options.text("checkpoint"), scores.back().value, state_.step});
    }
    context_.observer.say(split + "  " + std::to_string(right.k) + " neighbors  " + scores_text(scores));
  }

  StageContext& context_;
  const Json facts_;
  std::shared_ptr<Dataset> dataset_;
  std::shared_ptr<const Input> input_;
  RandomStreams random_;
  Pace pace_{steady_seconds()};
  TrainingState state_;
  std::shared_ptr<Task> task_;
  std::int64_t steps_ = 0, done_ = 0;
};

void run_neighbors(StageContext& context) { NeighborVotes(context).run(); }

}  // namespace

StageItem neighbors() {
  Item item("stage", "neighbors", 1,
            "Classifies images by the nearest training images in the features of a trained model");
  item.option(Option::list("k", "integer", Json::array({10, 20, 100, 200}), "how many of the nearest images vote")
                  .minimum(1)
                  .maximum(10000)
                  .min_items(1)
                  .unique());
  item.option(
      Option::number("temperature", 0.07, "T: an image votes by exp(product / T) of its feature and the other's")
          .above(0.0)
          .maximum(100.0));
  item.option(Option::text("split", "test", "which images are classified").choices({"train", "validation", "test"}));
  item.option(Option::text("references", "train", "which images vote")
                  .choices({"train", "validation", "test"})
                  .neutral("train"));
  item.option(Option::integer("images", 0,
                              "images that are classified, the first of one fixed permutation of the split; 0 for all")
                  .minimum(0)
                  .neutral(0)
                  .unit("images"));
  item.option(Option::integer("reference_images", 0, "images that may vote, chosen likewise; 0 for all")
                  .minimum(0)
                  .neutral(0)
                  .unit("images"));
  add_checkpoint_option(item);
  const auto metric = [](const char* name, const char* help) {
    return Json{{"name", name}, {"unit", "%"}, {"direction", "max"}, {"help", help}};
  };
  item.facts({{"inputs", checkpoint_inputs()},
              {"outputs", Json::array()},
              {"metrics",
               {metric("knn_top1", "images whose k nearest training images vote most for the label"),
                metric("knn_top5", "images whose label is among the min(5, k) largest votes")}}});
  return {std::move(item), run_neighbors};
}

}  // namespace locus::engine::stages
