// Questions to the store that several answers ask.
#include "core/analysis/queries.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/error.h"
#include "core/limits.h"

namespace locus {
namespace {

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

}  // namespace

absl::StatusOr<std::vector<TrialView>> all_trials(Store& store, ExperimentId id) {
  std::vector<TrialView> out;
  while (true) {
    const std::int64_t after = out.empty() ? -1 : out.back().trial.ordinal;
    LOCUS_ASSIGN_OR_RETURN(auto page, store.trials(id, after, kPageSizeMost));
    const bool last = page.size() < static_cast<std::size_t>(kPageSizeMost);
    std::move(page.begin(), page.end(), std::back_inserter(out));
    if (last) return out;
  }
}

absl::StatusOr<ResultsByStage> all_results(Store& store, ExperimentId id) {
  LOCUS_ASSIGN_OR_RETURN(auto list, store.results(id));
  ResultsByStage out;
  for (auto& view : list) out[view.stage_id].push_back(std::move(view.result));
  return out;
}

std::map<StageId, std::string> environments_by_stage(const StageBriefs& briefs) {
  std::map<StageId, std::string> out;
  for (const StageBrief& brief : briefs.stages) {
    if (brief.environment >= 0)
      out.try_emplace(brief.stage, briefs.environments[static_cast<std::size_t>(brief.environment)]);
  }
  return out;
}

absl::StatusOr<std::pair<std::string, std::int64_t>> parse_trial_name(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  const auto ordinal =
      slash == std::string::npos ? std::nullopt : parse_integer(std::string_view(name).substr(slash + 1));
  const bool nested = slash != std::string::npos && name.find('/') != slash;
  if (!ordinal || *ordinal < 0 || slash == 0 || nested) {
    return make_error(
        absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidName,
        "\"" + name + "\" does not name a trial; trials are named EXPERIMENT/ORDINAL, such as fashion-mnist-priors/0",
        "name", {{"name", name}});
  }
  return std::pair(name.substr(0, slash), *ordinal);
}

absl::StatusOr<TrialOf> find_trial(Store& store, const std::string& name) {
  LOCUS_ASSIGN_OR_RETURN(const auto parsed, parse_trial_name(name));
  TrialOf out;
  LOCUS_ASSIGN_OR_RETURN(out.experiment, store.experiment(parsed.first));
  LOCUS_ASSIGN_OR_RETURN(auto views, store.trials(out.experiment.id, parsed.second - 1, 1));
  if (views.empty() || views.front().trial.ordinal != parsed.second) {
    return make_error(absl::StatusCode::kNotFound, ErrorReason::kTrialNotFound,
                      "experiment \"" + parsed.first + "\" has no trial " + std::to_string(parsed.second) +
                          "; list its trials to see which there are",
                      "name", {{"experiment", parsed.first}, {"trial", std::to_string(parsed.second)}});
  }
  out.view = std::move(views.front());
  return out;
}

}  // namespace locus
