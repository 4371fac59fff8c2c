// How a trial's series becomes its number, where the stage itself reports no such result: from the stored
// points.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/experiment/plan.h"
#include "core/experiment/reduction.h"
#include "core/ports/store.h"

namespace locus::server {

// The reducer a metric is shown with unless another is asked for: the contract's for its own metric, else
// "last".
std::string default_reduce(const MetricContract& contract, const std::string& metric);

// True where stages report the number themselves, so that a lone result serves whatever its reducer is
// called.
inline bool reduced_by_stage(const std::string& reduce) { return reduce == "last"; }

// Adds the reduced results of every succeeded training stage that has a series of this metric on this split,
// and sorts by stage, key, reducer. Steps are chosen on `selects_on`; nothing is added for reducers that
// stages report. Blocks, a query a stage.
absl::Status add_reduced(Store& store, const StageBriefs& briefs, const Reduction& reduction,
                         const SeriesKey& key, const std::string& selects_on, bool maximize,
                         std::vector<ResultView>& results);

// The same on points alone; nothing when there are none to choose from. Non-finite values are never the best.
// Pure.
std::optional<Result> reduce_points(const Reduction& reduction, const SeriesKey& key,
                                    const std::vector<Point>& reported, const std::vector<Point>& selecting,
                                    bool maximize);

}  // namespace locus::server
