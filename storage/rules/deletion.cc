// What a deletion takes with it.
#include "storage/rules/deletion.h"

#include <algorithm>

namespace locus {
namespace {

// Takes out what a stage that stays still needs, until nothing changes.
void keep_sources(Rows& rows, std::set<StageId>& going) {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto at = going.begin(); at != going.end();) {
      const std::set<StageId> dependants = rows.dependants(*at);
      const bool needed = std::any_of(dependants.begin(), dependants.end(),
                                      [&](StageId id) { return !going.contains(id); });
      at = needed ? going.erase(at) : std::next(at);
      changed = changed || needed;
    }
  }
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
  std::set<std::string> artifacts;
  for (const StageId stage : going) {
    count_stage(rows, stage, out);
    artifacts.merge(rows.artifacts_named_by(stage));
  }
  for (const std::string& sha256 : artifacts) {
    const auto row = rows.artifact(sha256);
    const std::set<StageId> naming = rows.stages_naming(sha256);
    const bool free = std::all_of(naming.begin(), naming.end(), [&](StageId s) { return going.contains(s); });
    if (!row || row->pinned || !free) continue;
    out.artifacts.push_back(sha256);
    out.bytes += row->bytes;
  }
  return out;
}

}  // namespace locus
