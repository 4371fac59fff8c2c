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

// train first, then those listed; one that evaluates the reported split is added when none does. Where a
// stage reads the best model, training keeps it, by the contract's metric on validation.
absl::StatusOr<std::vector<ResolvedStage>> resolve_stages(const Specification& spec, const MetricContract& metric,
                                                          const Catalog& catalog, std::vector<std::string>& warnings);

// Completes the contract from the task. Refuses an unknown metric, a contradicted direction, and selection on
// test, directly or as `best` on test that is not chosen on validation.
absl::StatusOr<MetricContract> resolve_metric(const MetricRequest& request, const ResolvedSection& task);

// CONSTRAINT_VIOLATED where a stage scores a split that has no images.
absl::Status check_splits(const std::vector<ResolvedStage>& stages, const ResolvedSection& dataset);

// CONSTRAINT_VIOLATED where a best model is to be kept but there is no validation split, or nothing that is
// validated before the end.
absl::Status check_best(const std::vector<ResolvedStage>& stages, const ResolvedSection& recipe,
                        const ResolvedSection& dataset);

// What to know where steps are compared by a part of the validation split; empty where they are not.
std::string partial_validation(const MetricContract& metric, const std::vector<ResolvedStage>& stages,
                               const ResolvedSection& recipe, const ResolvedSection& dataset);

// Labels of the primary result: the images' own resolution where it is evaluated, otherwise the first
// listed; of a stage that scores the whole split where there is one, otherwise with the number of images.
Json evaluation_labels(const std::vector<ResolvedStage>& stages, const MetricContract& metric,
                       const ResolvedSection& dataset, const ModelImages& images);

// The labels that the stages' results will have, as far as their options say: every list among them, by name,
// its values canonical. An empty resolution is the images' own, of which `native` has those of all cells.
std::map<std::string, std::set<std::string>> planned_labels(const std::vector<ResolvedStage>& stages,
                                                            const std::set<const ResolvedSection*>& datasets,
                                                            const std::set<std::string>& native);

}  // namespace locus
