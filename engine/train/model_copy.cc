// Copies of weights.
#include "engine/train/model_copy.h"

namespace locus::engine {
namespace {

constexpr const char* kDocument = "locus";  // of a model's metadata (checkpoint.cc)

}  // namespace

TensorFile ModelCopy::exported() const { return {weights, {{kDocument, place}}}; }

void ModelCopy::put(const std::string& prefix, TensorFile& checkpoint) const {
  for (const auto& [name, tensor] : weights) {
    if (!constant.contains(name)) checkpoint.tensors[prefix + name] = tensor;
  }
}

void ModelCopy::take(const std::string& prefix, TensorFile& checkpoint) {
  for (auto& [name, tensor] : weights) {
    if (!constant.contains(name)) take_tensor(checkpoint.tensors, prefix + name, tensor);
  }
}

ModelCopy copy_model(const Task& task, const TrainingState& state) {
  ModelCopy out{state.step, checkpoint_metadata(state, /*exported=*/true).at(kDocument), {}};
  save_model(task, /*exported=*/true, out.weights);
  for (const auto& item : task.named_parameters()) {
    // A weight that adapters are merged into changes with them.
    const auto found = out.weights.find(kModelPrefix + item.key());
    if (task.holds(item.key()) && found != out.weights.end() && found->second.is_same(item.value()))
      out.constant.insert(found->first);
  }
  for (auto& [name, tensor] : out.weights) tensor = tensor.detach().cpu().clone();
  return out;
}

}  // namespace locus::engine
