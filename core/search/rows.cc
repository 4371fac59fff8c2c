// The names of a search's states: one table, read both ways.
#include "core/search/rows.h"

#include <array>

namespace locus {
namespace {

constexpr std::array kSearchStates = {"running", "ended"};  // index = value of the enumerator
static_assert(kSearchStates.size() == static_cast<std::size_t>(SearchState::kEnded) + 1);

}  // namespace

const char* to_string(SearchState state) {
  const auto index = static_cast<std::size_t>(state);
  return index < kSearchStates.size() ? kSearchStates[index] : "invalid";
}

std::optional<SearchState> parse_search_state(std::string_view text) {
  for (std::size_t i = 0; i < kSearchStates.size(); ++i) {
    if (text == kSearchStates[i]) return static_cast<SearchState>(i);
  }
  return std::nullopt;
}

}  // namespace locus
