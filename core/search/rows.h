// A search as it is stored, and how far its trials are to go. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/clock.h"

namespace locus {

// How far a trial wants a stage to go, in optimizer steps: above 0 up to there, then the stage parks.
inline constexpr std::int64_t kToTheEnd = 0;
inline constexpr std::int64_t kNoFurther = -1;  // and nothing of it needs to be kept

enum class SearchState { kRunning, kEnded };
const char* to_string(SearchState);  // "running", "ended"
std::optional<SearchState> parse_search_state(std::string_view);

// A search under way or ended; everything else about it is the fold of its decisions (core/search/fold.h).
struct SearchRow {
  std::int64_t experiment_id = 0;
  std::int64_t generation = 1;  // grows when a replacement changes the rules
  std::int64_t decided = 0;     // number of the last decision
  SearchState state = SearchState::kRunning;
  std::string reason = {};  // for people: why it ended
};

// A line of a search's log, append-only. core/search/decision.h reads and writes `kind` and `json`.
struct DecisionRow {
  std::int64_t number = 0;  // from 1, without gap
  std::int64_t generation = 1;
  std::int64_t phase = 0;   // place among the phases; 0 without
  std::string kind;         // begin, observe, propose, advance, stop, choose, end, override
  std::string json = "{}";  // canonical: whom it concerns, and what
  std::string rule = {};    // that answered it; empty: none did
  int rule_revision = 0;
  std::string principal = {};   // of propose and override by somebody; empty: the server
  std::string request_id = {};  // of a client's propose; empty otherwise
  Microseconds time_us = 0;     // of the commit
  bool operator==(const DecisionRow&) const = default;
};

}  // namespace locus
