// Explanations, comparisons, artifacts, deletions and checks as text.
#include "cli/render/reports.h"

#include <gmock/gmock.h>

#include <cmath>

namespace locus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Report, OfAnExplanationSaysWhatToDo) {
  v1::Explanation explanation;
  explanation.set_subject("demo/3");
  explanation.set_state("queued");
  explanation.set_sentence("waiting: both slots of the only matching worker are busy");
  v1::StageExplanation* stage = explanation.add_stages();
  stage->set_role("train");
  stage->set_state("queued");
  stage->set_sentence("waiting for a slot\033[31m");
  stage->set_remedy("start another worker");
  EXPECT_EQ(render_explanation(explanation),
            "demo/3  queued\n"
            "waiting: both slots of the only matching worker are busy\n"
            "\n"
            "train  queued\n"
            "  waiting for a slot [31m\n"
            "  what to do: start another worker\n");
  EXPECT_THAT(render_explanation(explanation, {true}), HasSubstr("\033[2mqueued\033[0m"));
}

v1::Comparison two_trials() {
  v1::Comparison out;
  for (const char* name : {"demo/0", "demo/5"}) {
    v1::ComparedItem* item = out.add_items();
    item->set_name(name);
    item->set_label(std::string(name) == "demo/0" ? "none" : "violin (sigma=0.1)");
    item->set_title(std::string(name) == "demo/0" ? "none" : "violin");
  }
  v1::ComparedSetting* lr = out.add_differing();
  lr->set_path("train.lr");
  lr->add_values_json("0.001");
  lr->add_values_json("");
  lr->add_values("0.001");
  lr->add_values("");
  v1::ComparedSetting* dim = out.add_common();
  dim->set_path("model.dim");
  dim->add_values_json("64");
  dim->add_values_json("64");
  dim->add_values("64");
  dim->add_values("64");
  v1::ComparedResult* result = out.add_results();
  result->mutable_key()->set_metric("top1");
  result->mutable_key()->set_split("test");
  result->add_mean(82.5);
  result->add_mean(NAN);
  result->add_std(0.25);
  result->add_std(NAN);
  return out;
}

TEST(Report, OfAComparisonHidesWhatIsEqual) {
  EXPECT_EQ(render_comparison(two_trials(), false),
            "none: demo/0 (none)\n"
            "violin: demo/5 (violin (sigma=0.1))\n"
            "\n"
            "setting   none   violin\n"
            "train.lr  0.001  -\n"
            "1 equal setting left out; --all shows them\n"
            "\n"
            "result             none  violin\n"
            "top1 test  82.50 ± 0.25       -\n");
  EXPECT_THAT(render_comparison(two_trials(), true), HasSubstr("equal everywhere\n  model.dim: 64\n"));
}

TEST(Report, OfAComparisonFoldsAPriorToOneLine) {
  v1::Comparison comparison = two_trials();
  v1::ComparedSetting* prior = comparison.add_differing();
  prior->set_path("prior");
  for (const char* text : {"none", "violin (sigma=0.1)"}) prior->add_values(text);
  v1::ComparedPart* sigma = prior->add_parts();
  sigma->set_path("prior.violin.sigma");
  for (const char* json : {"", "0.1"}) sigma->add_values_json(json);
  EXPECT_THAT(render_comparison(comparison, false), HasSubstr("prior     none   violin (sigma=0.1)\n1 equal"));
  EXPECT_THAT(render_comparison(comparison, true), HasSubstr("  prior.violin.sigma  -      0.1\n"));
}

TEST(Report, OfAComparisonPrintsCountsAsCounts) {
  v1::Comparison comparison = two_trials();
  v1::ComparedResult* parameters = comparison.add_results();
  parameters->mutable_key()->set_metric("parameters");
  for (const double mean : {154954.0, 155210.0}) parameters->add_mean(mean);
  for (const double std : {0.0, 0.0}) parameters->add_std(std);
  EXPECT_THAT(render_comparison(comparison, false), HasSubstr("parameters       154,954  155,210\n"));
}

