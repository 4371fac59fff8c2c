// Loads liblocus_kernels_cuda.so by dlopen.
#include "engine/kernels/plugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace locus::engine {
namespace {

constexpr const char* kLibrary = "liblocus_kernels_cuda.so";

struct Loaded {
  CudaKernels kernels;
  std::string missing;
};

std::vector<std::string> candidates() {
  std::vector<std::string> paths;
  if (const char* given = std::getenv("LOCUS_KERNELS")) paths.emplace_back(given);
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    paths.push_back(self.parent_path() / kLibrary);
    paths.push_back(self.parent_path().parent_path() / "bin" / kLibrary);        // tests live beside bin/
    paths.push_back(self.parent_path().parent_path() / "lib/locus" / kLibrary);  // where it is installed
  }
  return paths;
}

template <typename Function>
bool resolve(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Loaded load() {
  Loaded loaded;
  for (const auto& path : candidates()) {
    if (!std::filesystem::exists(path)) continue;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      loaded.missing = dlerror();
      continue;
    }
    locus_kernels_abi_fn abi = nullptr;
    AttentionKernels& k = loaded.kernels.attention;
    if (!resolve(library, "locus_kernels_abi", abi) || abi() != LOCUS_KERNELS_ABI ||
        !resolve(library, "locus_attention_supports", k.supports) ||
        !resolve(library, "locus_attention_workspace", k.workspace) ||
        !resolve(library, "locus_attention_forward", k.forward) ||
        !resolve(library, "locus_attention_backward", k.backward) ||
        !resolve(library, "locus_kernels_error", k.error_text)) {
      loaded.missing = path + " speaks another version of the kernel interface: rebuild it";
      dlclose(library);
      continue;
    }
    loaded.kernels.path = path;
    loaded.missing.clear();
    return loaded;
  }
  if (loaded.missing.empty())
    loaded.missing = std::string(kLibrary) + " is not beside the executable: built without a CUDA toolkit";
  return loaded;
}

const Loaded& loaded() {
  static const Loaded instance = load();
  return instance;
}

}  // namespace

const CudaKernels* cuda_kernels() { return loaded().kernels.path.empty() ? nullptr : &loaded().kernels; }
const std::string& cuda_kernels_missing() { return loaded().missing; }

}  // namespace locus::engine
