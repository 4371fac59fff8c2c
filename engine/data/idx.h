// The IDX format of the MNIST family, gzip compressed.
#pragma once

#include <filesystem>

#include "engine/base/torch.h"

namespace locus::engine {

// Reads a gzip file of unsigned bytes in IDX form whose extents must be exactly `shape`; a uint8 tensor of
// that shape. Never allocates more than the shape needs, whatever the file claims. Throws DataError naming
// the file, what was found and what was expected.
Tensor read_idx(const std::filesystem::path& path, const std::vector<std::int64_t>& shape);

}  // namespace locus::engine
