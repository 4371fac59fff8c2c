// The best model so far, and how checkpoints carry it.
#include "engine/train/best_model.h"

#include <algorithm>
#include <cmath>

#include "engine/base/failure.h"

namespace locus {
namespace {

constexpr const char* kKey = "best";        // of the checkpoint's metadata
constexpr const char* kPrefix = "best.";    // of its tensors
constexpr const char* kDocument = "locus";  // of a model's metadata (checkpoint.cc)

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
  const auto score =
      std::find_if(scores.begin(), scores.end(), [&](const Score& one) { return one.metric == metric_; });
  if (score == scores.end() || !std::isfinite(score->value)) return false;
  if (value_ && (maximize_ ? score->value <= *value_ : score->value >= *value_)) return false;
  value_ = score->value;
  step_ = state.step;
  place_ = checkpoint_metadata(state, /*exported=*/true).at(kDocument);
  copy_weights(task);
  return true;
}

void BestModel::copy_weights(const Task& task) {
  weights_.clear();
  save_model(task, /*exported=*/true, weights_);
  for (auto& [name, tensor] : weights_) tensor = tensor.detach().cpu().clone();
}

void BestModel::save(std::int64_t step, TensorFile& checkpoint) const {
  if (!found()) return;
  checkpoint.metadata[kKey] =
      Json{{"metric", metric_}, {"value", *value_}, {"step", step_}, {"model", place_}}.dump();
  if (step_ == step) return;
  for (const auto& [name, tensor] : weights_) checkpoint.tensors[kPrefix + name] = tensor;
}

void BestModel::load(std::int64_t step, const Task& task, TensorFile& checkpoint) {
  const auto found = checkpoint.metadata.find(kKey);
  if (!wanted() || found == checkpoint.metadata.end()) return;  // not validated yet
  try {
    const Json document = Json::parse(found->second);
    value_ = document.at("value").get<double>();
    step_ = document.at("step").get<std::int64_t>();
    place_ = document.at("model").get<std::string>();
  } catch (const Json::exception& error) {
    throw DataError(std::string("the checkpoint's best model cannot be read: ") + error.what());
  }
  copy_weights(task);  // the names and shapes it must have
  if (step_ == step) return;
  for (auto& [name, tensor] : weights_) take_tensor(checkpoint.tensors, kPrefix + name, tensor);
}

TensorFile BestModel::exported() const { return {weights_, {{kDocument, place_}}}; }

}  // namespace locus
