// What loads took, and its file.
#include "worker/app/load_memory.h"

#include <algorithm>
#include <fstream>

#include "core/base/file.h"
#include "core/experiment/memory_load.h"
#include "core/log/log.h"

namespace locus {
namespace {

constexpr std::size_t kMostLoads = 4096;

}  // namespace

LoadMemory::LoadMemory(std::filesystem::path file) : file_(std::move(file)) {
  std::ifstream in(file_);
  const Json stored = Json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (!stored.is_object()) return;
  for (const auto& [load, bytes] : stored.items()) {
    if (bytes.is_number_integer() && bytes.get<std::int64_t>() > 0) most_[load] = bytes.get<std::int64_t>();
  }
}

std::int64_t LoadMemory::needed(const std::string& load) const {
  const std::lock_guard lock(mutex_);
  if (alone_.contains(load)) return kWholeDevice;
  const auto found = most_.find(load);
  return found == most_.end() ? 0 : found->second;
}

void LoadMemory::learn(const Json& configuration, const Json& end) {
  raise(memory_load_of(configuration), end.value("peak_memory_bytes", std::int64_t{0}));
  if (configuration.value("kind", "") != "measure") return;
  const Json results = end.value("results", Json::array());
  for (const Json& result : results) {
    if (result.value("metric", "") != "peak_memory_bytes" || !result.at("value").is_number()) continue;
    const Json batch = result.value("/labels/batch"_json_pointer, Json());
    raise(memory_load_of_training(configuration, batch), result.at("value").get<std::int64_t>());
  }
}

void LoadMemory::hear(const std::string& load, std::int64_t bytes) { raise(load, bytes); }

void LoadMemory::must_be_alone(const std::string& load) {
  const std::lock_guard lock(mutex_);
  alone_.insert(load);
}

void LoadMemory::raise(const std::string& load, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto known = most_.find(load);
  if (bytes <= (known == most_.end() ? 0 : known->second)) return;
  most_[load] = bytes;
  Json all = Json::object();
  while (most_.size() > kMostLoads)
    most_.erase(most_.begin()->first == load ? std::next(most_.begin()) : most_.begin());
  for (const auto& [name, taken] : most_) all[name] = taken;
  if (const absl::Status stored = replace_file(file_, all.dump()); !stored.ok())
    log_warning("{}; a later daemon will not know what stages take of a device's memory",
                std::string(stored.message()));
}

}  // namespace locus
