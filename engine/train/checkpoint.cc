// Checkpoints in terms of tasks and training state.
#include "engine/train/checkpoint.h"

#include "core/base/json_depth.h"
#include "core/base/sha256.h"
#include "engine/base/failure.h"
#include "engine/tasks/tuning.h"

namespace locus::engine {
namespace {

constexpr int kFormat = 1;
constexpr int kMetadataDepth = 8;  // it nests two deep

void require_finite(const std::map<std::string, Tensor>& tensors, const std::string& name) {
  const auto found = tensors.find(name);
  if (found == tensors.end() || !found->second.is_floating_point() || at::isfinite(found->second).all().item<bool>())
    return;
  throw DataError("the tensor '" + name +
                  "' holds values that are no finite numbers: it is damaged, or what made it had diverged");
}

// A whole number; of a fraction or one beyond 64 bits anything could become.
std::int64_t place_of(const Json& value) {
  if (!value.is_number_integer())
    throw DataError("the checkpoint's metadata has " + value.dump() + " where a whole number stands");
  return value.get<std::int64_t>();
}

// Whether a parameter is in no checkpoint of that kind, or need not be.
bool left_out(const Task& task, const std::string& name, bool exported) {
  return exported ? task.training_only(name) : task.holds(name);
}

}  // namespace

void with_file_context(const std::filesystem::path& file, const std::function<void()>& load) {
  try {
    load();
  } catch (const DataError& error) {
    const std::string what = error.what();
    if (what.find(file.string()) != std::string::npos) throw;
    throw DataError(file.string() + ": " + what);
  }
}

void save_model(const Task& task, bool exported, std::map<std::string, Tensor>& tensors) {
  for (const auto& item : task.named_parameters()) {
    if (!left_out(task, item.key(), exported)) tensors[kModelPrefix + item.key()] = item.value();
  }
  if (exported) {
    for (auto& [name, weight] : merged_weights(task)) {
      if (const auto base = tensors.find(kModelPrefix + name); base != tensors.end()) base->second = weight;
    }
  }
  for (const auto& item : task.named_buffers()) {
    if (!exported || !task.training_only(item.key())) tensors[kModelPrefix + item.key()] = item.value();
  }
}

std::string fingerprint_of_held(const Task& task) {
  std::string all;
  for (const auto& item : task.named_parameters()) {
    if (!task.holds(item.key())) continue;
    // Sums of integers do not depend on their order; the places tell numbers from the same ones elsewhere.
    const Tensor bits = item.value().detach().contiguous().view(at::kInt).flatten().to(at::kLong);
    const Tensor places = at::arange(1, bits.numel() + 1, bits.options());
    all += item.key() + " " + std::to_string((bits * places).sum().item<std::int64_t>()) + "\n";
  }
  return all.empty() ? all : sha256_hex(all);
}

void load_model(Task& task, bool exported, std::map<std::string, Tensor>& tensors) {
  for (const auto& item : task.named_parameters()) {
    const std::string name = kModelPrefix + item.key();
    if (left_out(task, item.key(), exported) && !tensors.contains(name)) continue;
    require_finite(tensors, name);
    take_tensor(tensors, name, item.value());
  }
  for (const auto& item : task.named_buffers()) {
    const std::string name = kModelPrefix + item.key();
    if (exported && task.training_only(item.key()) && !tensors.contains(name)) continue;
    take_tensor(tensors, name, item.value());
  }
  if (exported) rest_merged_adapters(task);
}

std::map<std::string, std::string> checkpoint_metadata(const TrainingState& state, bool exported) {
  Json document = {
      {"format", kFormat},
      {"kind", exported ? "model" : "training"},
      {"identity", state.identity},
      {"seed", state.seed},
      {"step", state.step},
      {"schedule", {{"steps", state.steps}}},
      {"optimizer", {{"step", state.optimizer_step}}},
      {"sampler", {{"epoch", state.sampler.epoch}, {"batch", state.sampler.batch}}},
      {"roles", {{"model.", "weights"}, {"optimizer.", "moments"}, {"window.", "curve"}, {"time.", "clock"}}}};
  if (!exported)
    document["seconds"] = state.seconds;  // equal weights are to have equal digests, however long they took
  if (!exported && !state.base.empty()) document["base"] = state.base;
  return {{"locus", document.dump()}};
}

TrainingState read_checkpoint_metadata(const TensorFile& file, bool exported) {
  const auto found = file.metadata.find("locus");
  if (found == file.metadata.end()) throw DataError("the file is no checkpoint of Locus: its metadata lacks 'locus'");
  if (nests_deeper(found->second, kMetadataDepth))
    throw DataError("the checkpoint's metadata cannot be read: it nests deeper than " + std::to_string(kMetadataDepth) +
                    " levels");
  try {
    const Json document = Json::parse(found->second);
    if (document.at("format") != kFormat) {
      throw DataError("the checkpoint has format " + document.at("format").dump() + "; this build reads " +
                      std::to_string(kFormat));
    }
    const std::string wanted = exported ? "model" : "training";
    if (document.at("kind") != wanted) {
      throw DataError("the checkpoint holds a " + document.at("kind").get<std::string>() + " state where a " + wanted +
                      " state is needed");
    }
    TrainingState state;
    state.identity = document.at("identity").get<std::string>();
    state.seed = static_cast<std::uint64_t>(place_of(document.at("seed")));
    state.step = place_of(document.at("step"));
    state.steps = place_of(document.at("schedule").at("steps"));
    state.optimizer_step = place_of(document.at("optimizer").at("step"));
    state.sampler = {place_of(document.at("sampler").at("epoch")), place_of(document.at("sampler").at("batch"))};
    if (!exported) {
      state.seconds = document.at("seconds").get<double>();
      state.base = document.value("base", "");
    }
    return state;
  } catch (const Json::exception& error) {
    throw DataError(std::string("the checkpoint's metadata cannot be read: ") + error.what());
  }
}

}  // namespace locus::engine
