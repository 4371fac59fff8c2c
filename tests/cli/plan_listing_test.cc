// What `locus plan` says of a search.
#include <gmock/gmock.h>

#include <utility>
#include <vector>

#include "cli/render/plan.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two priors, eight proposals, halved over two rungs; with three seeds each.
v1::Plan halving_plan() {
  v1::Plan plan;
  plan.set_name("tuned");
  v1::PlanSearch* search = plan.mutable_search();
  search->set_propose("sobol");
  search->set_advance("halve");
  search->set_resource("epochs");
  search->set_unit("cell");
  search->set_groups(2);
  search->set_shared(true);
  search->set_proposals(8);
  search->set_decides(true);
  search->set_units(16);
  v1::PlanBracket* bracket = search->add_brackets();
  for (const auto& [rung, units] : std::vector<std::pair<int, int>>{{1, 16}, {9, 4}}) {
    v1::PlanRung* one = bracket->add_rungs();
    one->set_rung(rung);
    one->set_least(units);
    one->set_most(units);
  }
  search->set_least_trainings(48);
  search->set_most_trainings(48);
  search->set_least_epochs(144);
  search->set_most_epochs(144);
  search->set_parked(48);
  search->set_parked_bytes(std::int64_t{1} << 30);
  return plan;
}

TEST(Listing, OfASearchSaysItsRungsItsWorkAndWhatIsParked) {
  v1::Plan plan = halving_plan();
  EXPECT_THAT(render_plan(plan),
              HasSubstr("\nsearch: sobol, 8 proposals, the same for all 2 groups, halve over 16 cells\n"
                        "epochs  cells\n"
                        "     1     16\n"
                        "     9      4\n"
                        "work: 48 trainings, 144 epochs; all other counts are of cells that are trained to their end\n"
                        "parked: at most 48 checkpoints, about 1.0 GiB\n"));
  v1::PlanSearch* search = plan.mutable_search();
  search->set_advance("hyperband");
  v1::PlanRung* second = search->add_brackets()->add_rungs();
  second->set_rung(9);
  second->set_least(3);
  second->set_most(6);
  search->set_least_epochs(20.5);
  search->clear_parked_bytes();
  EXPECT_THAT(render_plan(plan), HasSubstr("bracket  epochs  cells\n"
                                           "      1       1     16\n"
                                           "      1       9      4\n"
                                           "      2       9    3\u20136\n"
                                           "work: 48 trainings, 20.5\u2013144 epochs"));
  EXPECT_THAT(render_plan(plan), HasSubstr("parked: at most 48 checkpoints, of unknown size\n"));
  search->set_parked(0);
  EXPECT_THAT(render_plan(plan), Not(HasSubstr("parked")));
}

TEST(Listing, OfASearchThatDecidesNothingSaysThatEveryProposalIsTrained) {
  v1::Plan plan = halving_plan();
  v1::PlanSearch* search = plan.mutable_search();
  search->set_advance("none");
  search->set_decides(false);
  search->set_shared(false);
  EXPECT_THAT(render_plan(plan),
              HasSubstr("\nsearch: sobol, 8 proposals, drawn for each of 2 groups, every one to its end\n"));
  EXPECT_THAT(render_plan(plan), Not(HasSubstr("work:")));
  search->set_propose("external");
  search->set_decides(true);
  search->set_units(0);
  EXPECT_THAT(render_plan(plan), HasSubstr("\nsearch: proposals of a client, 8 at most\n"));
  EXPECT_THAT(render_plan(v1::Plan()), Not(HasSubstr("search")));
}

TEST(Listing, OfPhasesSaysWhatEachChoosesAndWhatWaitsForIt) {
  v1::Plan plan;
  plan.set_name("vtab");
  plan.set_trials_deferred(20);
  v1::PlanPhase* select = plan.add_phases();
  select->set_name("select");
  select->set_cells(64);
  select->set_trials(192);
  select->set_stages_to_run(300);
  select->add_chooses("train.lr");
  select->add_chooses("train.batch");
  select->set_groups(2);
  select->set_candidates(8);
  *select->mutable_search() = halving_plan().search();
  v1::PlanPhase* final = plan.add_phases();
  final->set_name("final");
  final->set_cells(4);
  final->set_trials(20);
  final->set_deferred(true);
  final->add_uses("train.lr of select");
  const std::string text = render_plan(plan);
  EXPECT_THAT(text, HasSubstr("\nphase select: 64 cells, 192 trials, 300 stages to run\n"
                              "search: sobol, 8 proposals, the same for all 2 groups, halve over 16 cells\n"));
  EXPECT_THAT(text, HasSubstr("choice: train.lr, train.batch, one of 8 for each of 2 groups\n"));
  EXPECT_THAT(text, HasSubstr("\nphase final: 4 cells, 20 trials, which wait for train.lr of select\n"));
  EXPECT_THAT(text, HasSubstr("\n20 trials wait for a choice; what they will run is not counted above\n"));
}

}  // namespace
}  // namespace locus
