// The training loop: steps, curves, validation, checkpoints, resumption. What is learned is the task's, how it is
// learned the recipe's.
#pragma once

#include <chrono>

#include "core/base/patience.h"
#include "engine/data/dataset.h"
#include "engine/data/loader.h"
#include "engine/distributed/reducer.h"
#include "engine/inputs/input.h"
#include "engine/stage/stage.h"
#include "engine/tasks/task.h"
#include "engine/train/backward.h"
#include "engine/train/best_model.h"
#include "engine/train/checkpoint.h"
#include "engine/train/narration.h"
#include "engine/train/recipe.h"
#include "engine/train/snapshots.h"
#include "engine/train/training_step.h"
#include "engine/weights/init.h"

namespace locus::engine {

// One training run. Its state is what a checkpoint holds: resuming continues bit for bit on the CPU. Where several processes
// train one model (context.execution.gang), each has all of that state and does the same with it at the same steps; what they
// are told from outside is what rank 0 is told, which alone writes files. Not thread-safe.
class Training {
 public:
  // Opens the data, builds the model and, with context.resume, puts everything where the checkpoint left it.
  explicit Training(StageContext& context);

  // Until the horizon, a wish, or the first validation at or past the stop point. Fills the context's outcome, results and outputs. Throws DivergedError when
  // a loss is not finite, DataError, PeerLostError, or what torch throws.
  void run();

 private:
  InitContext init_context() const;
  void resume();
  void step();
  Batch next_batch(const StepView& view, ForwardContext& forward);
  void join();
  void refuse_what_cannot_be_divided();
  Tensor shared(const Tensor& row);
  void check_alike();
  std::int64_t told(std::int64_t value);
  void be_patient(double step_seconds);
  void train();
  void say_waits();
  bool leads() const { return !gang_ || gang_->leads(); }
  void evaluate_part(const EvaluationSet& set, std::int64_t first, std::int64_t end, Accumulator& sums);
  std::vector<Score> scores_of(const Accumulator& sums) const;
  void note(const Tensor& row);
  Tensor noted() const;
  void close_window();
  bool validation_due() const;
  void warm_up();
  void replay_steps();
  EvaluationSet validation_set() const;
  bool validate(bool last);  // whether the model is the best so far
  void score_others(const EvaluationSet& set);
  bool checkpoint_due() const;
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
  std::unique_ptr<TrainingStep> update_;
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
  std::chrono::steady_clock::time_point last_checkpoint_;
  double window_seconds_ = 0, seconds_ = 0;
  std::int64_t window_timed_ = 0;            // steps of the window that this process made
  std::vector<double> window_milliseconds_;  // mean of a step, window by window

  std::unique_ptr<Gang> gang_;        // null: this process trains alone
  double stepped_seconds_ = 0;        // by this process
  std::optional<Patience> patience_;  // with the others; nothing: as long as at the start
  std::unique_ptr<GradientReducer> reducer_;
  bool takes_parts_ = false;        // of batches that each process has prepared whole
  Wish agreed_ = Wish::kContinue;   // of all processes, since their last step
  bool checkpoint_agreed_ = false;  // likewise
};

}  // namespace locus::engine
