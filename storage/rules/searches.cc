// What every store must check and change for searches.
#include "storage/rules/searches.h"

#include <algorithm>
#include <map>
#include <string>

#include "storage/rules/refusals.h"
#include "storage/rules/trials.h"

namespace locus {
namespace {

absl::Status not_linkable(const TrialStageRow& link, const std::string& missing) {
  return refusal::wrong_state("trial " + std::to_string(link.trial) + " cannot be linked to stage " +
                                  std::to_string(link.stage_id) + ": " + missing + " is not stored; look it up again",
                              {{"trial", std::to_string(link.trial)}, {"stage", std::to_string(link.stage_id)}});
}

// Links there were keep their places; new ones stand behind them.
void put_link(Rows& rows, ExperimentId experiment, const TrialStageRow& link) {
  const auto positions = rows.positions(experiment, link.trial);
  std::int64_t position = 0;
  for (const auto& [role, at] : positions) position = std::max(position, at + 1);
  if (const auto known = positions.find(link.role); known != positions.end()) position = known->second;
  rows.put_trial_stage(experiment, link, position);
}

}  // namespace

absl::Status append_decisions(Rows& rows, const AppendDecisions& mutation, Microseconds now_wall_us) {
  const auto experiment = rows.experiment(mutation.experiment_id);
  if (!experiment) return refusal::experiment_not_found(mutation.experiment_id);
  const auto stored = rows.search(mutation.experiment_id);
  SearchRow search = stored.value_or(SearchRow{.experiment_id = mutation.experiment_id});
  if (search.decided != mutation.expected) {
    return refusal::log_has_grown(experiment->name, mutation.expected, search.decided);
  }
  if (!stored && mutation.rows.empty()) return refusal::invalid("no decision is given to begin a log with", "rows");
  if (!mutation.rows.empty()) search.generation = mutation.rows.back().generation;
  search.decided = mutation.expected + static_cast<std::int64_t>(mutation.rows.size());
  search.state = mutation.state;
  search.reason = mutation.reason;
  rows.put_search(search);  // first: its decisions refer to it
  std::int64_t number = mutation.expected;
  for (DecisionRow row : mutation.rows) {
    if (row.number != ++number) {
      return refusal::wrong_state("decision " + std::to_string(row.number) + " cannot stand as number " +
                                      std::to_string(number) + " of the log of '" + experiment->name +
                                      "': its numbers have no gap",
                                  {{"experiment", experiment->name}});
    }
    if (!row.request_id.empty() && rows.has_decision_of_request(row.request_id)) {
      return refusal::wrong_state(
          "request '" + row.request_id + "' was decided already: read that decision, or give every request its own id",
          {{"request_id", row.request_id}});
    }
    row.time_us = now_wall_us;
    rows.put_decision(mutation.experiment_id, row);
  }
  return absl::OkStatus();
}

absl::Status resolve_trials(Rows& rows, const ResolveTrials& mutation) {
  if (!rows.experiment(mutation.id)) return refusal::experiment_not_found(mutation.id);
  LOCUS_RETURN_IF_ERROR(put_trials(rows, mutation.id, mutation.cells, mutation.trials));
  LOCUS_RETURN_IF_ERROR(insert_stages(rows, mutation.stages));
  for (const TrialStageRow& link : mutation.trial_stages) {
    if (!rows.has_trial(mutation.id, link.trial)) return not_linkable(link, "the trial");
    if (!rows.stage(link.stage_id)) return not_linkable(link, "the stage");
    LOCUS_RETURN_IF_ERROR(check_stop_point(link));
    put_link(rows, mutation.id, link);
  }
  return absl::OkStatus();
}

}  // namespace locus
