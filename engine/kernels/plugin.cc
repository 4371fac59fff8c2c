// Loads liblocus_kernels_cuda.so by dlopen.
#include "engine/kernels/plugin.h"

#include <dlfcn.h>

#include <filesystem>

#include "engine/kernels/library.h"

namespace locus::engine {
namespace {

constexpr const char* kLibrary = "liblocus_kernels_cuda.so";

struct Loaded {
  CudaKernels kernels;
  std::string missing;
};

Loaded load() {
  Loaded loaded;
  for (const auto& path : library_places(kLibrary, "LOCUS_KERNELS")) {
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
  if (loaded.missing.empty()) loaded.missing = library_missing(kLibrary, "LOCUS_KERNELS");
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
