// What `locus search` says: of a search's state, its units and its log.
#include <gmock/gmock.h>

#include <utility>
#include <vector>

#include "cli/render/search.h"

namespace locus {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

void add_rung(v1::SearchBracket* bracket, std::int64_t rung, int sent, int there, int advanced) {
  v1::SearchRung* one = bracket->add_rungs();
  one->set_rung(rung);
  one->set_sent(sent);
  one->set_there(there);
  one->set_advanced(advanced);
}

v1::SearchUnit* add_unit(v1::SearchPhase* phase, std::int64_t proposal, const char* label, const char* state) {
  v1::SearchUnit* unit = phase->add_units();
  unit->set_proposal(proposal);
  unit->set_label(label);
  unit->set_state(state);
  unit->set_values_json(R"({"train.lr":0.001,"train.batch":64})");
  unit->add_trials(2 * proposal);
  unit->add_trials(2 * proposal + 1);
  return unit;
}

// Two priors, eight proposals, halved; the second of three rungs is under way.
v1::Search halved() {
  v1::Search search;
  search.set_experiment("tuned");
  search.set_state("running");
  search.set_generation(1);
  search.set_decided(1234);
  search.add_next("rung 3: 3 of 5 are there, the best 1 goes on");
  v1::SearchPhase* phase = search.add_phases();
  phase->set_state("running");
  phase->set_propose("sobol");
  phase->set_advance("halve");
  phase->set_resource("epochs");
  phase->set_unit("cell");
  phase->set_shared(true);
  phase->set_metric("top1");
  phase->set_split("validation");
  phase->set_direction("max");
  phase->add_groups("none");
  phase->add_groups("violin");
  phase->set_proposals(8);
  v1::SearchDimension* rate = phase->add_space();
  rate->set_path("train.lr");
  rate->set_kind("log");
  rate->set_low(1e-4);
  rate->set_high(0.01);
  v1::SearchDimension* batch = phase->add_space();
  batch->set_path("train.batch");
  batch->set_kind("choice");
  batch->add_choices("32");
  batch->add_choices("64");
  v1::SearchBracket* bracket = phase->add_brackets();
  add_rung(bracket, 1, 16, 16, 5);
  add_rung(bracket, 3, 5, 3, 0);
  add_rung(bracket, 9, 0, 0, 0);
  v1::SearchBudgetLine* epochs = phase->add_budget();
  epochs->set_name("epochs");
  epochs->set_spent(31);
  epochs->set_limit(40.5);
  v1::SearchUnit* unit = add_unit(phase, 0, "none", "parked");
  unit->set_reason("parked at epoch 1: 9th of 16, the first 5 go on");
  v1::SearchScore* score = unit->add_scores();
  score->set_rung(1);
  score->set_value(61.5);
  add_unit(phase, 1, "violin", "running")->add_scores()->set_rung(1);
  return search;
}

TEST(Listing, OfASearchSaysItsTermsRungsUnitsBudgetAndWhatItWaitsFor) {
  const std::string text = render_search(halved(), /*units=*/false);
  EXPECT_EQ(text,
            "tuned  running  1,234 decisions\n"
            "\n"
            "sobol, 8 proposals, the same for all 2 groups; halve over epochs, cell by cell; judged by top1 on "
            "validation, larger is better\n"
            "  train.lr log 0.0001 to 0.01\n"
            "  train.batch 32 | 64\n"
            "\n"
            "epochs  sent  there  went on  stopped  failed\n"
            "     1    16     16        5        0       0\n"
            "     3     5      3        0        0       0\n"
            "     9     0      0        0        0       0\n"
            "\n"
            "units: 1 running, 1 parked\n"
            "budget:\n"
            "  epochs: 31 of 40.50\n"
            "\n"
            "next:\n"
            "  rung 3: 3 of 5 are there, the best 1 goes on\n");
}

TEST(Listing, OfUnitsSaysTheirValuesTrialsScoresAndReasons) {
  const std::string text = render_search(halved(), /*units=*/true);
  EXPECT_THAT(text,
              HasSubstr("\nproposal  cell    values                          trials  state    top1 by epochs  reason\n"
                        "       0  none    train.batch 64, train.lr 0.001  0,1     parked   1: 61.50        "
                        "parked at epoch 1: 9th of 16, the first 5 go on\n"));
  EXPECT_THAT(text, HasSubstr("2,3     running  1: failed\n"));
}

TEST(Listing, OfPhasesSaysTheirNamesAndWhatWasChosen) {
  v1::Search search;
  search.set_experiment("vtab");
  search.set_state("ended");
  search.set_generation(2);
  search.set_decided(1);
  search.set_reason("every phase has ended");
  v1::SearchPhase* select = search.add_phases();
  select->set_name("select");
  select->set_state("ended");
  v1::SearchChoice* choice = select->add_choices();
  choice->set_group("violin, dtd");
  choice->set_values_json(R"({"train.lr":0.0005})");
  choice->set_value(71.25);
  choice->set_margin(0.5);
  choice->set_image_error(3.2);
  choice->set_seeds(5);
  choice->set_agreed(3);
  choice->set_note("the margin is below the image error");
  v1::SearchChoice* nobody = select->add_choices();
  nobody->set_group("none, dtd");
  const std::string text = render_search(search, false);
  EXPECT_THAT(text, AllOf(HasSubstr("vtab  ended  1 decision, generation 2\nevery phase has ended\n"),
                          HasSubstr("\nphase select  ended\n"),
                          HasSubstr("train.lr 0.0005  71.25    0.5000       3.2000       3 of 5"),
                          HasSubstr("nobody was left"), Not(HasSubstr("next:"))));
}

TEST(Listing, OfADecisionIsOneLineWithoutControlCharacters) {
  v1::SearchDecision decision;
  decision.set_number(12);
  decision.set_kind("stop");
  decision.set_phase("select");
  decision.set_text("stops cell 4:\nloss oscillates\x1b[2J");
  decision.set_principal("ada");
  const std::string line = render_decision(decision);
  EXPECT_TRUE(line.starts_with("   12  ")) << line;
  EXPECT_TRUE(line.ends_with("  stop      select: stops cell 4: loss oscillates [2J (ada)\n")) << line;
}

}  // namespace
}  // namespace locus
