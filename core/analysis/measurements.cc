// Picks the results a table needs.
#include "core/analysis/measurements.h"

#include <algorithm>
#include <limits>

#include "core/analysis/reduce.h"
#include "core/base/json.h"

namespace locus {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Among results of one stage and key.
const Result* choose(const std::vector<const Result*>& candidates, const std::string& reducer) {
  for (const Result* candidate : candidates) {
    if (candidate->reducer == reducer) return candidate;
  }
  const bool lone = candidates.size() == 1;
  return lone && serves(reducer, candidates.front()->reducer, lone) ? candidates.front() : nullptr;
}

template <class Wanted>
std::optional<double> find(const TrialView& trial, const ResultsByStage& results, const std::string& reducer,
                           const Wanted& wanted) {
  for (auto stage = trial.stages.rbegin(); stage != trial.stages.rend(); ++stage) {
    const auto found = results.find(stage->stage.id);
    if (found == results.end()) continue;
    std::vector<const Result*> candidates;
    for (const Result& result : found->second) {
      if (wanted(result.key)) candidates.push_back(&result);
    }
    if (const Result* chosen = choose(candidates, reducer)) return chosen->value;
  }
  return std::nullopt;
}

std::map<std::string, Json> fields(const std::string& labels) {
  const Json json = Json::parse(labels, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json.get<std::map<std::string, Json>>() : std::map<std::string, Json>{};
}

// Numbers by value, strings by text; a set with fewer labels first.
bool before(const std::string& a, const std::string& b) {
  const auto left = fields(a), right = fields(b);
  return left == right ? a < b : left < right;  // nlohmann orders numbers by value
}

}  // namespace

std::optional<double> measured(const TrialView& trial, const ResultsByStage& results, const SeriesKey& key,
                               const std::string& reducer) {
  return find(trial, results, reducer, [&](const SeriesKey& k) { return k == key; });
}

std::optional<double> measured_any_labels(const TrialView& trial, const ResultsByStage& results,
                                          const std::string& metric, const std::string& split,
                                          const std::string& reducer) {
  if (const auto plain = measured(trial, results, {metric, split, "{}"}, reducer)) return plain;
  return find(trial, results, reducer, [&](const SeriesKey& k) { return k.metric == metric && k.split == split; });
}

std::set<SeriesKey> measured_keys(const ResultsByStage& results) {
  std::set<SeriesKey> out;
  for (const auto& [stage, of_stage] : results) {
    for (const Result& result : of_stage) out.insert(result.key);
  }
  return out;
}

std::vector<std::string> label_sets(const std::vector<TrialView>& trials, const ResultsByStage& results,
                                    const std::string& metric, const std::string& split) {
  std::set<std::string> found;
  for (const TrialView& trial : trials) {
    if (trial.trial.retired) continue;
    for (const TrialStageView& stage : trial.stages) {
      const auto of_stage = results.find(stage.stage.id);
      if (of_stage == results.end()) continue;
      for (const Result& result : of_stage->second) {
        if (result.key.metric == metric && result.key.split == split) found.insert(result.key.labels);
      }
    }
  }
  std::vector<std::string> out(found.begin(), found.end());
  std::sort(out.begin(), out.end(), before);
  return out;
}

double varying_label(const std::string& labels, const std::vector<std::string>& sets) {
  const auto mine = fields(labels);
  std::optional<std::string> name;
  for (const std::string& other : sets) {
    const auto theirs = fields(other);
    const bool same_names = std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(),
                                       [](const auto& a, const auto& b) { return a.first == b.first; });
    if (!same_names) continue;  // another sweep
    for (const auto& [key, value] : mine) {
      const auto found = theirs.find(key);
      if (found->second == value) continue;
      if (name && *name != key) return kNaN;
      name = key;
    }
  }
  if (!name && mine.size() == 1) name = mine.begin()->first;  // a sweep of one point
  if (!name || !mine.at(*name).is_number()) return kNaN;
  return mine.at(*name).get<double>();
}

}  // namespace locus
