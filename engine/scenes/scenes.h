// fashion-scenes: small data sets of colored scenes, composed of Fashion-MNIST's garments and written in the formats of
// well-known data sets, so that readers and recipes run on the real layout of files without the real files.
#pragma once

#include <filesystem>
#include <functional>

#include "engine/scenes/fashion.h"

namespace locus::engine::scenes {

// How many scenes; the defaults make about 14,000 files, 100 MB at most.
struct ScenesSettings {
  std::uint64_t seed = 0;
  int train = 60;             // a class, of every layout but VTAB's and CIFAR's
  int validation = 20;        // likewise
  int vtab_train = 800;       // the layout's own, and so what readers ask for
  int vtab_validation = 200;  // likewise
  int vtab_test = 200;
  int cifar = 100;                             // of each of the six files, a multiple of 10
  int shards = 2;                              // tar files of the training part
  int dense_train = 240;                       // images with masks, and as many with depth
  int dense_validation = 80;                   // likewise, of each part that is no training part
  int shorter_least = 96, shorter_most = 160;  // pixels of the shorter side, where sizes vary
};

// Called after each file, in the thread of the caller.
using ScenesProgress = std::function<void(std::int64_t files, std::int64_t of)>;

// Writes every layout (layouts.def) into the new folder `to`, each under the id of the data set that reads it, so that `to`
// is a folder of data sets, and scenes.json, which says what was made. The folder appears complete or not at all: it is made
// as "<to>.partial". The same settings give the same bytes. Throws DataError where Fashion-MNIST is not in `from` and
// std::runtime_error where a file cannot be written; std::invalid_argument on settings without scenes and where `to` holds
// files. Not thread-safe for one folder.
void make_fashion_scenes(const std::filesystem::path& from_fashion_mnist, const std::filesystem::path& to,
                         const ScenesSettings& settings = {}, const ScenesProgress& progress = {});
// The same of garments in memory.
void make_scenes(const Wardrobe& wardrobe, const std::filesystem::path& to, const ScenesSettings& settings,
                 const ScenesProgress& progress = {});

}  // namespace locus::engine::scenes

namespace locus::engine {
using scenes::make_fashion_scenes;
using scenes::ScenesProgress;
using scenes::ScenesSettings;
}  // namespace locus::engine
