// The images of a part of a copy, by row.
#pragma once

#include <memory>

#include "engine/data/source.h"
#include "engine/data/stored/decoded_images.h"
#include "engine/data/stored/image_manifest.h"

namespace locus::engine {

// Samples `rows` of a part of the manifest. A sample is "image" uint8 [3, H, W] and what the format makes of its files; reading it throws DataError
// that names the file when it is gone, was changed since the copy was read through, or cannot be decoded.
// With `decoded`, of all images of the part, each is decoded once and found there from then on.
std::shared_ptr<const Source> stored_source(const std::filesystem::path& root,
                                            std::shared_ptr<const ImageManifest> manifest,
                                            std::shared_ptr<const StoredFormat> format, const std::string& part,
                                            std::vector<std::int64_t> rows,
                                            std::shared_ptr<DecodedImages> decoded = nullptr);

}  // namespace locus::engine
