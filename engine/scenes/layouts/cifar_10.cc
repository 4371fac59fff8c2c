// CIFAR-10's binary version: records of a label byte and three planes of 32 x 32 pixels, five training files and one to
// test. The files are shorter than the published ones.
#include "engine/scenes/class_files.h"

namespace locus::engine::scenes::layouts {
namespace {

constexpr int kCifarSide = 32, kTrainingFiles = 5;
const std::filesystem::path kCifarFolder = "cifar-10/cifar-10-batches-bin";

std::vector<std::byte> records(const ScenesWork& work, const std::string& set, std::int64_t first, bool training) {
  std::vector<std::byte> out;
  for (int i = 0; i < work.settings().cifar; ++i) {
    SceneWish wish;
    wish.set = set;
    wish.number = first + i;
    wish.kind = (3 * i + i / kKinds) % kKinds;  // each as often, in no plain order
    wish.shorter_least = wish.shorter_most = kCifarSide;
    wish.aspect_most = 1;
    wish.main_least = 0.6;
    wish.main_most = 0.95;
    wish.objects_most = 1;
    const Image image = work.painted(work.scene(wish, training), training);
    out.push_back(static_cast<std::byte>(*wish.kind));
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t p = 0; p < std::size_t{kCifarSide} * kCifarSide; ++p)
        out.push_back(static_cast<std::byte>(image.pixels[3 * p + c]));
    }
  }
  return out;
}

void make_cifar(ScenesWork& work) {
  for (int i = 0; i < kTrainingFiles; ++i) {
    work.write(kCifarFolder / ("data_batch_" + std::to_string(i + 1) + ".bin"),
               records(work, "cifar-10.train", std::int64_t{i} * work.settings().cifar, true));
  }
  work.write(kCifarFolder / "test_batch.bin", records(work, "cifar-10.test", 0, false));
  std::string names;
  for (const char* name : kKindNames) names += std::string(name) + "\n";
  work.write(kCifarFolder / "batches.meta.txt", names);
}

std::int64_t count_cifar_files(const ScenesSettings&) { return kTrainingFiles + 2; }

}  // namespace

ScenesLayout cifar_10() {
  return {"cifar-10", "CIFAR-10, binary version, with fewer records", count_cifar_files, make_cifar};
}

}  // namespace locus::engine::scenes::layouts