TEST(Report, OfAComparisonPairsBySeedWithTheLowestPossibleP) {
  v1::Comparison comparison = two_trials();
  comparison.set_metric("top1");
  comparison.set_split("test");
  comparison.set_unit("%");
  comparison.mutable_items(0)->add_values()->set_value(82.5);
  v1::PairedDifference* pair = comparison.add_paired();
  pair->set_item(1);
  pair->set_n(5);
  pair->set_mean(0.5);
  pair->set_std(0.1);
  pair->set_low(0.4);
  pair->set_high(0.6);
  pair->set_p_sign_flip(0.0625);
  pair->set_p_floor(0.0625);
  EXPECT_THAT(render_comparison(comparison, false),
              HasSubstr("top1 on test, difference from none by seed\n"
                        "item    pairs   difference        95% CI       p  lowest p\n"
                        "violin      5  0.50 ± 0.10  [0.40, 0.60]  0.0625    0.0625\n"));
}

TEST(Report, OfArtifactsSaysWhatIsKept) {
  v1::ListArtifactsResponse response;
  EXPECT_THAT(render_artifacts(response), HasSubstr("nothing has been made"));
  v1::Artifact* one = response.add_artifacts();
  one->set_trial("demo/3");
  one->set_role("train");
  one->set_kind("checkpoint");
  one->set_step(1500);
  one->set_bytes(1'572'864);
  one->set_sha256("abc");
  one->set_best(true);
  one->set_pinned(true);
  EXPECT_EQ(render_artifacts(response),
            "trial   stage  what         step     size  sha256  notes\n"
            "demo/3  train  checkpoint  1,500  1.5 MiB  abc     best, pinned, let go\n");
}

TEST(Report, OfADeletionSaysWhatStays) {
  v1::DeleteExperimentResponse response;
  response.set_name("demo");
  response.set_trials(1);
  response.set_stages(2);
  response.set_attempts(3);
  response.set_points(4000);
  response.set_artifacts(1);
  response.set_bytes(1024);
  response.set_stages_kept(1);
  response.add_kept_for("other");
  response.set_stages_unfinished(1);
  EXPECT_EQ(render_deletion(response),
            "demo would go with 1 trial, 2 stages, 3 attempts, 4,000 points and 1 artifact (1.0 KiB)\n"
            "1 stage would stay, needed by other\n"
            "1 stage waiting or running: --force cancels them first\n");
  response.set_deleted(true);
  EXPECT_THAT(render_deletion(response), HasSubstr("demo is deleted: 1 trial"));
  EXPECT_THAT(render_deletion(response), Not(HasSubstr("--force")));
}

TEST(Report, OfACheckNamesEveryProblem) {
  v1::CheckReport report;
  report.set_ok(true);
  report.set_database_bytes(2048);
  EXPECT_EQ(render_check(report), "nothing found wrong: schema 0, database 2.0 KiB, 0 artifacts of 0 B\n");
  report.set_ok(false);
  v1::CheckProblem* problem = report.add_problems();
  problem->set_subject("artifacts/abc");
  problem->set_sentence("is not there");
  EXPECT_THAT(render_check(report), HasSubstr("artifacts/abc: is not there\n1 problem: "));
}

TEST(Report, OfARerunSaysWhenThereIsNothingToDo) {
  v1::RerunExperimentResponse response;
  response.mutable_experiment()->set_name("demo");
  EXPECT_THAT(render_rerun(response), HasSubstr("nothing to run again"));
  response.set_stages(2);
  response.add_trials("demo/1");
  EXPECT_EQ(render_rerun(response), "demo: 2 stages of 1 trial queued again\n");
}

TEST(Report, SizesAreReadable) {
  EXPECT_EQ(show_bytes(0), "0 B");
  EXPECT_EQ(show_bytes(1023), "1023 B");
  EXPECT_EQ(show_bytes(1536), "1.5 KiB");
  EXPECT_EQ(show_bytes(std::int64_t{5} << 40), "5.0 TiB");
}

}  // namespace
}  // namespace locus
