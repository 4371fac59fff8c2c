// Tensors in the safetensors format.
#include "engine/files/safetensors.h"

#include "engine/base/failure.h"
#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {

void safetensors(std::string_view bytes) {
  const MemoryFile file(bytes);
  try {
    const engine::TensorFile read = engine::read_safetensors(file.path());
    std::size_t held = 0;
    for (const auto& [name, tensor] : read.tensors) held += tensor.nbytes();
    require(held <= bytes.size(), "tensors hold no more than the file");
  } catch (const engine::DataError&) {
  }
}

}  // namespace locus::fuzz
