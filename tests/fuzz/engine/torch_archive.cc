// Files of torch.save.
#include "engine/files/torch_archive.h"

#include "engine/base/failure.h"
#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {

void torch_archive(std::string_view bytes) {
  const MemoryFile file(bytes);
  try {
    (void)engine::read_torch_archive(file.path());
  } catch (const engine::DataError&) {
  }
}

}  // namespace locus::fuzz
