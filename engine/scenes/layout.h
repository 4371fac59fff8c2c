// A layout: how one data set lies on disk, filled with scenes. One file each in layouts/ and a line in layouts.def.
#pragma once

#include <span>
#include <string_view>

#include "core/base/json.h"
#include "engine/scenes/scene.h"
#include "engine/scenes/scenes.h"

namespace locus::engine::scenes {

// Names of the ten classes' folders, sorted: wnids that both lists of ImageNet-100 hold, as far as there are any. What is
// in them is clothing of that kind.
inline constexpr std::array<const char*, kKinds> kClassFolders = {"n01440764", "n01443537", "n01729322", "n01735189",
                                                                  "n01749939", "n01773797", "n01820546", "n01855672",
                                                                  "n01978455", "n02018207"};
inline constexpr std::array<const char*, kKinds> kKindNames = {
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"};

// What layouts work with: scenes, and files below their folder. Not thread-safe.
class ScenesWork {
 public:
  ScenesWork(const Wardrobe& wardrobe, std::filesystem::path to, const ScenesSettings& settings, std::int64_t files,
             const ScenesProgress& progress);

  const ScenesSettings& settings() const { return settings_; }
  // Described and painted of the garments of training or of the others. The names of draws begin with the wish's set.
  Scene scene(const SceneWish& wish, bool training) const;
  Rendered rendered(const Scene& scene, bool training) const;
  Image painted(const Scene& scene, bool training) const { return rendered(scene, training).image; }
  // Folders are made. Throws std::runtime_error naming the file that cannot be written.
  void write(const std::filesystem::path& name, std::span<const std::byte> bytes);
  void write(const std::filesystem::path& name, std::string_view text);
  // What was written so far below `folder`, read back. Throws std::runtime_error where it cannot be.
  std::vector<std::byte> read(const std::filesystem::path& name) const;
  // A layout that writes by other means says where, and counts its files.
  std::filesystem::path place(const std::filesystem::path& name) const;
  void count_file();
  std::int64_t written() const { return written_; }

 private:
  const Wardrobe& wardrobe_;
  const std::filesystem::path to_;
  const ScenesSettings settings_;
  const RandomStreams random_;
  const std::int64_t files_;
  const ScenesProgress& progress_;
  std::int64_t written_ = 0;
};

struct ScenesLayout {
  const char* folder;   // below the destination: the id of the data set that reads it
  const char* summary;  // for scenes.json
  std::int64_t (*files)(const ScenesSettings& settings);
  void (*make)(ScenesWork& work);
};

// In the order of layouts.def.
const std::vector<ScenesLayout>& scenes_layouts();

namespace layouts {
#define LOCUS_SCENES_LAYOUT(name) ScenesLayout name();
#include "engine/scenes/layouts.def"
#undef LOCUS_SCENES_LAYOUT
}  // namespace layouts

}  // namespace locus::engine::scenes
