// What people see of searches.
#include "server/application/search_view.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/analysis/importance.h"
#include "core/analysis/search_story.h"
#include "core/base/error.h"
#include "core/base/invalid.h"
#include "core/search/course.h"
#include "server/application/search_message.h"
#include "server/wire/convert.h"

namespace locus::server {
namespace {

constexpr std::uint64_t kImportanceSeed = 20'010;

// What attempts that have ended took, as the budget counts it.
absl::StatusOr<double> hours_of_slots(Store& store, ExperimentId id) {
  LOCUS_ASSIGN_OR_RETURN(const StageBriefs briefs, store.briefs(id));
  std::set<StageId> stages;
  for (const StageBrief& one : briefs.stages) stages.insert(one.stage);
  double microseconds = 0;
  for (const StageId stage : stages) {
    LOCUS_ASSIGN_OR_RETURN(const auto attempts, store.attempts(stage));
    for (const AttemptRow& attempt : attempts) {
      if (attempt.ended_us > attempt.started_us)
        microseconds += static_cast<double>(attempt.ended_us - attempt.started_us) *
                        static_cast<double>(std::max<std::size_t>(1, attempt.slots.size()));
    }
  }
  return microseconds / 3.6e9;
}

// Images of the split that selects: those of the dataset, or the part of them that is scored.
std::int64_t images_scored(const Catalog& catalog, const Outline& outline, const SearchSetup& setup,
                           const std::string& group_json) {
  const Json group = Json::parse(group_json, nullptr, /*allow_exceptions=*/false);
  const bool own = group.is_object() && group.contains("dataset") && group["dataset"].is_string();
  const CatalogItem* dataset = catalog.find("dataset", own ? group["dataset"].get<std::string>() : outline.dataset);
  if (dataset == nullptr || !dataset->facts.contains("splits") || !dataset->facts["splits"].is_object()) return 0;
  std::int64_t images = dataset->facts["splits"].value(setup.split, std::int64_t{0});
  const auto cut = [&images](const Json& part) {
    if (part.is_number_integer() && part.get<std::int64_t>() > 0) images = std::min(images, part.get<std::int64_t>());
  };
  const Json labels = Json::parse(setup.labels, nullptr, /*allow_exceptions=*/false);
  if (labels.is_object() && labels.contains("images")) cut(labels["images"]);
  if (const auto set = outline.settings.find("train.validation_images"); set != outline.settings.end())
    cut(Json::parse(set->second.value, nullptr, /*allow_exceptions=*/false));
  return images;
}

// The phase whose values people ask about: the last that has begun and chooses or decides something, else the last.
std::size_t telling_phase(const Fold& fold) {
  for (std::size_t phase = fold.phases(); phase-- > 0;) {
    if (fold.setup(phase).search.decides() || fold.setup(phase).choose) return phase;
  }
  return fold.phases() - 1;
}

bool known_trial(const Fold& fold, std::int64_t trial) {
  for (std::size_t phase = 0; phase < fold.phases(); ++phase) {
    if (fold.course(phase).unit_of_trial().contains(trial)) return true;
  }
  return false;
}

absl::Status nothing_begun(const std::string& name) {
  return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kWrongState,
                    "the search of \"" + name + "\" has not begun; look again in a moment", "experiment",
                    {{"experiment", name}});
}

// Values of units at the first rung, where every unit that began has been judged alike.
struct Judged {
  std::vector<double> values;
  std::vector<std::int64_t> proposals;
  std::vector<Json> assignments;
};

Judged judged_units(const PhaseCourse& course, const std::map<std::int64_t, CellRow>& cells) {
  Judged out;
  const SearchSetup& setup = *course.setup;
  for (std::size_t i = 0; i < course.units.size(); ++i) {
    const UnitCourse& unit = course.units[i];
    const auto cell = cells.find(setup.units[i].cell);
    if (unit.scores.empty() || !unit.scores.front() || !std::isfinite(*unit.scores.front()) || cell == cells.end())
      continue;
    Json assignment = Json::parse(cell->second.assignment_json, nullptr, /*allow_exceptions=*/false);
    if (!assignment.is_object()) continue;
    const SearchUnitRow& row = setup.units[i];
    out.values.push_back(course.turned(*unit.scores.front()));
    // Groups that draw their own proposals share none; without a space the cells are the proposals.
    const bool shared = setup.search.shared && !setup.search.space.empty();
    out.proposals.push_back(shared ? row.proposal : static_cast<std::int64_t>(i));
    out.assignments.push_back(std::move(assignment));
  }
  return out;
}

// How a path's values lie in the units: as numbers where the space has them in order, otherwise as which of them it is.
FactorColumn column_of(const std::string& path, const Judged& judged, const SearchSetup& setup) {
  const auto found = std::find_if(setup.search.space.begin(), setup.search.space.end(),
                                  [&](const Dimension& one) { return one.path == path; });
  FactorColumn out{path, found != setup.search.space.end() && found->kind != Dimension::Kind::kChoice, {}};
  const bool log = out.ordered && found->kind == Dimension::Kind::kLog;
  std::map<std::string, double> known;
  for (const Json& assignment : judged.assignments) {
    const Json value = assignment.value(path, Json());
    if (out.ordered && value.is_number()) {
      out.at.push_back(log ? std::log(value.get<double>()) : value.get<double>());
    } else {
      out.at.push_back(known.emplace(canonical_json(value), static_cast<double>(known.size())).first->second);
    }
  }
  return out;
}

std::vector<FactorColumn> varying_columns(const Judged& judged, const SearchSetup& setup) {
  std::set<std::string> paths;
  for (const Json& assignment : judged.assignments) {
    for (const auto& [path, value] : assignment.items()) paths.insert(path);
  }
  std::vector<FactorColumn> out;
  for (const std::string& path : paths) {
    FactorColumn column = column_of(path, judged, setup);
    const bool varies =
        std::any_of(column.at.begin(), column.at.end(), [&](double v) { return v != column.at.front(); });
    if (varies) out.push_back(std::move(column));
  }
  return out;
}

std::string importance_note(const PhaseCourse& course, std::size_t units, std::size_t proposals, bool said) {
  std::string out = "first-order Sobol indices from units that lie near each other, interval by jackknife and " +
                    std::to_string(kShuffles) + " permutations";
  const SearchSetup& setup = *course.setup;
  if (setup.search.advance.rule != AdvanceRule::kNone && !setup.search.advance.rungs.empty())
    out += "; values at the first rung, which every unit reached";
  if (units < setup.units.size())
    out += "; " + std::to_string(setup.units.size() - units) + " units without a finite value there are left out";
  if (!said) {
    out = std::to_string(proposals) + " proposals have a value; importance needs " + std::to_string(kUnitsLeast) +
          " that differ in it";
  }
  return out;
}

std::map<std::int64_t, CellRow> by_ordinal(std::vector<CellRow> cells) {
  std::map<std::int64_t, CellRow> out;
  for (CellRow& cell : cells) out.emplace(cell.ordinal, std::move(cell));
  return out;
}

}  // namespace

