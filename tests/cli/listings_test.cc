// Plans, submissions, experiments, trials, workers and catalog as text.
#include "cli/render/listings.h"

#include <gmock/gmock.h>

#include "cli/render/text_table.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(TextTable, AlignsByCodePointsAndDropsEmptyColumns) {
  EXPECT_EQ(
      render_text_table({{"a"}, {"never"}, {"n", Align::kRight}}, {{"ü ± x", "", "7"}, {"y", "", "123"}}),
      "a        n\n"
      "ü ± x    7\n"
      "y      123\n");
}

TEST(Listing, OfAPlanCountsCellsTrialsAndStages) {
  v1::Plan plan;
  plan.set_name("demo");
  plan.set_cells(2);
  plan.set_trials(10);
  plan.set_stages_total(20);
  plan.set_stages_done(8);
  plan.set_stages_to_run(12);
  for (const char* label : {"none", "violin"}) {
    v1::PlanCell* cell = plan.add_cell_list();
    cell->set_label(label);
    cell->set_trials(5);
    cell->set_stages_done(4);
    cell->set_stages_to_run(6);
  }
  v1::PlanKind* kind = plan.add_kinds();
  kind->set_kind("train");
  kind->set_total(10);
  kind->set_done(8);
  kind->set_to_run(2);
  plan.add_warnings("train.lr is fixed and varied");
  EXPECT_EQ(render_plan(plan),
            "demo: 2 cells, 10 trials, 20 stages\n"
            "\n"
            "cell    trials  stages done  to run\n"
            "none         5            4       6\n"
            "violin       5            4       6\n"
            "\n"
            "stage  total  done  to run\n"
            "train     10     8       2\n"
            "\n"
            "8 stages done already, 12 to run\n"
            "warning: train.lr is fixed and varied\n");
  plan.set_exists(true);
  plan.set_trials_added(1);
  plan.set_trials_removed(2);
  EXPECT_THAT(render_plan(plan),
              HasSubstr("1 trial would be added, 2 removed, 0 changed (submit --replace allows that)\n"));
}

TEST(Listing, OfASubmissionSaysWhatIsNew) {
  v1::CreateExperimentResponse response;
  response.mutable_experiment()->set_name("demo");
  response.mutable_experiment()->set_cells(6);
  response.mutable_experiment()->set_trials(36);
  response.set_stages_done(60);
  response.set_stages_to_run(12);
  response.set_trials_added(6);
  EXPECT_EQ(render_submission(response),
            "demo extended by 6 trials: 6 cells, 36 trials; 60 stages done already, 12 to run\n");
  response.set_trials_added(0);
  EXPECT_THAT(render_submission(response), HasSubstr("is here already"));
  response.set_created(true);
  EXPECT_THAT(render_submission(response), HasSubstr("demo submitted: "));
}

TEST(Listing, OfNothingSaysWhatToDo) {
  EXPECT_THAT(render_experiments({}), HasSubstr("locus submit"));
  EXPECT_THAT(render_workers({}), HasSubstr("locus worker"));
}

TEST(Listing, OfExperimentsShowsTheBestOfEach) {
  v1::ListExperimentsResponse list;
  v1::Experiment* one = list.add_experiments();
  one->set_name("demo");
  EXPECT_THAT(render_experiments(list, {}), Not(HasSubstr("\u00b1")));
  one->mutable_best()->set_label("rope-axial");
  one->mutable_best()->set_mean(82.314);
  one->mutable_best()->set_std(0.4049);
  one->mutable_best()->set_n(5);
  one->mutable_best()->set_unit("%");
  EXPECT_THAT(render_experiments(list, {}), HasSubstr("82.31 \u00b1 0.40 % rope-axial"));
  one->mutable_best()->set_n(1);
  EXPECT_THAT(render_experiments(list, {}), HasSubstr("82.31 % rope-axial"));
}

TEST(Listing, OfAnExperimentShowsTrialsWithStateAndReason) {
  v1::Experiment experiment;
  experiment.set_name("demo");
  experiment.set_state("failed");
  v1::ListTrialsResponse trials;
  v1::Trial* trial = trials.add_trials();
  trial->set_ordinal(7);
  trial->set_cell_label("violin");
  trial->set_state("failed");
  trial->set_reason("out of memory\033[31m");
  v1::TrialStage* stage = trial->add_stages();
  stage->set_role("train");
  stage->set_state("running");
  stage->set_step(50);
  stage->set_steps(200);
  const std::string text = render_experiment(experiment, trials);
  EXPECT_THAT(text, HasSubstr("train running 25%"));
  EXPECT_THAT(text, HasSubstr("out of memory"));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
}

TEST(Listing, OfATrialShowsAttemptsAndResults) {
  v1::TrialDetail detail;
  detail.mutable_trial()->set_name("demo/3");
  v1::StageDetail* stage = detail.add_stages();
  stage->set_role("train");
  v1::Attempt* attempt = stage->add_attempts();
  attempt->set_number(2);
  attempt->set_worker("node-7");
  attempt->set_state("lost");
  attempt->set_resume_step(400);
  attempt->mutable_start_time()->set_seconds(1000);
  attempt->mutable_end_time()->set_seconds(1090);
  v1::Result* result = stage->add_results();
  result->mutable_key()->set_metric("top1");
  result->mutable_key()->set_labels("{\"resolution\":28}");
  result->set_value(82.5);
  const std::string text = render_trial(detail);
  EXPECT_THAT(text, HasSubstr("1 min 30 s"));
  EXPECT_THAT(text, HasSubstr("{\"resolution\":28}"));
  EXPECT_THAT(text, HasSubstr("82.5000"));
}

TEST(Listing, OfTheCatalogShowsOptions) {
  const Json catalog = Json::parse(
      R"({"version": 1, "items": [{"kind": "prior", "id": "violin", "revision": 2, "aliases": [], "hooks": ["scale"],
      "summary": "Decay masks", "options": [{"name": "sigma", "type": "number", "default": 0.02, "minimum": 0, "maximum": 10, "help": "spread"},
      {"name": "curves", "type": "list", "element": "string", "choices": ["snake", "hilbert"], "required": true}]}]})");
  EXPECT_EQ(render_catalog(catalog), "prior   hooks  what it is\nviolin  scale  Decay masks\n");
  EXPECT_EQ(render_catalog_item(catalog["items"][0]),
            "prior violin (revision 2)\n"
            "Decay masks\n"
            "hooks: scale\n"
            "\n"
            "option  type            default   allowed          help\n"
            "sigma   number          0.02      >= 0, <= 10      spread\n"
            "curves  list of string  required  snake | hilbert\n");
}

}  // namespace
}  // namespace locus
