// What a checkpoint says of itself: the first byte chooses a training state or an exported model.
#include "engine/train/checkpoint.h"

#include "engine/base/failure.h"
#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {

void checkpoint(std::string_view bytes) {
  const bool exported = first_of(bytes) % 2 != 0;
  engine::TensorFile file;
  file.metadata["locus"] = bytes;
  try {
    const engine::TrainingState state = engine::read_checkpoint_metadata(file, exported);
    engine::TensorFile again;
    again.metadata = engine::checkpoint_metadata(state, exported);
    require(engine::read_checkpoint_metadata(again, exported).step == state.step, "a checkpoint is read as written");
  } catch (const engine::DataError&) {
  }
}

}  // namespace locus::fuzz