absl::StatusOr<v1::Search> SearchViews::get(const v1::GetSearchRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store_.experiment(request.experiment()));
  LOCUS_ASSIGN_OR_RETURN(const SearchRow search, store_.search(row.id));
  LOCUS_ASSIGN_OR_RETURN(const Fold fold, searches_.fold(row.id));
  LOCUS_ASSIGN_OR_RETURN(std::vector<CellRow> cells, store_.cells(row.id));
  SearchSource source{row, search, fold, by_ordinal(std::move(cells)), phase_names(row.spec_json)};
  source.trouble = searches_.trouble(row.id);
  bool counts_hours = false;
  for (std::size_t phase = 0; phase < fold.phases(); ++phase) {
    counts_hours |= fold.setup(phase).search.budget.slot_hours.has_value();
    const std::vector<ChosenCandidate>* chosen = fold.choice(phase);
    if (chosen == nullptr) continue;
    LOCUS_ASSIGN_OR_RETURN(const auto outline, outlines_.get(row));
    for (const ChosenCandidate& one : *chosen)
      source.images[one.group] = images_scored(*catalogs_.current(), *outline, fold.setup(phase), one.group);
  }
  if (counts_hours) {
    LOCUS_ASSIGN_OR_RETURN(source.slot_hours, hours_of_slots(store_, row.id));
  }
  const bool one = request.has_trial() && request.trial() >= 0;
  if (one && !known_trial(fold, request.trial())) {
    return make_error(absl::StatusCode::kNotFound, ErrorReason::kTrialNotFound,
                      "no phase of \"" + row.name + "\" that has begun has trial " + std::to_string(request.trial()),
                      "trial", {{"experiment", row.name}, {"trial", std::to_string(request.trial())}});
  }
  return search_message(source, one ? std::optional(request.trial()) : std::nullopt, request.all_units());
}

