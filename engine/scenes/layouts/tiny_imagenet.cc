// Tiny-ImageNet: train/<wnid>/images, val/images with one list of all labels and boxes, test/images without labels. 64 x 64.
#include <algorithm>

#include "engine/images/encode.h"
#include "engine/scenes/class_files.h"

namespace locus::engine::scenes::layouts {
namespace {

constexpr int kTinySide = 64;
const std::filesystem::path kTinyFolder = "tiny-imagenet";

SceneWish wish_of(const ClassFile& file) {
  SceneWish wish;
  wish.set = file.training ? "tiny-imagenet.train" : "tiny-imagenet.val";
  wish.number = std::int64_t{file.number} * kKinds + file.kind;
  wish.kind = file.kind;
  wish.shorter_least = wish.shorter_most = kTinySide;
  wish.aspect_most = 1;
  return wish;
}

std::string box_of(const Scene& scene) {  // columns and rows of the corners, both inclusive
  const Box& box = scene.main().box;
  const auto within = [](int value) { return std::to_string(std::clamp(value, 0, kTinySide - 1)); };
  return within(box.left) + "\t" + within(box.top) + "\t" + within(box.left + box.width - 1) + "\t" +
         within(box.top + box.height - 1);
}

void make_test(ScenesWork& work) {
  for (int i = 0; i < work.settings().validation; ++i) {
    SceneWish wish = wish_of({.training = false});
    wish.set = "tiny-imagenet.test";
    wish.number = i;
    wish.kind.reset();
    work.write(kTinyFolder / "test" / "images" / ("test_" + std::to_string(i) + ".JPEG"),
               encode_jpeg(work.painted(work.scene(wish, false), false)));
  }
}

void make_tiny(ScenesWork& work) {
  std::string lists[kKinds], annotations;
  for (const ClassFile& file : class_files(work.settings())) {
    const Scene scene = work.scene(wish_of(file), file.training);
    const std::vector<std::byte> bytes = encode_jpeg(work.painted(scene, file.training));
    const std::string wnid = kClassFolders[static_cast<std::size_t>(file.kind)];
    if (file.training) {
      const std::string name = wnid + "_" + std::to_string(file.number) + ".JPEG";
      work.write(kTinyFolder / "train" / wnid / "images" / name, bytes);
      lists[file.kind] += name + "\t" + box_of(scene) + "\n";
    } else {
      const std::string name = "val_" + std::to_string(file.number * kKinds + file.kind) + ".JPEG";
      work.write(kTinyFolder / "val" / "images" / name, bytes);
      annotations += name + "\t" + wnid + "\t" + box_of(scene) + "\n";
    }
  }
  std::string wnids, words;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const std::string wnid = kClassFolders[kind];
    work.write(kTinyFolder / "train" / wnid / (wnid + "_boxes.txt"), lists[kind]);
    wnids += std::string(kClassFolders[(7 * kind + 3) % kKinds]) + "\n";  // in no order, as in the original
    words += wnid + "\t" + kKindNames[kind] + "\n";
  }
  work.write(kTinyFolder / "val" / "val_annotations.txt", annotations);
  work.write(kTinyFolder / "wnids.txt", wnids);
  work.write(kTinyFolder / "words.txt", words);
  make_test(work);
}

std::int64_t count_tiny_files(const ScenesSettings& settings) {
  return static_cast<std::int64_t>(class_files(settings).size()) + kKinds + 3 + settings.validation;
}

}  // namespace

ScenesLayout tiny_imagenet() {
  return {"tiny-imagenet", "Tiny-ImageNet, 10 classes of 64 x 64 pixels", count_tiny_files, make_tiny};
}

}  // namespace locus::engine::scenes::layouts
