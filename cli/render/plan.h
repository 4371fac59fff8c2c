// Plans as text: what would run, what it costs, and from what that is known.
#pragma once

#include <string>

#include "locus/v1/experiment_service.pb.h"

namespace locus {

// Parameters, memory and time stand in the table where cells differ in them, and below it for all cells.
std::string render_plan(const v1::Plan& plan);

// One line of it: parameters, memory and time; empty where nothing of these is known.
std::string render_cost(const v1::Plan& plan);

}  // namespace locus
