// Files of tensors in any form that is read here, by their names.
#pragma once

#include <filesystem>

#include "engine/files/safetensors.h"

namespace locus::engine {

// Whether a file's name is one of: `.safetensors`, `.safetensors.index.json` (a list of shards beside it), `.pth`, `.pt`
// and `.bin` (torch_archive.h).
bool names_tensor_file(const std::filesystem::path& path);

// The tensors of a file, of all shards where it lists some. Throws DataError naming the file and what is wrong with it,
// where shards hold other tensors than the list says, too.
TensorFile read_tensor_file(const std::filesystem::path& path);

// SHA-256 of the file's bytes; of a list of shards that of the lines "<SHA-256>  <name>\n" of the shards by their names,
// which is what `sha256sum model-*.safetensors | sha256sum` prints. Throws DataError where a file cannot be read.
std::string tensor_file_sha256(const std::filesystem::path& path);

}  // namespace locus::engine
