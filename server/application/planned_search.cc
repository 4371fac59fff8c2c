// What a search proposes and the work that its rules leave open, as a message.
#include "server/application/planned_search.h"

#include <cmath>
#include <cstdint>

namespace locus::server {
namespace {

void fill_figures(const SearchPlan& plan, v1::PlanSearch* out) {
  const SearchFigures& figures = plan.figures;
  out->set_units(static_cast<int>(figures.units));
  for (const auto& rungs : figures.brackets) {
    v1::PlanBracket* bracket = out->add_brackets();
    for (const RungCount& one : rungs) {
      v1::PlanRung* rung = bracket->add_rungs();
      rung->set_rung(one.rung);
      rung->set_least(one.least);
      rung->set_most(one.most);
    }
  }
  out->set_least_trainings(figures.least_trainings);
  out->set_most_trainings(figures.most_trainings);
  out->set_least_epochs(figures.least_epochs);
  out->set_most_epochs(figures.most_epochs);
  out->set_parked(figures.parked);
  if (plan.checkpoint_bytes >= 0)
    out->set_parked_bytes(std::llround(plan.checkpoint_bytes * static_cast<double>(figures.parked)));
}

}  // namespace

v1::PlanSearch planned_search(const ExperimentPlan& plan) {
  const Search& search = plan.search->search;
  v1::PlanSearch out;
  out.set_propose(to_string(search.proposer));
  out.set_advance(to_string(search.advance.rule));
  out.set_resource(to_string(search.advance.resource));
  out.set_unit(to_string(search.advance.unit));
  out.set_groups(static_cast<int>(plan.search->groups.size()));
  out.set_shared(search.shared);
  const bool theirs = search.proposer == Proposer::kExternal;
  out.set_proposals(static_cast<int>(theirs ? search.proposals : plan.search->proposals));
  std::size_t repeats = 0;
  for (const auto& of_group : plan.search->repeats) repeats += of_group.size();
  out.set_repeats(static_cast<int>(repeats));
  out.set_decides(search.decides());
  if (!plan.cells.empty()) fill_figures(*plan.search, &out);
  return out;
}

}  // namespace locus::server
