// One pass of a task over part of a split.
#pragma once

#include "engine/data/loader.h"
#include "engine/stage/stage.h"
#include "engine/tasks/task.h"

namespace locus::engine {

// How the data of a stage are decoded.
Decoding decoding_of(const Execution& execution);

// Gives images [first, end) of `set` to `visit`, without gradients, in batches whose size depends on their extent alone.
// Before every batch `go_on` is asked; returns false as soon as it says no.
bool visit_range(const EvaluationSet& set, std::int64_t first, std::int64_t end, at::Device device,
                 const std::function<void(const Batch& batch)>& visit,
                 const std::function<bool(std::int64_t done)>& go_on);

// Adds images [first, end) of `set` to `accumulator`, visited as above.
bool evaluate_range(Task& task, const EvaluationSet& set, std::int64_t first, std::int64_t end, at::Device device,
                    const ForwardContext& context, Accumulator& accumulator,
                    const std::function<bool(std::int64_t done)>& go_on);

}  // namespace locus::engine
