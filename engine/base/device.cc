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

namespace locus::engine {
namespace {

// A library handle that is never closed: CUDA does not survive that.
void* open_library(const std::string& name) { return ::dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL); }

template <typename Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(::dlsym(library, name));
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
  const auto memory = symbol<int (*)(std::size_t*, int)>(driver, "cuDeviceTotalMem_v2");
  int devices = 0;
  if (!init || !count || !get || !name || init(0) != 0 || count(&devices) != 0) return {};
  std::vector<CudaDevice> out;
  for (int index = 0; index < devices; ++index) {
    std::array<char, 256> text{};
    int device = 0;
    if (get(&device, index) == 0 && name(text.data(), static_cast<int>(text.size()) - 1, device) == 0) {
      std::size_t bytes = 0;
      if (!memory || memory(&bytes, device) != 0) bytes = 0;
      out.push_back({index, text.data(), static_cast<std::int64_t>(bytes)});
    }
  }
  return out;
}

std::filesystem::path cuda_library() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&at::get_cpu_capability), &info) == 0 || !info.dli_fname) return {};
  return std::filesystem::path(info.dli_fname).parent_path() / "libtorch_cuda.so";
}

std::string explain_load_failure(const std::filesystem::path& library, const std::string& linker) {
  const std::string asked = "CUDA torch (" + library.string() + ") ";
  const std::size_t absent = linker.find(": cannot open shared object file");
  if (absent == std::string::npos) {
    return asked + "cannot be loaded: " + linker +
           ": run `make gpu`, which fetches the libraries this torch is pinned to and builds against them";
  }
  const std::string missing = linker.substr(0, absent);
  if (missing == library.string()) {
    return asked +
           "is not there: this PyTorch is built for the CPU alone; build against one with CUDA by "
           "`make gpu` or `make gpu TORCH=FOLDER`";
  }
  return asked + "needs " + missing +
         ", which is not on this machine: `tools/setup gpu` fetches the libraries it is pinned to, or build "
         "against an installed PyTorch with `make gpu TORCH=FOLDER`";
}

void load_cuda_library() {
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8",
           /*overwrite=*/0);  // without it cuBLAS may sum in any order
  const auto library = cuda_library();
  if (open_library(library.string())) return;
  const char* reason = ::dlerror();
  throw std::runtime_error(explain_load_failure(library, reason ? reason : "no reason is known"));
}

void load_cuda() {
  static std::once_flag once;
  static std::string failure;
  std::call_once(once, [] {
    if (!open_library("libcuda.so.1")) {
      failure = "no NVIDIA driver: libcuda.so.1 is not on this machine; install the driver of its GPU";
      return;
    }
    if (cuda_devices().empty()) {
      failure = "the NVIDIA driver lists no GPU: see what nvidia-smi and CUDA_VISIBLE_DEVICES say";
      return;
    }
    try {
      load_cuda_library();
      if (!at::globalContext().hasCUDA())
        failure = "CUDA torch was loaded too late or finds no device; start a new trainer for the GPU";
    } catch (const std::exception& error) {
      failure = error.what();
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

}  // namespace locus::engine
