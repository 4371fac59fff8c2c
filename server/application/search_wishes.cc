// What clients propose to a search, and what people decide over its rules.
#include <cmath>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/base/invalid.h"
#include "core/search/course.h"
#include "server/application/proposed_wish.h"
#include "server/application/search_view.h"

namespace locus::server {
namespace {

constexpr std::size_t kProposerLength = 200, kReasonMost = 1000;

std::string cell_field(int index) { return "cells[" + std::to_string(index) + "]"; }

absl::StatusOr<ProposedCells> proposed_cells(const v1::ProposeRequest& request) {
  if (request.cells_size() < 1 || request.cells_size() > kProposedMost) {
    return invalid("cells", "cells has " + std::to_string(request.cells_size()) + " entries; propose 1 to " +
                                std::to_string(kProposedMost) + " settings at a time");
  }
  ProposedCells out;
  for (int i = 0; i < request.cells_size(); ++i) {
    const Json values = Json::parse(request.cells(i).values_json(), nullptr, /*allow_exceptions=*/false);
    if (!values.is_object()) {
      return invalid(
          cell_field(i) + ".values_json",
          "the settings are no JSON object; give a value for every path of the space, as {\"train.lr\": 0.001}");
    }
    auto& cell = out.emplace_back();
    for (const auto& [path, value] : values.items()) {
      if (value.is_number_float() && !std::isfinite(value.get<double>()))
        return invalid(cell_field(i) + "." + path, path + " is no finite number");
      cell.emplace(path, value);
    }
  }
  return out;
}

absl::Status check_texts(const v1::ProposeRequest& request) {
  if (request.request_id().empty()) {
    return invalid(
        "request_id",
        "request_id is empty; give each proposal a text of its own, so that asking again proposes nothing twice");
  }
  if (request.request_id().size() > kProposerLength)
    return invalid("request_id", "request_id is longer than " + std::to_string(kProposerLength) + " bytes");
  if (request.proposer().size() > kProposerLength)
    return invalid("proposer",
                   "proposer is longer than " + std::to_string(kProposerLength) + " bytes; name program and version");
  return absl::OkStatus();
}

// The units of the present phase that these trials are of.
absl::StatusOr<std::vector<std::int64_t>> units_of(const Fold& fold, const std::vector<std::int64_t>& trials,
                                                   const std::string& experiment) {
  const std::optional<std::size_t> phase = fold.present();
  std::set<std::int64_t> out;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const std::string field = "trials[" + std::to_string(i) + "]";
    if (!phase) break;
    const auto& known = fold.course(*phase).unit_of_trial();
    if (const auto found = known.find(trials[i]); found != known.end()) {
      out.insert(found->second);
      continue;
    }
    return make_error(absl::StatusCode::kNotFound, ErrorReason::kTrialNotFound,
                      "trial " + std::to_string(trials[i]) + " is not of the phase of \"" + experiment +
                          "\" that is under way; `locus search " + experiment + "` lists its units",
                      field, {{"experiment", experiment}, {"trial", std::to_string(trials[i])}});
  }
  return std::vector<std::int64_t>(out.begin(), out.end());
}

// Those that the verdict changes anything for: asking again must not grow the log.
std::vector<std::int64_t> still_open(const Fold& fold, const std::vector<std::int64_t>& units, bool go_on) {
  std::vector<std::int64_t> out;
  const PhaseCourse& course = fold.course(*fold.present());
  for (const std::int64_t unit : units) {
    const UnitCourse& one = course.units[static_cast<std::size_t>(unit)];
    const bool ended = one.state == UnitState::kFinished || one.state == UnitState::kFailed;
    const bool stopped = course.flags[static_cast<std::size_t>(unit)].stopped;
    const bool there = one.rung >= 0 && one.rung == course.top(unit) && !stopped;
    if (!ended && !(go_on ? there : stopped)) out.push_back(unit);
  }
  return out;
}

}  // namespace

