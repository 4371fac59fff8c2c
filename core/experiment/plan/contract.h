// The metric contract and the stages that follow training.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/experiment/plan.h"
#include "core/experiment/plan/resolver.h"
#include "core/experiment/plan/specification.h"

namespace locus {

struct ResolvedStage {
  std::string role;
  const CatalogItem* item = nullptr;
  Json resolved, scientific;
  std::string field;
  std::vector<std::pair<std::string, std::size_t>> inputs;  // slot -> index of an earlier stage
};

// train first, then those listed; one that evaluates the reported split is added when none does.
absl::StatusOr<std::vector<ResolvedStage>> resolve_stages(const Specification& spec,
                                                          const MetricContract& metric,
                                                          const Catalog& catalog,
                                                          std::vector<std::string>& warnings);

// Completes the contract from the task. Refuses an unknown metric, a contradicted direction, and selection on
// test.
absl::StatusOr<MetricContract> resolve_metric(const MetricRequest& request, const ResolvedSection& task);

// Labels of the primary result: the dataset's own resolution where it is evaluated, otherwise the first
// listed.
Json evaluation_labels(const std::vector<ResolvedStage>& stages, const MetricContract& metric,
                       const ResolvedSection& dataset);

}  // namespace locus
