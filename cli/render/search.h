// Searches as text: where one stands, its units, and its log of decisions.
#pragma once

#include <string>

#include "cli/render/text_table.h"
#include "locus/v1/search_service.pb.h"

namespace locus {

// Every phase with its rungs, the units by state, budget and choices, then what the search waits for. With `units`, a
// row for each unit that the message holds.
std::string render_search(const v1::Search& search, bool units, TextStyle style = {});

// One line of the log: number, time, phase where it has a name, kind, and the sentence.
std::string render_decision(const v1::SearchDecision& decision);

}  // namespace locus
