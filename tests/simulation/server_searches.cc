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
  if (conduct_planned_ || (mutant_ == Mutant::kForgetsSearches && boots_ > 1)) return;
  conduct_planned_ = true;
  after(world_.random.between(0, most / kMillisecond) * kMillisecond, [this] {
    conduct_planned_ = false;
    conduct();
  });
}

bool ServerProcess::has_more_to_decide(ExperimentId experiment) {
  const auto event = conductor_->next(experiment);
  return event.ok() && event->has_value();
}

void ServerProcess::conduct() {
  std::vector<ExperimentRow> rows = ledger_.experiments(0, 100).value();
  std::reverse(rows.begin(), rows.end());
  for (const ExperimentRow& row : rows) {
    if (!searched(row)) continue;
    const bool whole = conduct(row.id);
    if (!up()) return;
    if (!whole) conduct_soon(3 * kSecond);
  }
}

bool ServerProcess::conduct(ExperimentId experiment) {
  for (int events = 0; events < 20; ++events) {
    auto event = conductor_->next(experiment);
    if (!event.ok()) throw Violation(16, "the conductor cannot judge: " + event.status().ToString());
    if (!*event) return true;
    const absl::Status posted = ask_and_tell(tampered(std::move(**event)));
    if (!up() || !posted.ok()) return false;
  }
  throw Violation(16, "the conductor never has enough");
}

absl::Status ServerProcess::wish(ExperimentId experiment, const SearchWish& wish) {
  auto event = conductor_->next(experiment, &wish);
  if (!event.ok()) return event.status();
  if (!*event) return absl::OkStatus();  // it is in the log
  absl::Status posted = ask_and_tell(tampered(std::move(**event)));
  if (up() && posted.ok()) conduct_soon(kSecond / 2);
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
    const bool to_the_end = std::ranges::any_of(event.links, [&](const ExperimentSubmitted::Link& link) {
      return link.identity == identity && link.until_step == kToTheEnd;
    });
    if (mutant_ == Mutant::kStaysParked && !to_the_end) draft.resume->step = kTrainingSteps;
  }
  return event;
}

}  // namespace locus::simulation
