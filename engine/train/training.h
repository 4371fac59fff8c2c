// The training loop: steps, curves, validation, checkpoints, resumption. What is learned is the task's, how it is
// learned the recipe's.
#pragma once

#include "engine/data/dataset.h"
#include "engine/data/loader.h"
#include "engine/inputs/input.h"
#include "engine/stage/stage.h"
#include "engine/tasks/task.h"
#include "engine/train/backward.h"
#include "engine/train/best_model.h"
#include "engine/train/checkpoint.h"
#include "engine/train/narration.h"
#include "engine/train/recipe.h"
#include "engine/train/snapshots.h"
#include "engine/weights/init.h"

namespace locus::engine {

// One training run. Its state is what a checkpoint holds: resuming continues bit for bit on the CPU. Not
// thread-safe.
class Training {
 public:
  // Opens the data, builds the model and, with context.resume, puts everything where the checkpoint left it.
  explicit Training(StageContext& context);

  // Until the horizon, a wish, or the first validation at or past the stop point. Fills the context's outcome, results and outputs. Throws DivergedError when
  // a loss is not finite, DataError, or what torch throws.
  void run();

 private:
  InitContext init_context() const;
  void resume();
  void step();
  void note(const Tensor& row);
  Tensor noted() const;
  void close_window();
  bool validation_due() const;
  void warm_up();
  EvaluationSet validation_set() const;
  bool validate(bool last);  // whether the model is the best so far
  void score_others(const EvaluationSet& set);
  void save(bool best = false);
  bool to_park();         // the observer wants no more than the steps done
  bool parks(bool best);  // behind a validation: with a checkpoint, if it is to
  void begin();
  void finish();

  void write_model(const std::string& slot, const TensorFile& file, std::int64_t step);
  TrainingState state_now() const;
  ForwardContext context(bool training) const;
  double rate(std::int64_t step) const;
  Place place();
  void point(const std::string& metric, const std::string& split, double value, Json labels = Json::object());
  void result(const std::string& metric, const std::string& split, const std::string& reducer, double value,
              Json labels = Json::object());

  StageContext& context_;
  std::unique_ptr<Recipe> recipe_;
  LoopSettings settings_;
  RandomStreams random_;
  std::shared_ptr<Dataset> dataset_;
  std::shared_ptr<const Input> input_;
  Json facts_;  // of what the input makes of the dataset
  std::shared_ptr<Task> task_;
  TrainingLoader loader_;
  Schedule schedule_;
  std::unique_ptr<Optimizer> optimizer_;
  BackwardPass backward_;
  TrainingHooks hooks_;
  BestModel best_;
  std::unique_ptr<Narration> narration_;
  std::string base_;  // what checkpoints are made beside (TrainingState::base)
  std::int64_t step_ = 0, steps_ = 0;
  std::int64_t planned_ = 0;             // steps of the horizon that the schedule is made for
  double waited_before_ = 0;             // for data, by processes that trained before
  double waited_at_window_ = 0;          // for data, by this process, when the last window was closed
  std::vector<std::string> begun_from_;  // lines for people: where the weights came from
  Snapshots snapshots_{0, 0};
  std::int64_t saved_ = -1;  // step of the last checkpoint this process wrote

  // The part of the curve not yet averaged into a point: a row of fields a step, in a table made once.
  Tensor window_;
  std::int64_t window_rows_ = 0;
  std::vector<std::string> fields_;
  double window_seconds_ = 0, seconds_ = 0;
  std::int64_t window_timed_ = 0;            // steps of the window that this process made
  std::vector<double> window_milliseconds_;  // mean of a step, window by window
};

}  // namespace locus::engine
