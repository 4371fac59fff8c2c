// What stages took of their devices' memory.
#include "server/application/memory.h"

#include <algorithm>
#include <iterator>

#include "core/base/json.h"
#include "core/experiment/memory_load.h"

namespace locus::server {
namespace {

constexpr std::size_t kLoadsKept = 65'536;
constexpr double kBytesMost = 1e15;  // what says more is wrong
constexpr char kPeakMetric[] = "peak_memory_bytes";

// "cuda:1" is as good as "cuda:0".
std::string device_kind(const std::string& environment_json) {
  const Json environment = Json::parse(environment_json, nullptr, /*allow_exceptions=*/false);
  const Json device = environment.is_object() ? environment.value("device", Json()) : Json();
  const std::string text = device.is_string() ? device.get<std::string>() : "";
  return text.substr(0, text.find(':'));
}

bool is_peak(const v1::Result& result) { return result.key().metric() == kPeakMetric; }

Json parsed_object(const std::string& text) {
  Json out = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return out.is_object() ? out : Json::object();
}

}  // namespace

bool MemoryDesk::tells(const v1::CompleteAttemptRequest& ended) {
  return ended.peak_memory_bytes() > 0 || std::any_of(ended.results().begin(), ended.results().end(), is_peak);
}

void MemoryDesk::learn(const StageRow& stage, const v1::CompleteAttemptRequest& ended) {
  const std::string device = device_kind(ended.environment_json());
  if (device.empty()) return;
  const Json configuration = parsed_object(stage.config_json);
  const absl::MutexLock lock(&mutex_);
  raise({device, memory_load_of(configuration)}, static_cast<double>(ended.peak_memory_bytes()));
  if (stage.kind != "measure") return;
  for (const v1::Result& result : ended.results()) {
    if (!is_peak(result)) continue;
    const Json batch = parsed_object(result.key().labels()).value("batch", Json());
    raise({device, memory_load_of_training(configuration, batch)}, result.value());
  }
}

void MemoryDesk::raise(const Load& load, double bytes) {
  if (!(bytes > 0) || bytes > kBytesMost) return;
  std::int64_t& most = most_[load];
  most = std::max(most, static_cast<std::int64_t>(bytes));
  if (most_.size() > kLoadsKept) most_.erase(most_.begin()->first == load ? std::next(most_.begin()) : most_.begin());
}

std::int64_t MemoryDesk::needed(const std::string& device, const std::string& config_json) const {
  const absl::ReaderMutexLock lock(&mutex_);
  const auto first = most_.lower_bound({device, ""});
  if (first == most_.end() || first->first.first != device) return 0;  // no name to compute
  const auto found = most_.find({device, memory_load_of(parsed_object(config_json))});
  return found == most_.end() ? 0 : found->second;
}

}  // namespace locus::server
