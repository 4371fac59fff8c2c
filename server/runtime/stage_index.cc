// Which trials of which experiments want a stage.
#include "server/runtime/stage_index.h"

#include <algorithm>
#include <set>

namespace locus::server {

void StageIndex::add(StageId stage, Wanted wanted) {
  auto& list = wanted_[stage];
  if (std::find(list.begin(), list.end(), wanted) == list.end()) list.push_back(wanted);
}

void StageIndex::add(const std::map<std::string, ExperimentSubmitted::StageDraft>& drafts) {
  for (const auto& [identity, draft] : drafts) {
    for (const Snapshot::Want& want : draft.wants) add(want.stage, {want.experiment, want.trial});
  }
}

void StageIndex::load(const Snapshot& snapshot) {
  for (const auto& row : snapshot.experiments) names_[row.id] = row.name;
  for (const auto& want : snapshot.wants) add(want.stage, {want.experiment, want.trial});
}

void StageIndex::apply(const SaveExperiment& saved) {
  names_[saved.row.id] = saved.row.name;
  std::set<std::int64_t> retired;
  for (const auto& trial : saved.trials) {
    if (trial.retired) retired.insert(trial.ordinal);
  }
  if (!retired.empty()) {
    for (auto& [stage, list] : wanted_) {
      std::erase_if(list, [&](const Wanted& w) { return w.experiment == saved.row.id && retired.count(w.trial) > 0; });
    }
  }
  for (const auto& link : saved.trial_stages) {
    if (retired.count(link.trial) == 0) add(link.stage_id, {saved.row.id, link.trial});
  }
}

void StageIndex::apply(const ExperimentSubmitted& submitted) { add(submitted.stages); }

void StageIndex::apply(const StagesRerun& rerun) {
  names_[rerun.row.id] = rerun.row.name;
  add(rerun.stages);
  for (const auto& link : rerun.links) {
    const auto stage = rerun.stages.find(link.identity);
    if (stage != rerun.stages.end()) add(stage->second.row.id, {rerun.row.id, link.trial});
  }
}

void StageIndex::forget(ExperimentId id) {
  names_.erase(id);
  for (auto at = wanted_.begin(); at != wanted_.end();) {
    std::erase_if(at->second, [&](const Wanted& w) { return w.experiment == id; });
    at = at->second.empty() ? wanted_.erase(at) : std::next(at);
  }
}

const std::vector<Wanted>& StageIndex::wanted_by(StageId stage) const {
  static const std::vector<Wanted> kNobody;
  const auto found = wanted_.find(stage);
  return found == wanted_.end() ? kNobody : found->second;
}

std::vector<std::string> StageIndex::experiments_of(StageId stage) const {
  std::set<std::string> names;
  for (const Wanted& wanted : wanted_by(stage)) names.insert(name_of(wanted.experiment));
  return {names.begin(), names.end()};
}

std::string StageIndex::title_of(StageId stage) const {
  const auto& wanted = wanted_by(stage);
  if (wanted.empty()) return "";
  return name_of(wanted.front().experiment) + "/" + std::to_string(wanted.front().trial);
}

const std::string& StageIndex::name_of(ExperimentId id) const {
  static const std::string kUnknown;
  const auto found = names_.find(id);
  return found == names_.end() ? kUnknown : found->second;
}

}  // namespace locus::server
