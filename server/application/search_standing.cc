// Where trials stand in their search.
#include "server/application/search_standing.h"

#include <algorithm>

#include "core/base/json.h"
#include "core/search/course.h"
#include "core/search/judge.h"

namespace locus::server {
namespace {

constexpr char kChosenMark[] = "$chosen", kPhaseMark[] = "$phase";

// The paths whose values are chosen by earlier phases: path -> phase.
std::map<std::string, std::string> chosen_paths(const std::string& assignment_json) {
  std::map<std::string, std::string> out;
  const Json assignment = Json::parse(assignment_json, nullptr, /*allow_exceptions=*/false);
  if (!assignment.is_object()) return out;
  for (const auto& [path, value] : assignment.items()) {
    if (value.is_object() && value.contains(kChosenMark)) out[path] = value.value(kChosenMark, std::string());
  }
  return out;
}

std::string phase_of(const std::string& row_key) {
  const Json key = Json::parse(row_key, nullptr, /*allow_exceptions=*/false);
  return key.is_object() ? key.value(kPhaseMark, std::string()) : "";
}

// "22 of 25 trainings done", of a phase.
std::string progress_of(const Fold& fold, std::size_t phase) {
  const auto& rows = fold.setup(phase).units;
  const auto& units = fold.units(phase);
  std::size_t done = 0, all = 0;
  for (std::size_t i = 0; i < units.size() && i < rows.size(); ++i) {
    all += rows[i].trials.size();
    if (units[i].state == UnitState::kFinished || units[i].state == UnitState::kFailed || units[i].settled)
      done += rows[i].trials.size();
  }
  return std::to_string(done) + " of " + std::to_string(all) + " trainings done";
}

TrialStanding of_later_phase(const Fold& fold, const std::string& assignment_json, const std::string& phase) {
  for (std::size_t i = 0; i < fold.phases(); ++i) {
    if (!phase.empty() && fold.setup(i).phase == phase)
      return {"cancelled", "nobody was left to choose from in its group"};
  }
  const auto paths = chosen_paths(assignment_json);
  const auto present = fold.present();
  if (paths.empty() || !present) return {"waiting", "waits for its search"};
  std::string list;
  for (const auto& [path, chooser] : paths) list += (list.empty() ? "" : ", ") + path;
  return {"waiting", "waits for the choice of " + list + ": " + progress_of(fold, *present)};
}

}  // namespace

bool search_runs(Store& store, ExperimentId experiment) {
  const auto search = store.search(experiment);
  return search.ok() && search->state == SearchState::kRunning;
}

std::optional<TrialStanding> standing_of(const Fold& fold, const TrialView& trial, const std::string& assignment_json,
                                         const std::string& row_key) {
  const bool linked = std::any_of(trial.stages.begin(), trial.stages.end(),
                                  [](const TrialStageView& stage) { return stage.link.until_step != kNoFurther; });
  for (std::size_t i = fold.phases(); i-- > 0;) {
    const auto& units = fold.course(i).unit_of_trial();
    const auto unit = units.find(trial.trial.ordinal);
    if (unit == units.end()) continue;
    const UnitCourse& course = fold.units(i)[static_cast<std::size_t>(unit->second)];
    std::string why = explain_unit(fold, i, unit->second);
    if (course.state == UnitState::kStopped ||
        (course.settled && course.state != UnitState::kFinished && course.state != UnitState::kFailed))
      return TrialStanding{"stopped", std::move(why)};
    if (course.state == UnitState::kParked && linked) return TrialStanding{"parked", std::move(why)};
    if (!linked) return TrialStanding{fold.phase_ended(i) ? "stopped" : "waiting", std::move(why)};
    return std::nullopt;
  }
  if (linked) return std::nullopt;
  return of_later_phase(fold, assignment_json, phase_of(row_key));
}

SearchTally tally_of(const Fold& fold, std::int64_t trials) {
  SearchTally out;
  std::int64_t known = 0;
  const auto wants = fold.wants();
  for (std::size_t i = 0; i < fold.phases(); ++i) {
    const auto& rows = fold.setup(i).units;
    const auto& units = fold.units(i);
    for (std::size_t k = 0; k < units.size() && k < rows.size(); ++k) {
      const bool held = units[k].state == UnitState::kParked || units[k].state == UnitState::kStopped;
      for (const std::int64_t trial : rows[k].trials) {
        ++known;
        const auto want = wants.find(trial);
        if (held && want != wants.end()) {
          ++out.parked;
        } else if (want == wants.end() && !fold.phase_ended(i)) {
          ++out.waiting;
        }
      }
    }
  }
  if (!fold.ended()) out.waiting += std::max<std::int64_t>(0, trials - known);
  return out;
}

}  // namespace locus::server
