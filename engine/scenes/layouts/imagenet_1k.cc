// ImageNet's folders: train/<wnid>/<wnid>_<k>.JPEG, val/<wnid>/ILSVRC2012_val_<k>.JPEG. As in the original, a few files are
// gray and one of the training part is a PNG under the name of a JPEG.
#include "engine/images/encode.h"
#include "engine/scenes/class_files.h"

namespace locus::engine::scenes::layouts {
namespace {

constexpr int kGrayEvery = 23;

// The middle of the three channels; which one a gray file is made of does not matter.
Image gray_of(const Image& image) {
  Image out = Image::blank(image.height, image.width, 1);
  for (std::size_t i = 0; i < out.pixels.size(); ++i) out.pixels[i] = image.pixels[3 * i + 1];
  return out;
}

void make_imagenet(ScenesWork& work) {
  for (const ClassFile& file : class_files(work.settings())) {
    const Scene scene = work.scene(wish_for(work.settings(), "imagenet-1k", file), file.training);
    const Image image = work.painted(scene, file.training);
    const bool png = file.training && file.kind == 1 && file.number == 0;
    const bool gray = !png && (file.kind + file.number) % kGrayEvery == kGrayEvery - 1;
    work.write("imagenet-1k" / imagenet_name(file),
               png ? encode_png(image) : encode_jpeg(gray ? gray_of(image) : image));
  }
}

std::int64_t count_imagenet_files(const ScenesSettings& settings) {
  return static_cast<std::int64_t>(class_files(settings).size());
}

}  // namespace

ScenesLayout imagenet_1k() {
  return {"imagenet-1k", "folders of ImageNet-1K, 10 classes; sizes vary, some files are gray, one is a PNG",
          count_imagenet_files, make_imagenet};
}

}  // namespace locus::engine::scenes::layouts
