// What the files of a sample are, and the tensors that come of them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "engine/base/failure.h"
#include "engine/data/sample.h"
#include "engine/images/decode.h"

namespace locus::engine {

struct FileBytes {
  std::filesystem::path path;
  std::vector<std::byte> bytes = {};
};

// Of one sample.
struct StoredFiles {
  std::string name;        // of the image in the listing
  std::int64_t label = 0;  // likewise
  FileBytes image;
  std::vector<FileBytes> beside = {};  // in the order of the listing
};

// Reads image files, with "label" int64 [] beside the image; other formats override what they have otherwise. Every function
// throws DataError that names the file where it is not what it should be. Immutable; thread-safe.
class StoredFormat {
 public:
  virtual ~StoredFormat() = default;
  // What the checks of samples depend on beside their files: a file that was read through is so under this name.
  virtual std::string id() const { return ""; }
  virtual ImageHeader header(const StoredFiles& files) const;
  virtual Image image(const StoredFiles& files) const;  // RGB
  // The same pixels as crop(image(files), box).
  virtual Image part(const StoredFiles& files, const Box& box) const;
  // The sample but its image, which has that size. Asks for nothing of `files.image`.
  virtual Sample targets(const StoredFiles& files, const ImageSize& size) const;
  // Bytes that targets() takes at most beside the files.
  virtual std::int64_t bytes(const ImageSize&) const { return sizeof(std::int64_t); }
};

// The one that is not overridden.
const StoredFormat& image_format();

// What `step` gives; an Error of the kind that follows a file's name becomes a DataError with that name.
template <typename Error, typename Step>
std::invoke_result_t<Step> naming_file(const std::filesystem::path& file, const Step& step) {
  try {
    return step();
  } catch (const Error& error) {
    throw DataError(file.string() + " " + error.what());
  }
}

}  // namespace locus::engine
