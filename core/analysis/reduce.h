// How a trial's series becomes its number, where the stage itself reports no such result: from the stored
// points.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/analysis/queries.h"
#include "core/experiment/plan.h"
#include "core/experiment/reduction.h"
#include "core/ports/store.h"

namespace locus {

// The reducer a metric on a split is shown with unless another is asked for: the contract's where it speaks
// of them, else "last". The best model's test is the test of every metric.
std::string default_reduce(const MetricContract& contract, const std::string& metric, const std::string& split);

// Whether a stage's result serves where `asked` is asked for: one of that name, or a lone one whatever the
// stage calls it ("median"), but never the best model's number for the last one's, nor the other way.
inline bool serves(const std::string& asked, const std::string& reducer, bool lone) {
  return reducer == asked || (lone && asked == "last" && reducer != "best");
}

// Adds the reduced results of every succeeded training stage that has a series of this metric on this split,
// and sorts by stage, key, reducer. Steps are chosen on `selects_on`; validations during training that used a
// part of the split stand for it. Nothing is added for reducers that stages report. Blocks, some queries a
// stage.
absl::Status add_reduced(Store& store, const StageBriefs& briefs, const Reduction& reduction, const SeriesKey& key,
                         const std::string& selects_on, bool maximize, std::vector<ResultView>& results);

// Adds what the contract says of training's series, on the split it reports and on the one it selects on.
// Blocks likewise.
absl::Status add_contract_results(Store& store, const StageBriefs& briefs, const MetricContract& contract,
                                  ResultsByStage& results);

// The same on points alone; nothing when there are none to choose from. Non-finite values are never the best.
// Pure.
std::optional<Result> reduce_points(const Reduction& reduction, const SeriesKey& key,
                                    const std::vector<Point>& reported, const std::vector<Point>& selecting,
                                    bool maximize);

}  // namespace locus
