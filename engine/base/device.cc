// Loads libtorch_cuda beside libtorch_cpu; names devices through the driver's own interface.
#include "engine/base/device.h"

#include <ATen/ATen.h>
#include <ATen/Version.h>
#include <dlfcn.h>
#include <torch/headeronly/version.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>

namespace locus {
namespace {

// A library handle that is never closed: CUDA does not survive that.
void* open_library(const std::string& name) { return ::dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL); }

template <typename Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(::dlsym(library, name));
}

std::filesystem::path torch_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&at::get_cpu_capability), &info) == 0 || !info.dli_fname)
    return {};
  return std::filesystem::path(info.dli_fname).parent_path();
}

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return "unknown processor";
}

}  // namespace

std::vector<CudaDevice> cuda_devices() {
  void* driver = open_library("libcuda.so.1");
  if (!driver) return {};
  const auto init = symbol<int (*)(unsigned)>(driver, "cuInit");
  const auto count = symbol<int (*)(int*)>(driver, "cuDeviceGetCount");
  const auto get = symbol<int (*)(int*, int)>(driver, "cuDeviceGet");
  const auto name = symbol<int (*)(char*, int, int)>(driver, "cuDeviceGetName");
  int devices = 0;
  if (!init || !count || !get || !name || init(0) != 0 || count(&devices) != 0) return {};
  std::vector<CudaDevice> out;
  for (int index = 0; index < devices; ++index) {
    std::array<char, 256> text{};
    int device = 0;
    if (get(&device, index) == 0 && name(text.data(), static_cast<int>(text.size()) - 1, device) == 0) {
      out.push_back({index, text.data()});
    }
  }
  return out;
}

void load_cuda() {
  static std::once_flag once;
  static std::string failure;
  std::call_once(once, [] {
    if (cuda_devices().empty()) {
      failure = "no CUDA device: the driver (libcuda.so.1) is missing or lists none";
      return;
    }
    ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8",
             /*overwrite=*/0);  // without it cuBLAS may sum in any order
    const auto library = torch_folder() / "libtorch_cuda.so";
    if (!open_library(library.string())) {
      const char* reason = ::dlerror();
      failure = "CUDA torch cannot be loaded: " + std::string(reason ? reason : library.string());
    } else if (!at::globalContext().hasCUDA()) {
      failure = "CUDA torch was loaded too late or finds no device; start a new trainer for the GPU";
    }
  });
  if (!failure.empty()) throw std::runtime_error(failure);
}

at::Device open_device(const std::string& kind, int index) {
  if (kind == "cpu") return at::kCPU;
  if (kind != "cuda") throw std::invalid_argument("no device kind '" + kind + "': cpu or cuda");
  load_cuda();
  const auto devices = cuda_devices();
  if (index < 0 || index >= static_cast<int>(devices.size())) {
    throw std::runtime_error("no CUDA device " + std::to_string(index) + ": the driver lists " +
                             std::to_string(devices.size()));
  }
  return {at::kCUDA, static_cast<at::DeviceIndex>(index)};
}

std::string device_name(at::Device device) {
  if (device.is_cpu()) return processor_name();
  for (const CudaDevice& known : cuda_devices()) {
    if (known.index == device.index()) return known.name;
  }
  return device.str();
}

std::string build_description() {
  return std::string("torch ") + TORCH_VERSION + ", " + at::get_cpu_capability() + ", g++ " + __VERSION__;
}

}  // namespace locus
