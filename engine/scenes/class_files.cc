// Names and wishes of such files.
#include "engine/scenes/class_files.h"

#include <algorithm>

namespace locus::engine::scenes {

std::vector<ClassFile> class_files(const ScenesSettings& settings) {
  std::vector<ClassFile> out;
  for (const bool training : {true, false}) {
    for (int kind = 0; kind < kKinds; ++kind) {
      for (int number = 0; number < (training ? settings.train : settings.validation); ++number)
        out.push_back({training, kind, number});
    }
  }
  return out;
}

SceneWish wish_for(const ScenesSettings& settings, const std::string& layout, const ClassFile& file) {
  SceneWish wish;
  wish.set = layout + (file.training ? ".train" : ".val");
  wish.number = std::int64_t{file.number} * kKinds + file.kind;
  wish.kind = file.kind;
  wish.shorter_least = settings.shorter_least;
  wish.shorter_most = settings.shorter_most;
  return wish;
}

std::filesystem::path imagenet_name(const ClassFile& file) {
  const std::string wnid = kClassFolders[static_cast<std::size_t>(file.kind)];
  if (file.training)
    return std::filesystem::path("train") / wnid / (wnid + "_" + std::to_string(file.number) + ".JPEG");
  return std::filesystem::path("val") / wnid /
         ("ILSVRC2012_val_" + padded(file.number * kKinds + file.kind + 1, 8) + ".JPEG");
}

std::string padded(std::int64_t number, int digits) {
  std::string out = std::to_string(number);
  return std::string(static_cast<std::size_t>(std::max(0, digits - static_cast<int>(out.size()))), '0') + out;
}

}  // namespace locus::engine::scenes
