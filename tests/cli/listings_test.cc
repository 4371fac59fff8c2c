// Plans, submissions, experiments, trials, workers and catalog as text.
#include "cli/render/listings.h"

#include "cli/render/plan.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "cli/render/curves.h"
#include "cli/render/numbers.h"
#include "cli/render/text_table.h"
#include "cli/render/yaml_text.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(TextTable, AlignsByCodePointsAndDropsEmptyColumns) {
  EXPECT_EQ(render_text_table({{"a"}, {"never"}, {"n", Align::kRight}}, {{"ü ± x", "", "7"}, {"y", "", "123"}}),
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
            "time: not known, no stage of this size has run here\n"
            "8 stages done already, 12 to run\n"
            "warning: train.lr is fixed and varied\n");
  plan.set_exists(true);
  plan.set_trials_added(1);
  plan.set_trials_removed(2);
  EXPECT_THAT(render_plan(plan),
              HasSubstr("1 trial would be added, 2 removed, 0 changed (submit --replace allows that)\n"));
}

// Two cells of another size each; the second has no history.
v1::Plan costly_plan() {
  v1::Plan plan;
  plan.set_name("demo");
  plan.set_cells(2);
  plan.set_trials(2);
  plan.set_stages_total(3);
  plan.set_stages_to_run(3);
  for (const std::int64_t size : {218'250, 5'717'416}) {
    v1::PlanCell* cell = plan.add_cell_list();
    cell->set_label(size > 1'000'000 ? "large" : "small");
    cell->set_trials(1);
    cell->set_stages_to_run(size > 1'000'000 ? 1 : 2);
    cell->set_parameters(size);
    cell->set_prior_parameters(0);
    cell->set_memory_bytes(std::int64_t{1} << 30);
  }
  plan.mutable_cell_list(0)->set_compute_seconds(90);
  plan.mutable_cell_list(1)->set_stages_without_history(1);
  plan.mutable_parameters()->set_least(218'250);
  plan.mutable_parameters()->set_most(5'717'416);
  plan.mutable_prior_parameters();
  plan.mutable_memory_bytes()->set_least(std::int64_t{1} << 30);
  plan.mutable_memory_bytes()->set_most(std::int64_t{1} << 30);
  plan.set_compute_seconds(90);
  plan.set_stages_without_history(1);
  v1::PlanHistory* history = plan.add_history();
  history->set_kind("train");
  history->set_basis("same-setting");
  history->set_device("cpu");
  history->set_runs(12);
  history->set_stages(2);
  return plan;
}

TEST(Listing, OfAPlanSaysWhatItCostsAndFromWhatTheTimeIsKnown) {
  v1::Plan plan = costly_plan();
  EXPECT_EQ(render_plan(plan),
            "demo: 2 cells, 2 trials, 3 stages\n"
            "\n"
            "cell   trials  stages done  to run  parameters        time\n"
            "small       1            0       2     218,250  1 min 30 s\n"
            "large       1            0       1   5,717,416\n"
            "\n"
            "parameters: 218 k–5.72 M, of these the priors' own 0\n"
            "memory: about 1.0 GiB a training\n"
            "time: about 1 min 30 s of computing\n"
            "  train: 2 stages by up to 12 runs of the same setting on cpu\n"
            "  1 stage without history is not counted\n"
            "0 stages done already, 3 to run\n");
  EXPECT_EQ(render_cost(plan),
            "costs:     218 k–5.72 M parameters, about 1.0 GiB a training, about 1 min 30 s of computing and 1 stage "
            "without history\n");
  plan.set_wall_seconds(50);
  plan.set_free_slots(2);
  plan.mutable_history(0)->set_basis("same-size");
  EXPECT_THAT(render_plan(plan), HasSubstr("of computing, 50 s on the 2 slots that are free now\n"));
  EXPECT_THAT(render_plan(plan), HasSubstr("runs of other settings of this size on cpu\n"));
  plan.mutable_cell_list(1)->add_uncounted_priors("violin");
  plan.clear_prior_parameters();
  EXPECT_THAT(render_plan(plan), HasSubstr("parameters: 218 k–5.72 M, without those of violin\n"));
  EXPECT_EQ(render_cost(v1::Plan()), "");
}

TEST(Numbers, ShortenToThreeDigits) {
  EXPECT_EQ(show_short(0), "0");
  EXPECT_EQ(show_short(999), "999");
  EXPECT_EQ(show_short(1000), "1.00 k");
  EXPECT_EQ(show_short(81'437), "81.4 k");
  EXPECT_EQ(show_short(999'499), "999 k");
  EXPECT_EQ(show_short(999'500), "1.00 M");
  EXPECT_EQ(show_short(86'567'656), "86.6 M");
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
  trials.add_columns()->mutable_key()->set_metric("top1");
  trials.mutable_columns(0)->set_unit("%");
  trial->add_values(81.234);
  trials.add_trials()->add_values(std::nan(""));
  const std::string text = render_experiment(experiment, trials);
  EXPECT_THAT(text, HasSubstr("top1 (%)"));
  EXPECT_THAT(text, HasSubstr("81.23"));
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
  EXPECT_EQ(render_catalog_item(catalog["items"][0], 80),
            "prior violin (revision 2)\n"
            "Decay masks\n"
            "hooks: scale\n"
            "\n"
            "sigma\n"
            "    number, default 0.02\n"
            "    allowed: >= 0, <= 10\n"
            "    spread\n"
            "\n"
            "curves\n"
            "    list of string, required\n"
            "    allowed: snake | hilbert\n");
}

TEST(Listing, OfEveryItemOfTheCatalogFitsATerminal) {
  std::ifstream in(LOCUS_CATALOG);
  const Json catalog = Json::parse(in);
  for (const Json& item : catalog["items"]) {
    std::stringstream text(render_catalog_item(item, 80));
    for (std::string line; std::getline(text, line);) {
      const bool word = line.find(' ', line.find_first_not_of(' ')) == std::string::npos;
      EXPECT_TRUE(display_width(line) <= 80 || word) << item["id"] << ": " << line;
    }
  }
}

TEST(YamlText, IsWhatOneWouldWrite) {
  const Json document = Json::parse(R"({"model": {"id": "vit", "options": {"dim": 64, "init_std": 0.1, "pool": "mean",
    "qkv_bias": true, "a_long_name_that_leaves_no_room": 1.5}}, "priors": [{"id": "violin", "options":
    {"curves": ["snake", "hilbert"]}}], "seed": 0, "notes": ["no", "", "a: b", "line\nbreak", null], "inputs": {}})");
  EXPECT_EQ(yaml_text(document, 2),
            "  inputs: {}\n"
            "  model:\n"
            "    id: vit\n"
            "    options:\n"
            "      a_long_name_that_leaves_no_room: 1.5\n"
            "      dim: 64\n"
            "      init_std: 0.1\n"
            "      pool: mean\n"
            "      qkv_bias: true\n"
            "  notes: [\"no\", \"\", \"a: b\", \"line\\nbreak\", null]\n"
            "  priors: [{id: violin, options: {curves: [snake, hilbert]}}]\n"
            "  seed: 0\n");
  const Json wide = Json::parse(R"([{"id": "violin", "options": {"curves": ["snake", "hilbert", "peano", "zigzag",
    "spiral", "diagonal"], "sigma": 0.25}}, 7])");
  EXPECT_EQ(yaml_text(wide),
            "-\n"
            "  id: violin\n"
            "  options:\n"
            "    curves: [snake, hilbert, peano, zigzag, spiral, diagonal]\n"
            "    sigma: 0.25\n"
            "- 7\n");
}

TEST(CurvesCsv, HasARowForEveryPointWithItsEpoch) {
  v1::Curves curves;
  curves.set_metric("top1");
  v1::CellCurve* cell = curves.add_cells();
  cell->set_cell(1);
  cell->set_label("violin, lr=0.1");
  cell->add_step(10), cell->add_mean(0.5), cell->add_std(std::nan("")), cell->add_n(1), cell->add_epoch(0.25);
  for (int ordinal : {4, 5}) {
    v1::TrialCurve* curve = curves.add_trials();
    curve->set_trial(ordinal);
    curve->set_cell(1);
    curve->set_seed(3);
    curve->add_step(10), curve->add_value(81.25), curve->add_epoch(0.25);
    curve->add_images(320), curve->add_seconds(1.5);
    curve->set_reduced(ordinal == 5);
  }
  EXPECT_EQ(render_mean_curves_csv(curves),
            "cell,label,step,epoch,images,seconds,mean,std,n\n1,\"violin, lr=0.1\",10,0.25,,,0.5,nan,1\n");
  EXPECT_TRUE(thinned(curves));
  EXPECT_EQ(render_curves_csv(curves),
            "trial,cell,label,seed,step,epoch,images,seconds,top1\n"
            "4,1,\"violin, lr=0.1\",3,10,0.25,320,1.5,81.25\n"
            "5,1,\"violin, lr=0.1\",3,10,0.25,320,1.5,81.25\n");
  keep_trial(4, curves);
  EXPECT_EQ(curves.trials_size(), 1);
  EXPECT_FALSE(thinned(curves));
}

TEST(Listing, ShowsTagsAndNotesWhereThereAreAny) {
  v1::ListExperimentsResponse all;
  v1::Experiment* one = all.add_experiments();
  one->set_name("mine");
  one->set_state("active");
  EXPECT_THAT(render_experiments(all), Not(HasSubstr("tags")));
  one->add_tags("baseline");
  one->add_tags("paper");
  EXPECT_THAT(render_experiments(all), HasSubstr("baseline paper"));
  one->set_note("first line\nsecond \x1b[31mred");
  const std::string shown = render_experiment(*one, {});
  EXPECT_THAT(shown, HasSubstr("tags: baseline paper\nfirst line\nsecond "));
  EXPECT_THAT(shown, Not(HasSubstr("\x1b")));
  v1::TrialDetail detail;
  detail.mutable_trial()->set_name("mine/3");
  detail.mutable_trial()->add_tags("outlier");
  EXPECT_THAT(render_trial(detail), HasSubstr("tags: outlier\n"));
}

}  // namespace
}  // namespace locus
