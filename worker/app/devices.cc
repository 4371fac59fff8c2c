// Slots, their environments, and questions to the trainer.
#include "worker/app/devices.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <thread>

#include "core/base/error.h"
#include "core/base/ids.h"

namespace locus {
namespace {

absl::Status refuse(const std::string& message, const std::string& field, std::map<std::string, std::string> metadata) {
  return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kInvalidArgument, message, field,
                    std::move(metadata));
}

constexpr std::int64_t kUnknownLoad = std::int64_t{8} << 30;  // what a stage may need of which nothing is known
constexpr std::int64_t kContext = std::int64_t{512} << 20;    // about what CUDA takes for each process
constexpr int kMostAuto = 12;
constexpr int kMostPerGpu = 60;  // clients that MPS takes for a device

// How many slots each GPU is to have; 0: by its memory. Nothing where the option is wrong.
std::optional<int> slots_asked(const std::string& per_gpu) {
  if (per_gpu == "auto") return 0;
  int count = 0;
  const char* end = per_gpu.data() + per_gpu.size();
  const auto [rest, error] = std::from_chars(per_gpu.data(), end, count);
  if (error != std::errc() || rest != end || count < 1 || count > kMostPerGpu) return std::nullopt;
  return count;
}

// How many slots a GPU is given where nobody says, with `cores` of the CPU for each GPU. Which of them run at a time goes by
// what their stages take (packing_policy()), so its memory must be known.
int slots_by_cores(std::int64_t memory, int cores, int threads) {
  return memory > 0 ? std::clamp(cores / threads, 1, kMostAuto) : 1;
}

std::string mps_here() {
  const char* named = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  return mps_directory(named ? named : "");
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  std::istringstream in(list);
  for (std::string item; std::getline(in, item, ',');) items.push_back(item);
  return items;
}

}  // namespace

namespace {

absl::StatusOr<std::vector<DeviceSlot>> slots_of(const Json& devices, const WorkerOptions& options, int cores,
                                                 std::int64_t memory) {
  if (options.threads < 1 || options.slots < 0) {
    return refuse("--threads must be at least 1 and --slots not negative", "threads", {});
  }
  const auto asked = slots_asked(options.per_gpu);
  if (!asked) {
    return make_error(
        absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
        "--per-gpu " + options.per_gpu + " is neither auto nor a number from 1 to " + std::to_string(kMostPerGpu),
        "per_gpu", {{"per_gpu", options.per_gpu}});
  }
  std::vector<DeviceSlot> slots;
  if (options.device == "cpu") {
    const int count = options.slots > 0 ? options.slots : std::max(1, cores / options.threads);
    for (int i = 0; i < count; ++i) slots.push_back({"cpu", "CPU", i, options.threads, memory / count});
    return slots;
  }
  if (options.device != "cuda") {
    return refuse("no device \"" + options.device + "\": choose cpu or cuda", "device", {{"device", options.device}});
  }
  const Json gpus = devices.value("cuda", Json::array());
  for (const Json& gpu : gpus) {
    const auto bytes = gpu.value("memory_bytes", std::int64_t{0});
    const int count =
        *asked > 0 ? *asked : slots_by_cores(bytes, cores / static_cast<int>(gpus.size()), options.threads);
    // Where stages are let in by what they take, each may have all of it.
    const std::int64_t part = bytes == 0 || count == 1 ? bytes : (*asked > 0 ? bytes / count : bytes) - kContext;
    for (int i = 0; i < count; ++i) {
      slots.push_back({"cuda", gpu.value("name", ""), gpu.value("index", 0), options.threads,
                       std::max<std::int64_t>(part, bytes > 0 ? 1 : 0), count, bytes});
    }
  }
  if (slots.empty()) {
    const std::string why = devices.value("cuda_unusable", "the trainer sees no GPU: check nvidia-smi and the driver");
    return refuse("--device cuda, but " + why + "; or offer the CPU with --device cpu", "device",
                  {{"device", "cuda"}, {"found", why}});
  }
  if (options.slots > static_cast<int>(slots.size())) {
    return refuse("--slots " + std::to_string(options.slots) + ", but there are " + std::to_string(gpus.size()) +
                      " GPUs that make " + std::to_string(slots.size()) + " slots; see --per-gpu",
                  "slots", {{"slots", std::to_string(options.slots)}});
  }
  if (options.slots > 0) slots.resize(static_cast<std::size_t>(options.slots));
  return slots;
}

}  // namespace

