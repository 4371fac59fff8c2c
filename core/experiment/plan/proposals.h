// From a search to cells: its proposals become factors of the matrix, and every cell knows which it is.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/experiment/plan.h"
#include "core/experiment/plan/expansion.h"
#include "core/experiment/plan/specification.h"

namespace locus {

// Draws the proposals and adds them to the specification: shared ones as one axis beside the matrix, others as a list of cells
// for each combination of it. Rungs that train anew are an axis of train.epochs. Proposals with equal values make one cell. Notes nothing of
// its own: values are checked as those of factors are, at "search.space.PATH". Does nothing without a search, or where it could not be read.
void add_proposals(Specification& spec, Resolver& resolver);

// Where each cell stands in the search.
struct SearchCells {
  std::vector<SearchPlace> places;  // of the drafts, in order
  std::vector<std::string> groups;  // canonical assignments, in order of their first cell
  std::vector<std::map<std::int64_t, std::int64_t>>
      repeats;  // of each group: proposal -> the one whose cells it shares
};
SearchCells search_cells(const Specification& spec, const std::vector<CellDraft>& drafts, const Values& values);

}  // namespace locus
