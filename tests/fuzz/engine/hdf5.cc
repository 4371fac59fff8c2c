// Arrays in HDF5 files.
#include "engine/hdf5/hdf5.h"

#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {

void hdf5(std::string_view bytes) {
  const auto file = std::as_bytes(std::span(bytes.data(), bytes.size()));
  constexpr std::int64_t kMost = 1 << 16;
  try {
    const auto shape = engine::read_hdf5_shape(file, "dataset", 2, kMost);
    const engine::Hdf5Floats floats = engine::read_hdf5_floats(file, "dataset", 2, kMost);
    require(floats.shape == shape, "an array has the shape that is said of it");
    require(static_cast<std::int64_t>(floats.numbers.size()) == shape[0] * shape[1], "an array has all of its numbers");
    (void)engine::read_hdf5_integers(file, "dataset", 2, kMost);
  } catch (const engine::Hdf5Error&) {
  }
}

}  // namespace locus::fuzz
