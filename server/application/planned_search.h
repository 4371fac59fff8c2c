// The search of a plan, for people.
#pragma once

#include "core/experiment/plan.h"
#include "locus/v1/experiment_service.pb.h"

namespace locus::server {

// Of a plan that has one. Pure.
v1::PlanSearch planned_search(const ExperimentPlan& plan);

}  // namespace locus::server
