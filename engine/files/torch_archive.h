// Files as torch.save writes them since PyTorch 1.6: a zip archive of a pickle and the storages of its tensors.
#pragma once

#include <filesystem>

#include "engine/files/safetensors.h"

namespace locus::engine {

// The tensors of a `.pth` file by their path through its dictionaries and lists: "model.cls_token". What is no tensor is
// left out. Tensors are on the CPU and share the storages that they share in the file. Reads, never executes (pickle.h),
// and allocates no more than the file's size. Throws DataError naming the file, what is wrong and, where a file is
// merely not plain, the command that converts it.
TensorFile read_torch_archive(const std::filesystem::path& path);

}  // namespace locus::engine
