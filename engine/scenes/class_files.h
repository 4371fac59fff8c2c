// The files of layouts that have as many scenes of each class.
#pragma once

#include "engine/scenes/layout.h"

namespace locus::engine::scenes {

struct ClassFile {
  bool training = true;
  int kind = 0;
  int number = 0;  // within part and class
};

// Training first, then validation; in each by class, then number.
std::vector<ClassFile> class_files(const ScenesSettings& settings);

// The wish for such a file: its kind, sizes as the settings say; `layout` and part name the draws.
SceneWish wish_for(const ScenesSettings& settings, const std::string& layout, const ClassFile& file);

// "train/n01440764/n01440764_12.JPEG", "val/n01440764/ILSVRC2012_val_00000012.JPEG".
std::filesystem::path imagenet_name(const ClassFile& file);

// `number` with leading zeros.
std::string padded(std::int64_t number, int digits);

}  // namespace locus::engine::scenes
