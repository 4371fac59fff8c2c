// Picks the results a table needs out of everything the stages of a trial reported. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/analysis/queries.h"
#include "core/experiment/model.h"
#include "core/ports/queries.h"

namespace locus {

// The result of the trial under this key; a later stage wins over an earlier one. Of several reducers
// `reducer` is taken, or the only one there is where that serves (core/analysis/reduce.h).
std::optional<double> measured(const TrialView& trial, const ResultsByStage& results, const SeriesKey& key,
                               const std::string& reducer);

// The same whatever the labels, those without labels first.
std::optional<double> measured_any_labels(const TrialView& trial, const ResultsByStage& results,
                                          const std::string& metric, const std::string& split,
                                          const std::string& reducer);

// Every key some stage has a result of, ordered.
std::set<SeriesKey> measured_keys(const ResultsByStage& results);

// Every label set this metric and split has results for, numbers in numeric order.
std::vector<std::string> label_sets(const std::vector<TrialView>& trials, const ResultsByStage& results,
                                    const std::string& metric, const std::string& split);

// Where the sets with the names of `labels` differ in exactly one numeric label: its value in `labels`. NaN
// otherwise.
double varying_label(const std::string& labels, const std::vector<std::string>& sets);

}  // namespace locus
