// Loads liblocus_kernels_cuda.so by dlopen.
#include "engine/kernels/plugin.h"

#include "engine/kernels/library.h"

namespace locus::engine {
namespace {

constexpr const char* kLibrary = "liblocus_kernels_cuda.so";

struct Loaded {
  CudaKernels kernels;
  std::string missing;
};

Loaded load() {
  Loaded out;
  const auto take = [&k = out.kernels.attention](void* library) {
    locus_kernels_abi_fn abi = nullptr;
    return resolve(library, "locus_kernels_abi", abi) && abi() == LOCUS_KERNELS_ABI &&
           resolve(library, "locus_attention_supports", k.supports) &&
           resolve(library, "locus_attention_workspace", k.workspace) &&
           resolve(library, "locus_attention_forward", k.forward) &&
           resolve(library, "locus_attention_backward", k.backward) &&
           resolve(library, "locus_kernels_error", k.error_text);
  };
  out.kernels.path = load_library(kLibrary, "LOCUS_KERNELS", take, out.missing);
  return out;
}

const Loaded& loaded() {
  static const Loaded instance = load();
  return instance;
}

}  // namespace

const CudaKernels* cuda_kernels() { return loaded().kernels.path.empty() ? nullptr : &loaded().kernels; }
const std::string& cuda_kernels_missing() { return loaded().missing; }

}  // namespace locus::engine
