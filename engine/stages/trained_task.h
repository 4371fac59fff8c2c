// The model of a training, for stages that follow it.
#pragma once

#include "engine/stage/stage.h"
#include "engine/tasks/task.h"
#include "engine/train/checkpoint.h"

namespace locus::engine {

// Which model of a training a stage takes, as its option "checkpoint" says: the last, or the one that validated best.
void add_checkpoint_option(Item& item);
Json checkpoint_inputs();                                  // for the stage's facts
std::string checkpoint_slot(const StageContext& context);  // the input that holds it

// The task of `configuration`, which is the stage's or differs from it in what no weight depends on, filled from the
// input, on the stage's device, for evaluation; `state` is the one that the model stands at. Throws DataError on an input
// that is missing, damaged or of another stage, naming the file.
std::shared_ptr<Task> trained_task(const StageContext& context, const Json& facts, const RandomStreams& random,
                                   const Json& configuration, TrainingState& state);

}  // namespace locus::engine
