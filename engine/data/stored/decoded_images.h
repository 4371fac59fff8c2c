// Decoded images that the processes of a machine share: a file that all of them map, filled image by image as they are read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/images/crop.h"

namespace locus::engine {

// An image is there once all of its pixels are: whoever dies while it writes one leaves it out, and it is decoded each time
// from then on. The file counts for this run of the machine alone, so that no loss of power can leave half an image. Thread-safe,
// and safe beside other processes.
class DecodedImages {
 public:
  // The file in `folder` for what `name` says: which images, decoded how. Makes it, and removes the files used longest ago until
  // all together take `budget` bytes at most; who uses a removed file keeps it. Null where it takes more than the budget by
  // itself, or cannot be made: then images are decoded as ever. Everyone who gives a name gives the same `sizes`, of RGB images
  // of 8 bits.
  static std::shared_ptr<DecodedImages> open(const std::filesystem::path& folder, const std::string& name,
                                             const std::vector<ImageSize>& sizes, std::int64_t budget);
  ~DecodedImages();
  DecodedImages(const DecodedImages&) = delete;
  DecodedImages& operator=(const DecodedImages&) = delete;

  bool has(std::int64_t index) const;
  // Decodes and keeps the image, unless it is there or another one is at it. Throws what `decode` throws, and std::logic_error
  // where it gives another size.
  void fill(std::int64_t index, const std::function<Image()>& decode);
  // Of an image that is there. Throws std::invalid_argument where the box leaves it.
  Image part(std::int64_t index, const Box& box) const;

 private:
  DecodedImages(std::uint8_t* mapped, std::vector<ImageSize> sizes);
  std::uint8_t& state(std::int64_t index) const;
  std::uint8_t* pixels(std::int64_t index) const;

  std::uint8_t* const mapped_;  // header, a state for each image, pixels
  const std::vector<ImageSize> sizes_;
  std::vector<std::int64_t> at_;  // where the pixels of each begin, and the end
};

}  // namespace locus::engine
