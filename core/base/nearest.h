// "Did you mean": which known name a misspelled one stands for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace locus {

// The known name nearest to `name` by edit distance, if near enough to be a likely slip.
std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& known);

}  // namespace locus