absl::StatusOr<v1::ProposeResponse> SearchViews::answer(const ExperimentRow& row, const Fold& fold,
                                                        const std::string& request_id) {
  LOCUS_ASSIGN_OR_RETURN(const auto where, store_.decision_of_request(request_id));
  if (where.first != row.id) {
    return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kWrongState,
                      "request_id \"" + request_id + "\" was given to another experiment already; give a new one",
                      "request_id", {{"request_id", request_id}});
  }
  LOCUS_ASSIGN_OR_RETURN(const auto rows, store_.decisions(row.id, where.second - 1, 1));
  if (rows.empty()) return absl::InternalError("a decision is gone");
  LOCUS_ASSIGN_OR_RETURN(const SearchDecision decision, read(rows.front()));
  const auto* proposed = std::get_if<ProposeDecision>(&decision);
  if (proposed == nullptr) return invalid("request_id", "request_id \"" + request_id + "\" was no proposal's");
  std::set<std::int64_t> fresh;  // cells
  for (const SearchUnitRow& one : proposed->added) fresh.insert(one.cell);
  const SearchSetup& setup = fold.setup(static_cast<std::size_t>(rows.front().phase));
  v1::ProposeResponse out;
  out.set_decision(where.second);
  for (const std::int64_t unit : proposed->units) {
    if (unit < 0 || static_cast<std::size_t>(unit) >= setup.units.size()) continue;
    const SearchUnitRow& one = setup.units[static_cast<std::size_t>(unit)];
    v1::ProposedUnit* message = out.add_units();
    message->set_cell(one.cell);
    for (const std::int64_t trial : one.trials) message->add_trials(trial);
    message->set_repeated_before(!fresh.contains(one.cell));
  }
  return out;
}

absl::StatusOr<v1::ProposeResponse> SearchViews::propose(const v1::ProposeRequest& request, const Caller& caller) {
  LOCUS_RETURN_IF_ERROR(check_texts(request));
  LOCUS_ASSIGN_OR_RETURN(const ProposedCells cells, proposed_cells(request));
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store_.experiment(request.experiment()));
  if (store_.decision_of_request(request.request_id()).ok()) {
    LOCUS_ASSIGN_OR_RETURN(const Fold fold, searches_.fold(row.id));
    return answer(row, fold, request.request_id());
  }
  LOCUS_ASSIGN_OR_RETURN(const Fold before, searches_.fold(row.id));
  const auto catalog = catalogs_.current();
  LOCUS_ASSIGN_OR_RETURN(SearchWish wish, proposed_wish(store_, *catalog, row, before, cells, request.proposer()));
  wish.principal = caller.principal.name;
  wish.request_id = request.request_id();
  const auto after = request.has_after_decision() ? std::optional(request.after_decision()) : std::nullopt;
  LOCUS_ASSIGN_OR_RETURN(const Fold fold, searches_.decide(row.id, wish, after, caller.deed()));
  return answer(row, fold, request.request_id());
}

absl::StatusOr<v1::Search> SearchViews::decide(const Verdict& verdict, const Caller& caller) {
  if (verdict.reason.empty())
    return invalid("reason", "reason is empty; say why, for those who read the log of the search");
  if (verdict.reason.size() > kReasonMost)
    return invalid("reason", "reason is longer than " + std::to_string(kReasonMost) + " bytes");
  if (verdict.trials.empty() || verdict.trials.size() > static_cast<std::size_t>(kVerdictTrialsMost)) {
    return invalid("trials", "trials has " + std::to_string(verdict.trials.size()) + " entries; name 1 to " +
                                 std::to_string(kVerdictTrialsMost) + " of them");
  }
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store_.experiment(verdict.experiment));
  LOCUS_ASSIGN_OR_RETURN(const Fold fold, searches_.fold(row.id));
  LOCUS_ASSIGN_OR_RETURN(const auto named, units_of(fold, verdict.trials, row.name));
  const std::vector<std::int64_t> units = fold.present() ? still_open(fold, named, verdict.go_on) : named;
  if (!units.empty()) {
    OverrideDecision decision{.units = units, .go_on = verdict.go_on, .rung = -1, .reason = verdict.reason};
    const SearchWish wish{.decision = std::move(decision),
                          .principal = caller.principal.name,
                          .request_id = {},
                          .cells = {},
                          .trials = {}};
    LOCUS_RETURN_IF_ERROR(searches_.decide(row.id, wish, std::nullopt, caller.deed()).status());
  }
  v1::GetSearchRequest get;
  get.set_experiment(row.name);
  return this->get(get);
}

absl::StatusOr<v1::Search> SearchViews::stop(const v1::StopTrialsRequest& request, const Caller& caller) {
  return decide({request.experiment(), request.reason(), {request.trials().begin(), request.trials().end()}, false},
                caller);
}

absl::StatusOr<v1::Search> SearchViews::go_on(const v1::ContinueTrialsRequest& request, const Caller& caller) {
  return decide({request.experiment(), request.reason(), {request.trials().begin(), request.trials().end()}, true},
                caller);
}

}  // namespace locus::server
