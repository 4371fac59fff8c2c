// Files of the kernel, and the NVIDIA management library when it is there.
#include "engine/measure/hardware.h"

#include <dlfcn.h>
#include <sched.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "engine/base/device.h"

namespace locus::engine {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

void add_cores(Json& out) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  out["cores"] = CPU_COUNT(&allowed);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed)) continue;
    const std::string governor =
        first_line("/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/scaling_governor");
    if (!governor.empty()) out["governor"] = governor;
    return;
  }
}

// The library's C interface, by name: no header of it is needed to ask three numbers.
class Management {
 public:
  explicit Management(int index) {
    library_ = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    const auto init = function<int (*)()>("nvmlInit_v2");
    const auto get = function<int (*)(unsigned, void**)>("nvmlDeviceGetHandleByIndex_v2");
    if (!init || !get || init() != 0 || get(static_cast<unsigned>(index), &device_) != 0) device_ = nullptr;
  }
  void add(Json& out) const {
    constexpr int kGraphics = 0, kMemory = 2;
    const auto clock = function<int (*)(void*, int, unsigned*)>("nvmlDeviceGetClockInfo");
    const auto power = function<int (*)(void*, unsigned*)>("nvmlDeviceGetEnforcedPowerLimit");
    unsigned value = 0;
    if (device_ && clock && clock(device_, kGraphics, &value) == 0) out["clock_mhz"] = value;
    if (device_ && clock && clock(device_, kMemory, &value) == 0) out["memory_clock_mhz"] = value;
    if (device_ && power && power(device_, &value) == 0) out["power_limit_w"] = value / 1000;
  }

 private:
  template <typename Function>
  Function function(const char* name) const {
    return library_ ? reinterpret_cast<Function>(::dlsym(library_, name)) : nullptr;
  }
  void* library_ = nullptr;  // never closed: the driver keeps threads in it
  void* device_ = nullptr;
};

}  // namespace

Json describe_hardware(at::Device device) {
  Json out = {{"processor", device_name(at::kCPU)}};
  add_cores(out);
  if (const std::string load = first_line("/proc/loadavg"); !load.empty())
    out["load"] = std::strtod(load.c_str(), nullptr);
  if (device.is_cuda()) {
    out["gpu"] = device_name(device);
    Management(device.index()).add(out);
  }
  return out;
}

}  // namespace locus::engine
