// The pickle within a file of torch.save.
#include "engine/files/pickle.h"

#include "engine/base/failure.h"
#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {

void pickle(std::string_view bytes) {
  try {
    const engine::Pickle read = engine::read_pickle(bytes);
    require(read.root != nullptr, "a pickle is a value");
    require(read.values.size() <= bytes.size(), "a pickle holds no more values than bytes");
  } catch (const engine::DataError&) {
  }
}

}  // namespace locus::fuzz
