// What would be chosen, were it chosen again.
#include "core/base/error.h"
#include "core/conduct/turn.h"

namespace locus {

absl::StatusOr<Fold> ConductorTurn::rehearse(std::span<const TrialRow> to_come) {
  rehearsal_ = true;
  LOCUS_RETURN_IF_ERROR(load_trials());
  for (const TrialRow& trial : to_come) trials_.try_emplace(trial.ordinal, TrialView{trial, {}});
  LOCUS_ASSIGN_OR_RETURN(phases_, script_.phases(row_));
  std::vector<SearchSetup> setups(1);
  LOCUS_ASSIGN_OR_RETURN(setups.front(), script_.setup(row_, 0, {}));
  std::vector<DecisionRow> rows = begins(fold_, setups, /*anew=*/true);
  for (DecisionRow& row : rows) LOCUS_RETURN_IF_ERROR(append(BeginDecision{}, std::move(row)));
  for (std::int64_t before = -1; before < fold_.decided();) {  // very long histories come in pieces
    before = fold_.decided();
    rows_.clear();
    LOCUS_RETURN_IF_ERROR(run());
  }
  return fold_;
}

absl::StatusOr<std::vector<ChoiceAgain>> Conductor::choices_again(const ExperimentRow& experiment,
                                                                  std::span<const TrialRow> to_come) {
  LOCUS_ASSIGN_OR_RETURN(const Kept* kept, catch_up(experiment.id));
  const Fold& stands = kept->fold;
  std::vector<ChoiceAgain> out;
  for (std::size_t phase = 0; phase < stands.phases(); ++phase) {
    const auto* chosen = stands.choice(phase);
    if (chosen == nullptr) continue;
    for (const ChosenCandidate& one : *chosen) out.push_back({phase, one, std::nullopt});
  }
  if (out.empty()) return out;
  SlotTime slot_time;
  ConductorTurn turn(store_, script_, experiment, stands, slot_time, /*moved=*/nullptr, /*late=*/{});
  LOCUS_ASSIGN_OR_RETURN(const Fold again, turn.rehearse(to_come));
  for (ChoiceAgain& one : out) {
    const auto* chosen = one.phase < again.phases() ? again.choice(one.phase) : nullptr;
    if (chosen == nullptr) continue;
    for (const ChosenCandidate& now : *chosen) {
      if (now.group == one.stands.group) one.now = now;
    }
  }
  return out;
}

}  // namespace locus
