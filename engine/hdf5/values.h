// The numbers of an array of an HDF5 file.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/hdf5/structure.h"

namespace locus::engine {

// All numbers of `array`, last axis fastest, where nothing was written its fill value. Floats become whole numbers by cutting off
// their fraction, and whatever is beyond 32 bits their nearest one; no number becomes 0. `array.shape` has no axis of length 0, and as
// many numbers as there is memory for. Throws Hdf5Error where a part lies outside of `file`, cannot be unpacked, or overlaps others.
std::vector<float> read_hdf5_values_as_float(std::span<const std::byte> file, const Hdf5Location& array);
std::vector<std::int32_t> read_hdf5_values_as_int32(std::span<const std::byte> file, const Hdf5Location& array);

}  // namespace locus::engine
