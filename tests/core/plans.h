// Plans of the planning tests, and the smallest specification they change.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "core/experiment/plan/planner.h"
#include "tests/core/testdata.h"

namespace locus {

// Throws std::runtime_error on a specification that is refused.
inline ExperimentPlan plan_of(const Json& specification, const Catalog& catalog = test_catalog()) {
  auto plan = plan_experiment(specification, catalog);
  if (!plan.ok()) throw std::runtime_error(plan.status().ToString());
  return *std::move(plan);
}

// Two priors; `changes` is a JSON merge patch.
inline Json small(const std::string& changes = "{}") {
  Json spec = Json::parse(R"({"version": 1, "name": "small", "dataset": "fashion-mnist", "model": {"backbone": "vit"},
                              "matrix": {"prior": ["none", "violin"]}})");
  spec.merge_patch(Json::parse(changes));
  return spec;
}

}  // namespace locus
