// Seeds that were added to an experiment after its first submission: a p-value assumes a number of seeds fixed beforehand. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/experiment/model.h"

namespace locus {

// Seeds that some of these cells were given later than others, ascending. Told from the ordinals of the trials alone: a submission numbers
// those of a cell one after another, and an extension appends. Of an experiment with one cell, which is compared with nothing, nobody can
// tell. `trials`: of the whole experiment, in any order.
std::vector<std::int64_t> added_seeds(std::vector<TrialRow> trials, const std::set<std::int64_t>& cells);

// What a reader of a test over such seeds must know; empty without any.
std::string extension_sentence(const std::vector<std::int64_t>& seeds);

}  // namespace locus
