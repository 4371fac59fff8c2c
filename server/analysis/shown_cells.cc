// Which cells a table shows.
#include "server/analysis/shown_cells.h"

#include "core/analysis/measurements.h"
#include "core/analysis/reduce.h"
#include "core/analysis/tuned.h"
#include "core/base/error.h"
#include "core/search/fold.h"
#include "core/statistics/samples.h"

namespace locus::server {

ShownCells shown_cells(const LeaderboardSource& source, bool proposals) {
  ShownCells out{source.outline, false};
  if (proposals || !source.outline.search) return out;
  const MetricContract& contract = source.outline.metric;
  const std::string reducer = default_reduce(contract, contract.name, contract.selects_on);
  std::map<std::int64_t, std::string> keys;
  std::set<std::string> not_to_the_end;
  for (const CellRow& cell : source.cells) {
    keys[cell.ordinal] = cell.row_key;
    if (source.standing.contains(cell.ordinal)) not_to_the_end.insert(cell.row_key);
  }
  std::map<std::string, std::vector<double>> values;
  for (const TrialView& trial : source.trials) {
    if (trial.trial.retired) continue;
    if (const auto value = measured_any_labels(trial, source.results, contract.name, contract.selects_on, reducer))
      values[keys[trial.trial.cell]].push_back(*value);
  }
  CellSelections selections;
  for (const auto& [key, of_cell] : values) selections[key] = {sample_mean(of_cell), of_cell.size()};
  if (const auto chosen = chosen_cells(source.outline, selections, not_to_the_end))
    out = {tuned_outline(source.outline, *chosen), true};
  return out;
}

absl::StatusOr<std::map<std::int64_t, std::string>> read_standings(Store& store, ExperimentId id) {
  const auto search = store.search(id);
  if (absl::IsNotFound(search.status())) return std::map<std::int64_t, std::string>();
  LOCUS_RETURN_IF_ERROR(search.status());
  LOCUS_ASSIGN_OR_RETURN(const std::vector<DecisionRow> log, store.decisions(id, 0, 0));
  LOCUS_ASSIGN_OR_RETURN(const Fold fold, Fold::of(log));
  return standings(fold);
}

}  // namespace locus::server
