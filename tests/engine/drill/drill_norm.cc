// Stage "drill-norm": the joint norm of the weights that a training exported.
#include <cmath>

#include "engine/base/failure.h"
#include "engine/files/safetensors.h"
#include "engine/stages/stages.h"

namespace locus::engine::stages {
namespace {

void run(StageContext& context) {
  context.observer.started(context.environment, 1, 0);
  const auto input = context.inputs.find("checkpoint");
  if (input == context.inputs.end()) throw DataError("stage drill-norm needs the input 'checkpoint'");
  double square = 0;
  for (const auto& [name, tensor] : read_safetensors(input->second).tensors) {
    if (tensor.is_floating_point()) square += tensor.to(at::kDouble).square().sum().item<double>();
  }
  context.results.push_back({{"weight_norm", ""}, "last", std::sqrt(square), 0});
  context.observer.progress(1, 1, "norm");
}

}  // namespace

StageItem drill_norm() {
  Item item("stage", "drill-norm", 1, "The joint norm of the weights that a training exported");
  item.facts(
      {{"inputs", Json::array({{{"slot", "checkpoint"}, {"from", "train"}, {"output", "checkpoint"}}})},
       {"outputs", Json::array()},
       {"metrics",
        Json::array({{{"name", "weight_norm"}, {"unit", ""}, {"direction", "min"}, {"help", "of the model"}}})}});
  return {std::move(item), run};
}

}  // namespace locus::engine::stages
