// The images of a copy of a dataset, as they are: what identities hold to when they name the copy.
#pragma once

#include <array>

#include "engine/data/progress.h"
#include "engine/data/stored/format.h"
#include "engine/data/stored/listing.h"

namespace locus::engine {

// A file that belongs to an image.
struct BesideFile {
  std::string name;  // as in the listing
  std::int64_t bytes = 0;
  std::array<std::uint8_t, 32> sha256{};
};

struct ManifestImage {
  std::string name;  // as in the listing
  std::int64_t label = 0;
  std::int32_t shard = -1;                // of ImageManifest::shards
  std::int32_t height = 0, width = 0;     // pixels
  std::int64_t offset = 0, bytes = 0;     // of the image as a file
  std::array<std::uint8_t, 32> sha256{};  // of these bytes
  std::vector<BesideFile> beside = {};
};

// Immutable once made.
struct ImageManifest {
  std::vector<std::string> classes, shards, notes;
  std::map<std::string, std::vector<ManifestImage>> parts;
  Problems misfits, passed_over;  // as in the listing
  Problems problems;              // files that are left out: no sound images, or what the listing found
  std::int64_t turned = 0;        // images whose EXIF orientation, which nobody applies, is not upright

  // SHA-256 of a text that has a line for every class, note, part, image and file beside an image in their order: name, bytes, sha256, and of
  // images label, height, width. Neither the
  // order of the file system nor threads, folders above or times of change are part of it.
  std::string digest() const;
  std::int64_t images() const;
  std::int64_t bytes() const;
};

struct ReadThrough {
  std::filesystem::path cache;           // of proofs; empty: none
  int threads = 0;                       // 0: as many as there are processors, at most 16
  bool again = false;                    // read also what has a proof
  const StoredFormat* format = nullptr;  // of the files; null: images alone. Outlives the reading
};

// Reads every listed image below `root` through: its hash, its header and its pixels, so that no file can fail later. What was
// sound is remembered by path, size, time of change and inode, and not read again; an interrupted reading goes on where it was. `progress` is
// called from this thread, about twice a second. Throws what `progress` throws.
ImageManifest read_through(const std::filesystem::path& root, Listing listing, const ReadThrough& how,
                           const DataProgress& progress);

}  // namespace locus::engine
