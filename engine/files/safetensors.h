// The safetensors format: named tensors and a table of strings in one file, without code.
#pragma once

#include <filesystem>

#include "engine/base/torch.h"

namespace locus::engine {

struct TensorFile {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

// Writes atomically: the file is at `path` whole, synchronized to disk unless not `durable`, or not at all (of a file that
// is not durable a power cut may leave anything). The same content gives the same bytes. Tensors may be on any device. Throws std::runtime_error when the disk refuses,
// std::invalid_argument on a type the format lacks.
void write_safetensors(const std::filesystem::path& path, const TensorFile& file, bool durable = true);

// Reads and checks everything: header at most 100 MB, known types, extents that multiply to the bytes given,
// data without holes or overlaps up to the end of the file, no name twice. Never allocates more than the
// file's size asks for. Tensors are on the CPU. Throws DataError naming the file and what is wrong with it.
TensorFile read_safetensors(const std::filesystem::path& path);

// Copies `tensors`[name] into `target` and takes it out of the map. Throws DataError when it is absent, or of
// another shape or type.
void take_tensor(std::map<std::string, Tensor>& tensors, const std::string& name, Tensor target);

}  // namespace locus::engine
