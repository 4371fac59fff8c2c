// What a checkpoint holds: a safetensors file whose metadata "locus" says where training stood.
#pragma once

#include <filesystem>
#include <functional>

#include "engine/data/loader.h"
#include "engine/files/safetensors.h"
#include "engine/tasks/task.h"

namespace locus::engine {

inline constexpr const char* kModelPrefix = "model.";  // of the task's tensors in checkpoints and exported models

// Everything beside tensors that the next step depends on.
struct TrainingState {
  std::string identity;  // of the stage
  std::uint64_t seed = 0;
  std::int64_t step = 0, steps = 0;
  std::int64_t optimizer_step = 0;
  SamplerPosition sampler;
  double seconds = 0;  // spent in steps so far; not in an exported model
  std::string base;    // fingerprint_of_held() of the task; not in an exported model
};

// Runs `load`, whose DataErrors are of `file`, and sees to it that they name it.
void with_file_context(const std::filesystem::path& file, const std::function<void()>& load);

// The task's parameters and buffers as "model.<name>". `exported`: without those that only training needs, adapters merged
// that are exported so; else without those that the task holds, which whoever resumes makes again.
void save_model(const Task& task, bool exported, std::map<std::string, Tensor>& tensors);

// Of the weights that the task holds, which its checkpoints leave out: equal where these have the same bits, on every
// device. Empty where it holds none. Reads all of them.
std::string fingerprint_of_held(const Task& task);

// Fills the task from "model.<name>" and takes what it uses out of `tensors`. Parameters that only training
// needs may be absent from an exported model and then stay as initialized; adapters that were merged rest. Throws
// DataError on anything else
// missing or misshapen, and on weights that are no finite numbers.
void load_model(Task& task, bool exported, std::map<std::string, Tensor>& tensors);

// The state as metadata, and back. `exported` marks a model without training state. Throws DataError when the
// file is not a checkpoint of this format, or not of the kind asked for.
std::map<std::string, std::string> checkpoint_metadata(const TrainingState& state, bool exported);
TrainingState read_checkpoint_metadata(const TensorFile& file, bool exported);

}  // namespace locus::engine
