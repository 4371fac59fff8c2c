// ADE20K's layout (ADEChallengeData2016): images/{training,validation}/ADE_*.jpg, annotations/ of the same names as gray PNG,
// objectInfo150.txt, sceneCategories.txt. Classes 1 to 10 are clothing, 11 to 15 what lies behind; the outermost pixels of
// everything are unlabeled (0).
#include <algorithm>
#include <array>

#include "engine/images/encode.h"
#include "engine/scenes/class_files.h"

namespace locus::engine::scenes::layouts {
namespace {

constexpr int kAdeClasses = kKinds + kBackdrops;
constexpr std::array<const char*, kBackdrops> kBackdropNames = {"plain backdrop", "gradient", "stripes", "checks",
                                                                "clouds"};
const std::filesystem::path kAdeFolder = "ade20k";

// What is counted for the table of classes.
struct AdeCounts {
  std::array<std::int64_t, kAdeClasses + 1> pixels{}, training{}, validation{};
  std::int64_t labeled = 0;
};

SceneWish ade_wish(const ScenesSettings& settings, bool training, int number) {
  SceneWish wish;
  wish.set = training ? "ade20k.training" : "ade20k.validation";
  wish.number = number;
  wish.shorter_least = settings.shorter_least;
  wish.shorter_most = settings.shorter_most;
  wish.main_least = 0.35;
  wish.main_most = 0.7;
  wish.objects_most = 6;
  wish.kind = number % kKinds;
  return wish;
}

Image mask_of(const Scene& scene, const Rendered& rendered) {
  Image out = Image::blank(scene.height, scene.width, 1);
  const auto object = [&](int y, int x) {
    const int row = std::clamp(y, 0, scene.height - 1), column = std::clamp(x, 0, scene.width - 1);
    return rendered.object[static_cast<std::size_t>(row) * static_cast<std::size_t>(scene.width) +
                           static_cast<std::size_t>(column)];
  };
  for (int y = 0; y < scene.height; ++y) {
    for (int x = 0; x < scene.width; ++x) {
      const int here = object(y, x);
      const bool inside =
          here == object(y - 1, x) && here == object(y + 1, x) && here == object(y, x - 1) && here == object(y, x + 1);
      if (!inside) continue;
      const int kind = here == 0 ? kKinds + static_cast<int>(scene.background.kind)
                                 : scene.objects[static_cast<std::size_t>(here - 1)].kind;
      out.row(y)[x] = static_cast<std::uint8_t>(kind + 1);
    }
  }
  return out;
}

void count_mask(const Image& mask, bool training, AdeCounts& counts) {
  std::array<bool, kAdeClasses + 1> seen{};
  for (const std::uint8_t value : mask.pixels) {
    ++counts.pixels[value];
    counts.labeled += value > 0;
    seen[value] = true;
  }
  for (std::size_t value = 1; value < seen.size(); ++value)
    (training ? counts.training : counts.validation)[value] += seen[value];
}

std::string table_of(const AdeCounts& counts) {
  std::string out = "Idx\tRatio\tTrain\tVal\tName\n";
  for (std::size_t value = 1; value <= kAdeClasses; ++value) {
    const std::string name = value <= kKinds ? kKindNames[value - 1] : kBackdropNames[value - 1 - kKinds];
    // In tenths of thousandths, cut: whole numbers are the same everywhere.
    const std::int64_t share = counts.labeled == 0 ? 0 : 10000 * counts.pixels[value] / counts.labeled;
    out += std::to_string(value) + "\t0." + padded(share, 4) + "\t" + std::to_string(counts.training[value]) + "\t" +
           std::to_string(counts.validation[value]) + "\t" + name + "\n";
  }
  return out;
}

void make_ade(ScenesWork& work) {
  AdeCounts counts;
  std::string categories;
  for (const bool training : {true, false}) {
    const std::string part = training ? "training" : "validation";
    const int count = training ? work.settings().dense_train : work.settings().dense_validation;
    for (int number = 0; number < count; ++number) {
      const Scene scene = work.scene(ade_wish(work.settings(), training, number), training);
      const Rendered rendered = work.rendered(scene, training);
      const Image mask = mask_of(scene, rendered);
      const std::string name = std::string(training ? "ADE_train_" : "ADE_val_") + padded(number + 1, 8);
      work.write(kAdeFolder / "images" / part / (name + ".jpg"), encode_jpeg(rendered.image, 90));
      work.write(kAdeFolder / "annotations" / part / (name + ".png"), encode_png(mask));
      count_mask(mask, training, counts);
      categories += name + " " + kBackdropNames[static_cast<std::size_t>(scene.background.kind)] + "\n";
    }
  }
  work.write(kAdeFolder / "objectInfo150.txt", table_of(counts));
  work.write(kAdeFolder / "sceneCategories.txt", categories);
}

std::int64_t count_ade_files(const ScenesSettings& settings) {
  return 2 * (std::int64_t{settings.dense_train} + settings.dense_validation) + 2;
}

}  // namespace

ScenesLayout ade20k() {
  return {"ade20k", "ADE20K's images and masks, 15 classes: 10 kinds of clothing, 5 backgrounds", count_ade_files,
          make_ade};
}

}  // namespace locus::engine::scenes::layouts
