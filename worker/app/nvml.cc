// The few calls of NVML that are needed, by their documented C signatures (nvml.h, API reference of NVML).
#include "worker/app/nvml.h"

#include <dlfcn.h>

namespace locus {
namespace {

using Device = void*;
struct Utilization {
  unsigned int gpu, memory;  // percent
};
struct Memory {
  unsigned long long total, free, used;  // bytes
};
constexpr int kSuccess = 0;

}  // namespace

struct Nvml::Calls {
  int (*init)();
  int (*shutdown)();
  int (*device)(unsigned int index, Device* device);
  int (*utilization)(Device device, Utilization* out);
  int (*memory)(Device device, Memory* out);
};

Nvml::Nvml(const std::string& library) : library_(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) return;
  auto calls = std::make_unique<Calls>();
  const auto find = [this](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library_, name));
    return function != nullptr;
  };
  if (find("nvmlInit_v2", calls->init) && find("nvmlShutdown", calls->shutdown) &&
      find("nvmlDeviceGetHandleByIndex_v2", calls->device) &&
      find("nvmlDeviceGetUtilizationRates", calls->utilization) && find("nvmlDeviceGetMemoryInfo", calls->memory) &&
      calls->init() == kSuccess)
    calls_ = std::move(calls);
}

Nvml::~Nvml() {
  if (calls_) calls_->shutdown();
  if (library_ != nullptr) ::dlclose(library_);
}

std::optional<GpuUse> Nvml::use(int index) const {
  Device device = nullptr;
  Utilization utilization{};
  Memory memory{};
  if (!calls_ || index < 0 || calls_->device(static_cast<unsigned int>(index), &device) != kSuccess ||
      calls_->utilization(device, &utilization) != kSuccess || calls_->memory(device, &memory) != kSuccess)
    return std::nullopt;
  return GpuUse{static_cast<double>(utilization.gpu), static_cast<std::int64_t>(memory.used)};
}

}  // namespace locus
