// The simulated server and searches: the conductor is asked soon after something has ended, and what it decides is an event
// like any other, which a crash or a full disk may meet.
#include <algorithm>

#include "core/base/error.h"
#include "core/search/decision.h"
#include "tests/simulation/server.h"

namespace locus::simulation {

bool ServerProcess::search_runs(ExperimentId experiment) const {
  const auto row = ledger_.search(experiment);
  return row.ok() && row->state == SearchState::kRunning;
}

void ServerProcess::conduct_soon(Microseconds most) {
  if (!up() || conduct_planned_ || (mutant_ == Mutant::kForgetsSearches && boots_ > 1)) return;
  conduct_planned_ = true;
  after(world_.random.between(0, most / kMillisecond) * kMillisecond, [this] {
    conduct_planned_ = false;
    conduct();
  });
}

// What the server's own coordinator tells its searches.
void ServerProcess::note_moved(const std::vector<Mutation>& mutations) {
  bool matters = false;
  const auto of_stage = [&](StageId stage) {
    matters = true;
    const auto references = ledger_.references(stage).value();
    for (const StageReference& reference : references) moved_[reference.experiment].insert(reference.trial);
  };
  for (const Mutation& mutation : mutations) {
    if (const auto* ended = std::get_if<EndAttempt>(&mutation)) of_stage(ended->stage_id);
    if (const auto* set = std::get_if<SetStageState>(&mutation); set != nullptr && terminal(set->to))
      of_stage(set->stage_id);
    if (std::holds_alternative<SaveExperiment>(mutation) || std::holds_alternative<SetExperimentState>(mutation))
      matters = all_moved_ = true;
  }
  if (matters) conduct_soon(kSecond / 2);
}

bool ServerProcess::has_more_to_decide(ExperimentId experiment) {
  const auto event = conductor_->next(experiment);
  return event.ok() && event->has_value();
}

void ServerProcess::conduct() {
  std::vector<ExperimentRow> rows = ledger_.experiments(0, 100).value();
  std::reverse(rows.begin(), rows.end());
  const bool all = std::exchange(all_moved_, false);
  const auto moved = std::exchange(moved_, {});
  for (const ExperimentRow& row : rows) {
    if (!searched(row)) continue;
    const auto trials = moved.find(row.id);
    if (!all && trials == moved.end()) continue;
    const bool whole = conduct(row.id, all ? nullptr : &trials->second);
    if (!up()) return;
    if (whole) continue;
    all_moved_ = true;
    conduct_soon(3 * kSecond);
  }
}

namespace {

bool tells_of_failure(const SearchDecided& event) {
  return std::ranges::any_of(event.decisions.rows, [](const DecisionRow& row) {
    const auto decision = read(row);
    const auto* seen = decision.ok() ? std::get_if<ObserveDecision>(&*decision) : nullptr;
    return seen != nullptr && !seen->value;
  });
}

}  // namespace

bool ServerProcess::conduct(ExperimentId experiment, const std::set<std::int64_t>* moved) {
  for (int events = 0; events < 20; ++events) {
    auto event = conductor_->next(experiment, /*wish=*/nullptr, moved);
    if (!event.ok()) throw Violation(16, "the conductor cannot judge: " + event.status().ToString());
    if (!*event || (mutant_ == Mutant::kOverlooksFailures && tells_of_failure(**event))) return true;
    const absl::Status posted = ask_and_tell(tampered(std::move(**event)));
    if (!up() || !posted.ok()) return false;
  }
  throw Violation(16, "the conductor never has enough");
}

absl::Status ServerProcess::wish(ExperimentId experiment, const SearchWish& wish) {
  const std::set<std::int64_t> nothing_else;
  auto event = conductor_->next(experiment, &wish, &nothing_else);
  if (!event.ok()) return event.status();
  if (!*event) return absl::OkStatus();  // it is in the log
  absl::Status posted = ask_and_tell(tampered(std::move(**event)));
  if (up() && posted.ok()) {
    moved_.try_emplace(experiment);
    conduct_soon(kSecond / 2);
  }
  return posted;
}

absl::Status ServerProcess::propose(const std::string& experiment, const std::string& asked, const std::string& cell) {
  if (!responsive()) return absl::UnavailableError("no server");
  const auto row = ledger_.experiment(experiment);
  if (!row.ok()) return row.status();
  SearchWish proposal;
  proposal.principal = "client";
  proposal.request_id = asked;
  if (mutant_ == Mutant::kProposesTwice) proposal.request_id += "-" + std::to_string(++repeated_);
  proposal.cells = {{0, cell, cell, "{}"}};
  proposal.trials = {{0, 0, 0, false}};
  ProposeDecision decision;
  decision.added = {{0, 0, 0, {0}}};
  proposal.decision = decision;
  const absl::Status taken = wish(row->id, proposal);
  if (taken.ok()) ledger_.searches().acknowledged(row->id, asked);
  return taken;
}

absl::Status ServerProcess::overrule(const std::string& experiment, std::int64_t unit, bool go_on) {
  if (!responsive()) return absl::UnavailableError("no server");
  const auto row = ledger_.experiment(experiment);
  if (!row.ok()) return row.status();
  const auto fold = conductor_->fold(row->id);
  if (!fold.ok()) return fold.status();
  const auto units = static_cast<std::int64_t>(fold->units(0).size());
  if (units == 0) return absl::OkStatus();
  SearchWish verdict;
  verdict.principal = "person";
  verdict.decision =
      OverrideDecision{.units = {unit % units}, .go_on = go_on, .rung = -1, .reason = "a person says so"};
  return wish(row->id, verdict);
}

absl::Status ServerProcess::submit(const SearchPlan& plan) {
  if (!responsive()) return absl::UnavailableError("no server");
  ExperimentSubmitted event = testing::submission(plan.matrix, ledger_);
  event.row.spec_json = specification(plan);
  event.decisions.reset();  // the conductor begins it
  return ask_and_tell(std::move(event));
}

// The planted defects of searches.
SearchDecided ServerProcess::tampered(SearchDecided event) const {
  for (DecisionRow& row : event.decisions.rows) {
    auto decision = read(row);
    if (!decision.ok()) continue;
    auto* seen = std::get_if<ObserveDecision>(&*decision);
    auto* advance = std::get_if<AdvanceDecision>(&*decision);
    if (mutant_ == Mutant::kMisreadsValue && seen != nullptr && seen->value) {
      *seen->value += 1;
    } else if (mutant_ == Mutant::kEndsEarly && advance != nullptr) {
      event.decisions.state = SearchState::kEnded;
      continue;
    } else if (mutant_ == Mutant::kMisjudges && advance != nullptr && !advance->units.empty()) {
      advance->units.pop_back();
    } else {
      continue;
    }
    row.json = written(*decision).json;
  }
  for (ExperimentSubmitted::Link& link : event.links) {
    if (mutant_ == Mutant::kMovesLink && link.until_step > 0) link.until_step += 1;
  }
  for (auto& [identity, draft] : event.stages) {
    if (draft.row.state != StageState::kParked || !draft.resume) continue;
    if (mutant_ == Mutant::kForgetsCheckpoint) draft.resume.reset();
    const bool to_the_end =
        std::ranges::any_of(event.links, [&identity = identity](const ExperimentSubmitted::Link& link) {
          return link.identity == identity && link.until_step == kToTheEnd;
        });
    if (mutant_ == Mutant::kStaysParked && !to_the_end) draft.resume->step = kTrainingSteps;
  }
  return event;
}

}  // namespace locus::simulation
