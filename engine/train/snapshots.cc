// Models kept on the way, and how checkpoints carry them.
#include "engine/train/snapshots.h"

#include <algorithm>

#include "engine/base/failure.h"

namespace locus::engine {
namespace {

constexpr const char* kSnapshotsKey = "snapshots";  // of the checkpoint's metadata

// Of a checkpoint's tensors.
std::string prefix_of(std::int64_t step) { return "snapshot." + std::to_string(step) + "."; }

}  // namespace

std::vector<std::int64_t> snapshot_steps(std::int64_t count, std::int64_t steps) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 1; i <= count; ++i) {
    const std::int64_t step = i * steps / (count + 1);
    if (step > (out.empty() ? 0 : out.back())) out.push_back(step);
  }
  return out;
}

bool Snapshots::due(std::int64_t step) const { return std::binary_search(steps_.begin(), steps_.end(), step); }

void Snapshots::keep(const Task& task, const TrainingState& state) { kept_.push_back(copy_model(task, state)); }

void Snapshots::save(TensorFile& checkpoint) const {
  if (kept_.empty()) return;
  Json places = Json::object();
  for (const ModelCopy& copy : kept_) {
    places[std::to_string(copy.step)] = copy.place;
    copy.put(prefix_of(copy.step), checkpoint);
  }
  checkpoint.metadata[kSnapshotsKey] = places.dump();
}

void Snapshots::load(const Task& task, const TrainingState& state, TensorFile& checkpoint) {
  const auto found = checkpoint.metadata.find(kSnapshotsKey);
  try {
    const Json places = found == checkpoint.metadata.end() ? Json::object() : Json::parse(found->second);
    for (const std::int64_t due : steps_) {
      if (due > state.step) break;
      ModelCopy copy = copy_model(task, state);  // the names and shapes it must have
      copy.step = due;
      copy.place = places.at(std::to_string(due)).get<std::string>();
      copy.take(prefix_of(due), checkpoint);
      kept_.push_back(std::move(copy));
    }
  } catch (const Json::exception& error) {
    throw DataError(std::string("the checkpoint's snapshots cannot be read: ") + error.what());
  }
}

}  // namespace locus::engine