absl::StatusOr<v1::ListDecisionsResponse> SearchViews::decisions(const v1::ListDecisionsRequest& request) {
  if (request.after() < 0)
    return invalid("after", "after is " + std::to_string(request.after()) + "; give a number from 0 on");
  if (request.page_size() < 0) {
    return invalid("page_size", "page_size is " + std::to_string(request.page_size()) + "; give a count, or 0 for " +
                                    std::to_string(kDecisionsUsual));
  }
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store_.experiment(request.experiment()));
  LOCUS_RETURN_IF_ERROR(store_.search(row.id).status());
  const int most = request.page_size() == 0 ? kDecisionsUsual : std::min(request.page_size(), kDecisionsMost);
  // From the beginning: units are counted in the setup that began before them.
  LOCUS_ASSIGN_OR_RETURN(const std::vector<DecisionRow> log, store_.decisions(row.id, 0, 0));
  SetupsSoFar setups;
  v1::ListDecisionsResponse out;
  for (const DecisionRow& one : log) {
    if (out.decisions_size() == most) {
      out.set_more(true);
      break;
    }
    LOCUS_ASSIGN_OR_RETURN(const SearchDecision decision, setups.take(one));
    if (one.number <= request.after()) continue;
    const SearchSetup& setup = *setups.of(one.phase);
    v1::SearchDecision* message = out.add_decisions();
    message->set_number(one.number);
    message->set_generation(one.generation);
    message->set_phase(setup.phase);
    message->set_kind(one.kind);
    message->set_json(one.json);
    message->set_rule(one.rule);
    message->set_rule_revision(one.rule_revision);
    message->set_principal(one.principal);
    *message->mutable_time() = to_timestamp(one.time_us);
    message->set_text(decision_text(setup, decision));
    for (const std::int64_t trial : trials_of(setup, decision)) message->add_trials(trial);
  }
  return out;
}

absl::StatusOr<v1::BestSoFar> SearchViews::best(const v1::GetBestSoFarRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store_.experiment(request.experiment()));
  LOCUS_ASSIGN_OR_RETURN(const Fold fold, searches_.fold(row.id));
  if (fold.phases() == 0) return nothing_begun(row.name);
  LOCUS_ASSIGN_OR_RETURN(const std::vector<DecisionRow> log, store_.decisions(row.id, 0, 0));
  const std::size_t phase = telling_phase(fold);
  const SearchSetup& setup = fold.setup(phase);
  LOCUS_ASSIGN_OR_RETURN(const auto curves, best_so_far(fold, phase, log));
  v1::BestSoFar out;
  out.set_metric(setup.metric);
  out.set_split(setup.split);
  for (std::size_t group = 0; group < curves.size(); ++group) {
    v1::BestCurve* curve = out.add_curves();
    if (group < setup.groups.size()) curve->set_group(assignment_text(setup.groups[group]));
    for (const BestPoint& point : curves[group]) {
      curve->add_epochs(point.epochs);
      curve->add_value(point.value);
      curve->add_trial(point.trial);
    }
  }
  return out;
}

absl::StatusOr<v1::Importance> SearchViews::importance(const v1::GetImportanceRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store_.experiment(request.experiment()));
  LOCUS_ASSIGN_OR_RETURN(const Fold fold, searches_.fold(row.id));
  if (fold.phases() == 0) return nothing_begun(row.name);
  LOCUS_ASSIGN_OR_RETURN(std::vector<CellRow> cells, store_.cells(row.id));
  const PhaseCourse& course = fold.course(telling_phase(fold));
  const Judged judged = judged_units(course, by_ordinal(std::move(cells)));
  std::vector<FactorShare> shares =
      locus::importance(judged.values, judged.proposals, varying_columns(judged, *course.setup), kImportanceSeed);
  std::erase_if(shares, [](const FactorShare& one) { return std::isnan(one.share); });
  std::stable_sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
  v1::Importance out;
  out.set_metric(course.setup->metric);
  out.set_split(course.setup->split);
  out.set_units(static_cast<int>(judged.values.size()));
  double explained = 0;
  for (const FactorShare& one : shares) {
    v1::FactorImportance* factor = out.add_factors();
    factor->set_path(one.path);
    factor->set_share(one.share);
    factor->set_low(one.low);
    factor->set_high(one.high);
    explained += one.share;
  }
  out.set_unexplained(shares.empty() ? 1 : std::clamp(1 - explained, 0.0, 1.0));
  const std::set<std::int64_t> proposals(judged.proposals.begin(), judged.proposals.end());
  out.set_note(importance_note(course, judged.values.size(), proposals.size(), !shares.empty()));
  return out;
}

}  // namespace locus::server
