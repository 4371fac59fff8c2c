// Parts as text files: a line "PATH LABEL" an image (VTAB-1K as folders).
#pragma once

#include "engine/data/stored/listing.h"

namespace locus::engine {

// The images of `folder`/`part`.txt in the order of its lines, paths below `folder`. Throws DataError naming file and line on a line
// of another form, a label outside 0..classes-1, a path that leads out of the folder or is listed twice.
std::vector<ListedImage> read_split_list(const std::filesystem::path& folder, const std::string& part,
                                         std::int64_t classes);

}  // namespace locus::engine
