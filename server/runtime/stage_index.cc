// Which trials of which experiments reference a stage.
#include "server/runtime/stage_index.h"

#include <algorithm>
#include <set>

namespace locus::server {

void StageIndex::add(StageId stage, TrialReference reference) {
  auto& list = references_[stage];
  if (std::find(list.begin(), list.end(), reference) == list.end()) list.push_back(reference);
}

void StageIndex::add(const std::map<std::string, ExperimentSubmitted::StageDraft>& drafts) {
  for (const auto& [identity, draft] : drafts) {
    for (const StageReference& reference : draft.references)
      add(reference.stage, {reference.experiment, reference.trial});
  }
}

void StageIndex::load(const Snapshot& snapshot) {
  for (const auto& row : snapshot.experiments) names_[row.id] = row.name;
  for (const auto& reference : snapshot.references) add(reference.stage, {reference.experiment, reference.trial});
}

void StageIndex::apply(const SaveExperiment& saved) {
  names_[saved.row.id] = saved.row.name;
  std::set<std::int64_t> given, retired;  // the latter among the former
  for (const auto& trial : saved.trials) {
    given.insert(trial.ordinal);
    if (trial.retired) retired.insert(trial.ordinal);
  }
  if (saved.expected_revision > 0) {
    for (auto& [stage, list] : references_) {
      std::erase_if(list,
                    [&](const TrialReference& w) { return w.experiment == saved.row.id && given.contains(w.trial); });
    }
  }
  for (const auto& link : saved.trial_stages) {
    if (!retired.contains(link.trial)) add(link.stage_id, {saved.row.id, link.trial});
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

void StageIndex::apply(const SearchDecided& decided) {
  names_[decided.row.id] = decided.row.name;
  add(decided.stages);
}

void StageIndex::apply(const ResolveTrials& resolved) {
  for (const auto& link : resolved.trial_stages) add(link.stage_id, {resolved.id, link.trial});
}

void StageIndex::forget(ExperimentId id) {
  names_.erase(id);
  for (auto at = references_.begin(); at != references_.end();) {
    std::erase_if(at->second, [&](const TrialReference& w) { return w.experiment == id; });
    at = at->second.empty() ? references_.erase(at) : std::next(at);
  }
}

const std::vector<TrialReference>& StageIndex::references(StageId stage) const {
  static const std::vector<TrialReference> kNone;
  const auto found = references_.find(stage);
  return found == references_.end() ? kNone : found->second;
}

std::vector<std::string> StageIndex::experiments_of(StageId stage) const {
  std::set<std::string> names;
  for (const TrialReference& reference : references(stage)) names.insert(name_of(reference.experiment));
  return {names.begin(), names.end()};
}

std::string StageIndex::title_of(StageId stage) const {
  const auto& found = references(stage);
  if (found.empty()) return "";
  return name_of(found.front().experiment) + "/" + std::to_string(found.front().trial);
}

const std::string& StageIndex::name_of(ExperimentId id) const {
  static const std::string kUnknown;
  const auto found = names_.find(id);
  return found == names_.end() ? kUnknown : found->second;
}

}  // namespace locus::server
