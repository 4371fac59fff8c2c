// What a training is fed: the dataset's samples through input and augmentation, by the recipe's batches.
#pragma once

#include "engine/data/dataset.h"
#include "engine/inputs/input.h"
#include "engine/stage/stage.h"
#include "engine/tasks/task.h"
#include "engine/train/recipe.h"

namespace locus::engine {

// The dataset of the stage's configuration, opened where the execution says and read through (prepared()). Throws DataError,
// std::invalid_argument, and what the observer throws.
std::shared_ptr<Dataset> open_data(StageContext& context);

// The training split as the configuration's input and augmentation make it: transforms for each of the input's sizes where
// it has some. Where neither asks for anything, samples stay as the files have them. Throws std::invalid_argument naming
// what does not fit, and what opening the split throws.
TrainingSet training_set(const Json& configuration, Dataset& dataset, const Input& input, const Task& task,
                         const LoopSettings& settings, const RandomStreams& random);

// A split as it is scored. Throws as above.
EvaluationSet scored_set(std::shared_ptr<const Source> split, const Input& input, const ViewRequest& request,
                         const Task& task, const Execution& execution);

}  // namespace locus::engine
