// The folder of the sources is told to this file alone.
#include "tests/engine/support/sources.h"

namespace locus::engine::test {

std::filesystem::path in_sources(std::string_view file) { return std::filesystem::path(LOCUS_SOURCES) / file; }

}  // namespace locus::engine::test
