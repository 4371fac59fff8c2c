// The best model so far, and how checkpoints carry it.
#include "engine/train/best_model.h"

#include <algorithm>
#include <cmath>

#include "engine/base/failure.h"

namespace locus::engine {
namespace {

constexpr const char* kBestKey = "best";      // of the checkpoint's metadata
constexpr const char* kBestPrefix = "best.";  // of its tensors

}  // namespace

BestModel::BestModel(std::string metric, const Json& task_item) : metric_(std::move(metric)) {
  if (metric_.empty()) return;
  for (const Json& known : task_item.at("facts").at("metrics")) {
    if (known.at("name") != metric_) continue;
    maximize_ = known.at("direction") != "min";
    return;
  }
  throw std::invalid_argument("keep_best is '" + metric_ + "', which the task '" +
                              task_item.at("id").get<std::string>() + "' does not measure");
}

bool BestModel::offer(const std::vector<Score>& scores, const Task& task, const TrainingState& state) {
  if (!wanted()) return false;
  const auto score = std::find_if(scores.begin(), scores.end(),
                                  [&](const Score& one) { return one.metric == metric_ && one.labels.empty(); });
  if (score == scores.end() || !std::isfinite(score->value)) return false;
  if (value_ && (maximize_ ? score->value <= *value_ : score->value >= *value_)) return false;
  value_ = score->value;
  model_ = copy_model(task, state);
  return true;
}

void BestModel::save(std::int64_t step, TensorFile& checkpoint) const {
  if (!found()) return;
  checkpoint.metadata[kBestKey] =
      Json{{"metric", metric_}, {"value", *value_}, {"step", model_.step}, {"model", model_.place}}.dump();
  if (model_.step != step) model_.put(kBestPrefix, checkpoint);
}

void BestModel::load(const Task& task, const TrainingState& state, TensorFile& checkpoint) {
  const auto found = checkpoint.metadata.find(kBestKey);
  if (!wanted() || found == checkpoint.metadata.end()) return;  // not validated yet
  model_ = copy_model(task, state);                             // the names and shapes it must have
  try {
    const Json document = Json::parse(found->second);
    value_ = document.at("value").get<double>();
    model_.step = document.at("step").get<std::int64_t>();
    model_.place = document.at("model").get<std::string>();
  } catch (const Json::exception& error) {
    throw DataError(std::string("the checkpoint's best model cannot be read: ") + error.what());
  }
  if (model_.step != state.step) model_.take(kBestPrefix, checkpoint);
}

}  // namespace locus::engine
