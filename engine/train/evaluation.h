// One pass of a task over part of a split.
#pragma once

#include "engine/data/loader.h"
#include "engine/tasks/task.h"

namespace locus::engine {

struct EvaluationView {
  std::int64_t resolution = 0;  // both extents; 0: as in the files
  std::string interpolation = "bilinear";
};

// Adds images [first, end) of `split` to `accumulator`, without gradients, in batches whose size depends on
// the resolution alone. Before every batch `go_on` is asked; returns false as soon as it says no.
bool evaluate_range(Task& task, const ImageSplit& split, const Normalization& normalization, const EvaluationView& view,
                    std::int64_t first, std::int64_t end, at::Device device, const ForwardContext& context,
                    Accumulator& accumulator, const std::function<bool(std::int64_t done)>& go_on);

}  // namespace locus::engine
