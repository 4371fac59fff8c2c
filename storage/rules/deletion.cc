// What a deletion takes with it.
#include "storage/rules/deletion.h"

#include <algorithm>

#include "core/limits.h"
#include "storage/rules/refusals.h"

namespace locus {
namespace {

constexpr std::int64_t kPurgeBytes = 4 << 20;  // a piece that holds more is large enough
constexpr std::int64_t kPointBytes = 16;       // of a stored point, about

// Takes out what a stage that stays still needs, until nothing changes.
void keep_sources(Rows& rows, std::set<StageId>& going) {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto at = going.begin(); at != going.end();) {
      const std::set<StageId> dependents = rows.dependents(*at);
      const bool needed =
          std::any_of(dependents.begin(), dependents.end(), [&](StageId id) { return !going.contains(id); });
      at = needed ? going.erase(at) : std::next(at);
      changed = changed || needed;
    }
  }
}

// Of `artifacts`, those that nothing but these stages names and nobody pinned; adds up their bytes.
std::vector<std::string> free_artifacts(Rows& rows, const std::set<StageId>& going, std::int64_t* bytes) {
  std::set<std::string> artifacts;
  for (const StageId stage : going) artifacts.merge(rows.artifacts_named_by(stage));
  std::vector<std::string> out;
  for (const std::string& sha256 : artifacts) {
    const auto row = rows.artifact(sha256);
    const std::set<StageId> naming = rows.stages_naming(sha256);
    const bool free = std::all_of(naming.begin(), naming.end(), [&](StageId s) { return going.contains(s); });
    if (!row || row->pinned || !free) continue;
    out.push_back(sha256);
    *bytes += row->bytes;
  }
  return out;
}

// About what the points and logs of a stage take: taking them away reads their pages.
std::int64_t bytes_of(Rows& rows, StageId id) {
  std::int64_t out = 0;
  for (const AttemptRow& attempt : rows.attempts_of(id))
    out += attempt.acked_seq * kPointBytes + std::min(attempt.log_bytes, kLogBytes);
  return out;
}

void count_stage(Rows& rows, StageId id, Deletion& out) {
  const auto stage = rows.stage(id);
  if (stage && !terminal(stage->state)) ++out.stages_unfinished;
  for (const AttemptRow& attempt : rows.attempts_of(id)) {
    ++out.attempts;
    out.points += attempt.acked_seq;
  }
}

}  // namespace

Deletion plan_deletion(Rows& rows, ExperimentId id) {
  Deletion out;
  out.trials = rows.trial_count(id);
  const std::set<StageId> linked = rows.linked_stages(id);
  std::set<StageId> going;
  for (const StageId stage : linked) {
    const std::set<std::string> others = rows.others_linking(stage, id);
    if (others.empty()) going.insert(stage);
    out.kept_for.insert(others.begin(), others.end());
  }
  keep_sources(rows, going);
  out.stages.assign(going.begin(), going.end());
  out.stages_kept = static_cast<std::int64_t>(linked.size() - going.size());
  for (const StageId stage : going) count_stage(rows, stage, out);
  out.artifacts = free_artifacts(rows, going, &out.bytes);
  return out;
}

bool goes_with(Rows& rows, StageId stage, ExperimentId id) {
  if (!rows.others_linking(stage, id).empty()) return false;
  const std::set<StageId> dependents = rows.dependents(stage);
  return std::all_of(dependents.begin(), dependents.end(), [&](StageId one) { return goes_with(rows, one, id); });
}

PurgePlan plan_purge(Rows& rows, int trials) {
  PurgePlan out;
  const auto experiment = rows.hidden_experiment();
  if (!experiment) return out;
  out.experiment = *experiment;
  std::set<StageId> going;
  std::int64_t bytes = 0;
  for (const std::int64_t trial : rows.first_trials(*experiment, trials)) {
    if (out.last_trial >= 0 && bytes >= kPurgeBytes) break;
    out.last_trial = trial;
    for (const StageId stage : rows.stages_of_trial(*experiment, trial)) {
      if (going.insert(stage).second) bytes += bytes_of(rows, stage);
    }
  }
  // What these alone took their inputs from may have lost its own link before.
  for (std::set<StageId> fresh = going; !fresh.empty();) {
    std::set<StageId> found;
    for (const StageId stage : fresh) found.merge(rows.sources(stage));
    std::erase_if(found, [&](StageId stage) { return !going.insert(stage).second; });
    fresh = std::move(found);
  }
  std::erase_if(going, [&](StageId stage) {
    return rows.linked_beyond(stage, *experiment, out.last_trial) || rows.stage(stage)->state == StageState::kRunning;
  });
  keep_sources(rows, going);
  out.stages.assign(going.begin(), going.end());
  for (const StageId stage : going) out.attempts += static_cast<std::int64_t>(rows.attempts_of(stage).size());
  std::int64_t ignored = 0;
  out.artifacts = free_artifacts(rows, going, &ignored);
  return out;
}

absl::Status purge_deleted(Rows& rows, const PurgeDeleted& m) {
  if (m.trials < 1)
    return refusal::invalid("a piece of " + std::to_string(m.trials) + " trials takes nothing away", "trials");
  const PurgePlan plan = plan_purge(rows, m.trials);
  if (plan.experiment == 0) return absl::OkStatus();
  if (plan.last_trial < 0) {
    if (rows.erase_cells(plan.experiment, m.trials) < m.trials &&
        rows.erase_decisions(plan.experiment, m.trials) < m.trials)
      rows.erase_experiment(plan.experiment);
    return absl::OkStatus();
  }
  rows.remember_deletion(plan.attempts);
  rows.erase_trials(plan.experiment, plan.last_trial);
  rows.erase_stages(plan.stages);
  return absl::OkStatus();
}

}  // namespace locus
