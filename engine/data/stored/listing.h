// What lies in a dataset's folder before any image is opened: which files are images, of which part and class.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string_view>

#include "engine/data/stored/problems.h"

namespace locus::engine {

struct ListedImage {
  std::string name;  // path below the dataset's folder; in a shard "SHARD/MEMBER"
  std::int64_t label = 0;
  std::int32_t shard = -1;               // which of Listing::shards holds it; -1: it is a file of its own
  std::int64_t offset = 0, bytes = 0;    // within the shard
  std::vector<std::string> beside = {};  // files that belong to it, of which StoredFormat makes tensors; not in shards
};

struct Listing {
  std::vector<std::string> classes;                       // names by label; empty: only their number is known
  std::vector<std::string> shards;                        // paths below the dataset's folder
  std::map<std::string, std::vector<ListedImage>> parts;  // by name ("train", "val"), rows in their order
  std::vector<std::string> notes;                         // what else the samples depend on; part of the digest
  Problems misfits;                                       // classes that are missing or too many
  Problems problems;                                      // files that should be images that are read, and are not
  Problems passed_over;                                   // files that nobody takes for images
};

// How names are sorted: by bytes, or so that runs of digits compare as numbers and letters without case (timm,
// natural_key), ties by bytes.
enum class NameOrder { kBytes, kNatural };
NameOrder parse_name_order(const std::string& name);  // "bytes" or "natural"; throws std::invalid_argument
bool before(std::string_view a, std::string_view b, NameOrder order);

// Names of the folders in `folder`, links to folders included, sorted; hidden ones left out. Throws DataError when it cannot be read.
std::vector<std::string> subfolders(const std::filesystem::path& folder, NameOrder order);

// Whether the name ends as that of an image that is read: .jpg, .jpeg, .png in any case.
bool names_image(std::string_view name);

// Appends the images below `root`/`below`, at any depth, with that label. By bytes: folders sorted by path, in each its files sorted
// (torchvision, make_dataset); naturally: all by path. Files with the ending of an image that is not read go to
// `problems`, all others to `passed_over`. Throws DataError when a folder cannot be read.
void list_images(const std::filesystem::path& root, const std::string& below, std::int64_t label, NameOrder order,
                 Listing& listing, std::vector<ListedImage>& to);

// Images in folders of classes below any of `places` ("train"; "train.X1", "train.X2"), label = position in `classes`: place by place, in each class by class
// (Pillow-based trainers in ImageNet's layout do the same). A class that no place has, and one that only they have, is a misfit; the latter only if
// `all` classes are wanted.
std::vector<ListedImage> list_classes(const std::filesystem::path& root, std::span<const std::string> places,
                                      const std::vector<std::string>& classes, NameOrder order, bool all,
                                      Listing& listing);

}  // namespace locus::engine
