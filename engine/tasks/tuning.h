// What learns of a task whose network has adapters.
#pragma once

#include "engine/tasks/task.h"

namespace locus::engine {

// Starts every adapter (Adapter::start) from the weights as they are: after initialization, and again after weights came
// from elsewhere. Draws are functions of the seed and the layer's name, so that calling it again changes nothing else.
// On the CPU.
void start_adapters(const Task& task, const RandomStreams& random);

// Holds (Task::hold) what the configuration's adapter does not let learn: of each backbone everything but the adapters'
// own parameters, those of the priors it names and, where it says so, biases and norms; beside the backbones everything
// unless it says "head". Nothing where the configuration has no adapter. Throws std::invalid_argument naming what is
// wrong with the configuration.
void hold_base(Task& task, const Json& configuration);

// The weights of merged layers, by full parameter name ("backbone.blocks.0.mlp.in.weight"), of those adapters that are
// exported so. New tensors.
std::map<std::string, Tensor> merged_weights(const Task& task);

// Makes those adapters that are exported merged add nothing to the weights, which then are the merged ones.
void rest_merged_adapters(const Task& task);

// Whether it is a parameter of one of the task's backbones.
std::function<bool(const std::string& name)> within_backbones(const Task& task);

}  // namespace locus::engine
