// Files that are committed beside tests.
#pragma once

#include <filesystem>
#include <string_view>

namespace locus::engine::test {

// Where `file`, named from the root of the sources, lies on the machine that built this test. (__FILE__ would not say: builds take
// out of it where they were made.) Does not look whether it is there. Any thread.
std::filesystem::path in_sources(std::string_view file);

}  // namespace locus::engine::test