absl::StatusOr<std::vector<DeviceSlot>> offered_slots(const Json& devices, const WorkerOptions& options, int cores,
                                                      std::int64_t memory) {
  LOCUS_ASSIGN_OR_RETURN(auto slots, slots_of(devices, options, cores, memory));
  const bool crowded = cores > 0 && static_cast<std::int64_t>(slots.size()) * options.threads > cores;
  for (DeviceSlot& slot : slots) slot.crowded = crowded;
  return slots;
}

std::map<std::string, std::string> labels_of_node(const std::vector<DeviceSlot>& slots) {
  std::map<std::string, std::string> out{{"node/cores", std::to_string(std::thread::hardware_concurrency())}};
  if (slots.empty()) return out;
  out["node/device"] = slots.front().device;
  if (slots.front().device != "cpu" && !slots.front().name.empty()) out["node/gpu-name"] = slots.front().name;
  return out;
}

v1::Together together_on(const Json& devices, const std::vector<DeviceSlot>& slots) {
  v1::Together out;
  if (slots.empty()) return out;
  const std::string& kind = slots.front().device;  // all of them are of one
  const Json together = devices.value("together", Json::array()), apart = devices.value("apart", Json::object());
  if (std::find(together.begin(), together.end(), Json(kind)) != together.end()) {
    out.add_devices(kind);
  } else {
    (*out.mutable_missing())[kind] = apart.value(kind, "has a trainer that trains on one device at a time");
  }
  return out;
}

int shared_device(const DeviceSlot& slot, const WorkerOptions& options) {
  if (slot.device == "cuda") return slot.index;
  return options.memory_bytes > 0 ? 0 : -1;
}

PackingPolicy packing_policy(const std::vector<DeviceSlot>& slots, const WorkerOptions& options) {
  PackingPolicy out;
  const bool cuda = options.device == "cuda";
  if (!cuda) out.device = "the CPU";
  out.context = cuda ? kContext : 0;
  out.unknown = kUnknownLoad;
  for (const DeviceSlot& slot : slots) {
    const std::int64_t bytes = options.memory_bytes > 0                    ? options.memory_bytes
                               : cuda && slots_asked(options.per_gpu) == 0 ? slot.device_bytes
                                                                           : 0;
    if (bytes > 0) out.memory[shared_device(slot, options)] = bytes;
  }
  return out;
}

std::vector<std::string> slot_environment(std::vector<std::string> base, const DeviceSlot& slot,
                                          const std::string& visible) {
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
    set_variable(base, name, std::to_string(slot.threads));
  }
  const auto says_how_to_wait = [](const std::string& line) { return line.starts_with("OMP_WAIT_POLICY="); };
  if (slot.crowded && std::none_of(base.begin(), base.end(), says_how_to_wait))
    set_variable(base, "OMP_WAIT_POLICY", "PASSIVE");
  std::string gpu;
  if (slot.device == "cuda") {
    const auto ours = split(visible);
    const auto index = static_cast<std::size_t>(slot.index);
    gpu = index < ours.size() ? ours[index] : std::to_string(slot.index);
  }
  set_variable(base, "CUDA_VISIBLE_DEVICES", gpu);
  if (slot.share > 1) {
    if (const std::string mps = mps_here(); !mps.empty()) set_variable(base, "CUDA_MPS_PIPE_DIRECTORY", mps);
  }
  return base;
}

std::string packing_warning(const std::vector<DeviceSlot>& slots) {
  const bool shares = std::any_of(slots.begin(), slots.end(), [](const auto& slot) { return slot.share > 1; });
  if (!shares || !mps_here().empty()) return "";
  return "several stages share a GPU and no MPS answers, so they take turns on it: start `nvidia-cuda-mps-control -d` "
         "before the worker, or name its pipe directory in CUDA_MPS_PIPE_DIRECTORY";
}

int gpu_index(const DeviceSlot& slot, const std::string& visible) {
  if (slot.device != "cuda") return -1;
  const auto ours = split(visible);
  const auto index = static_cast<std::size_t>(slot.index);
  if (index >= ours.size()) return ours.empty() ? slot.index : -1;
  int parsed = -1;
  const std::string& text = ours[index];
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  return error == std::errc() && end == text.data() + text.size() ? parsed : -1;
}

std::string worker_name(const std::string& host) {
  std::string name;
  for (const char c : host.substr(0, host.find('.'))) {
    if (c >= 'A' && c <= 'Z') {
      name += static_cast<char>(c - 'A' + 'a');
    } else {
      name += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
    }
  }
  if (name.empty() || name.front() < 'a' || name.front() > 'z') name = "worker-" + name;
  if (name.size() > static_cast<std::size_t>(kNameLength)) name.resize(kNameLength);
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name;
}

}  // namespace locus
