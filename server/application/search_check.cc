// Replays logs.
#include "server/application/search_check.h"

#include "core/base/error.h"
#include "core/search/judge.h"

namespace locus::server {
namespace {

constexpr int kExperimentsAtOnce = 200, kProblemsListed = 1000;

void add_problem(const ExperimentRow& experiment, const std::string& sentence, v1::CheckReport* report) {
  report->set_ok(false);
  if (report->problems_size() >= kProblemsListed) return;
  auto* problem = report->add_problems();
  problem->set_subject("experiments/" + experiment.name);
  problem->set_sentence(sentence);
}

// The first row that is wrong says enough: those after it build on it.
absl::Status replay(Store& store, const ExperimentRow& experiment, const SearchRow& search, v1::CheckReport* report) {
  LOCUS_ASSIGN_OR_RETURN(const auto rows, store.decisions(experiment.id, 0, 0));
  Fold fold;
  for (const DecisionRow& row : rows) {
    const std::string place = "decision " + std::to_string(row.number) + " of its search ";
    if (const auto other = disagreement(fold, row)) {
      add_problem(experiment, place + "is not what its rule answers: " + *other, report);
      return absl::OkStatus();
    }
    if (const absl::Status taken = fold.take(row); !taken.ok()) {
      add_problem(experiment, place + "does not follow those before it: " + std::string(taken.message()), report);
      return absl::OkStatus();
    }
  }
  const bool ended = search.state == SearchState::kEnded;
  // A search may have moved on between the two reads.
  if (search.decided == fold.decided() && ended != fold.ended())
    add_problem(experiment,
                std::string("its search is stored as ") + to_string(search.state) + ", and its log says otherwise",
                report);
  return absl::OkStatus();
}

}  // namespace

absl::Status check_searches(Store& store, v1::CheckReport* report) {
  for (ExperimentId before = 0;;) {
    LOCUS_ASSIGN_OR_RETURN(const auto rows, store.experiments(before, kExperimentsAtOnce));
    for (const ExperimentRow& row : rows) {
      before = row.id;
      const auto search = store.search(row.id);
      if (absl::IsNotFound(search.status())) continue;
      LOCUS_RETURN_IF_ERROR(search.status());
      LOCUS_RETURN_IF_ERROR(replay(store, row, *search, report));
    }
    if (rows.size() < static_cast<std::size_t>(kExperimentsAtOnce)) return absl::OkStatus();
  }
}

}  // namespace locus::server
