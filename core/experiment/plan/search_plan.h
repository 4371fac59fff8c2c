// What a search means for the cells it proposes: whether its rules find what they judge by, and what it will run.
#pragma once

#include "core/experiment/plan/configure.h"
#include "core/experiment/plan/proposals.h"

namespace locus {

// Notes rungs and rules at epochs where nothing is validated, metrics that the task does not have, budgets that end before
// anything is judged, races that cannot be held with the seeds there are. INVALID_SPECIFICATION, OPTION_OUT_OF_RANGE, UNKNOWN_ITEM,
// at the field of the search. Only for a specification with a search; `cells` of `configured`, in order.
void check_search(const Specification& spec, const SearchCells& cells, const Configured& configured,
                  Mistakes& mistakes);

// CONSTRAINT_VIOLATED, at "dataset", where validation chooses and some cell's dataset has no validation images.
void check_judged_split(const Configured& configured, Mistakes& mistakes);

// The search with its figures. Of one that check_search() let pass.
SearchPlan plan_search(const Specification& spec, SearchCells cells, const Configured& configured);

// What to know of it: repeated proposals, an unbalanced number of them, a part of the validation split that judges.
std::vector<std::string> remarks_on(const SearchPlan& plan, const Configured& configured);

}  // namespace locus
