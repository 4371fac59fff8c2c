// Hardware alike: an experiment that asks for it runs on workers of one kind, and the first grant says which.
#include "core/scheduling/state.h"

namespace locus {

// A worker without such a label may have been given the stage because another experiment wants it; that settles nothing.
void Scheduler::State::settle_alike(const Stage& stage, const Worker& worker) {
  for (const auto& [reference, until] : stage.references) {
    const auto found = experiments_.find(reference.first);
    if (found == experiments_.end() || !found->second.rules) continue;
    Experiment& experiment = found->second;
    PlacementRules rules = *experiment.rules;
    for (auto& [key, value] : rules.alike) {
      const auto label = worker.labels.find(key);
      if (value.empty() && label != worker.labels.end()) value = label->second;
    }
    if (rules == *experiment.rules) continue;
    experiment.row.placement = placement_text(rules);
    take_rules(experiment, experiment.row.placement);
    mutate(SetExperimentPlacement{experiment.row.id, experiment.row.placement});
    for (const auto& [other, limit] : experiment.references) {
      if (Stage* waiting = find_stage(other.first)) refresh_ready(*waiting);
    }
  }
}

}  // namespace locus
