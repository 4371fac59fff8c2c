// The Kaggle layout of ImageNet-100: train.X1 to train.X4, each with some of the classes, val.X, Labels.json.
#include "engine/images/encode.h"
#include "engine/scenes/class_files.h"

namespace locus::engine::scenes::layouts {
namespace {

constexpr int kParts = 4;

void make_hundred(ScenesWork& work) {
  for (const ClassFile& file : class_files(work.settings())) {
    const Scene scene = work.scene(wish_for(work.settings(), "imagenet-100", file), file.training);
    const std::string part = file.training ? "train.X" + std::to_string(file.kind * kParts / kKinds + 1) : "val.X";
    const std::filesystem::path name = imagenet_name(file);
    work.write(std::filesystem::path("imagenet-100") / part / name.parent_path().filename() / name.filename(),
               encode_jpeg(work.painted(scene, file.training)));
  }
  Json labels = Json::object();
  for (std::size_t kind = 0; kind < kKinds; ++kind) labels[kClassFolders[kind]] = kKindNames[kind];
  work.write("imagenet-100/Labels.json", labels.dump(2) + "\n");
}

std::int64_t count_hundred_files(const ScenesSettings& settings) {
  return static_cast<std::int64_t>(class_files(settings).size()) + 1;
}

}  // namespace

ScenesLayout imagenet_100() {
  return {"imagenet-100", "the folders of the Kaggle set ImageNet100, 10 of its classes", count_hundred_files,
          make_hundred};
}

}  // namespace locus::engine::scenes::layouts
