// The members of a tar archive: POSIX ustar with its PAX extensions, and GNU's long names.
#pragma once

#include <string>
#include <vector>

#include "engine/data/stored/file_reader.h"

namespace locus::engine {

struct TarMember {
  std::string name;
  std::int64_t offset = 0, bytes = 0;  // of its content
};

// The regular files among the members, in their order; reads headers alone. Throws DataError that names the archive and the place where a
// header is damaged, a member is compressed or sparse, or the archive ends early. `path` is for messages.
std::vector<TarMember> index_tar(const ReadFile& file, const std::filesystem::path& path);

}  // namespace locus::engine
