// Progress of an experiment, as bars and as lines.
#include "cli/render/progress.h"

#include <gmock/gmock.h>

#include "cli/render/numbers.h"
#include "cli/render/text_table.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::Experiment running() {
  v1::Experiment out;
  out.set_name("demo");
  out.set_state("active");
  out.set_trials(30);
  out.set_trials_done(10);
  out.set_stages_total(60);
  (*out.mutable_stages())["succeeded"] = 20;
  (*out.mutable_stages())["running"] = 2;
  (*out.mutable_stages())["queued"] = 38;
  out.set_elapsed_seconds(125);
  out.set_eta_seconds(250);
  v1::RunningStage* stage = out.add_running();
  stage->set_cell_label("learned-absolute + violin");
  stage->set_seed(3);
  stage->set_role("train");
  stage->set_phase("train");
  stage->set_worker("node-7");
  stage->set_step(250);
  stage->set_steps(1000);
  stage = out.add_running();
  stage->set_cell_label("none");
  stage->set_role("evaluate");
  stage->set_worker("node-7");
  return out;
}

TEST(Progress, DrawsABarForTheWholeAndOneForEachRunningStage) {
  EXPECT_THAT(
      render_progress(running(), {80, 8, false}),
      ElementsAre("demo  active", "██████▊░░░░░░░░░░░░░ 10/30 trials, 20/60 stages  2 min 5 s so far, about 4 min…",
                  "█████░░░░░░░░░░░░░░░  25%  learned-absolute + violin, seed 3, train  @node-7",
                  "░░░░░░░░░░░░░░░░░░░░   0%  none, seed 0, evaluate  @node-7"));
}

TEST(Progress, OfASearchSaysWhatWaitsAndWhatIsParked) {
  v1::Experiment search = running();
  search.set_trials_waiting(7);
  search.set_trials_parked(3);
  (*search.mutable_stages())["parked"] = 40;
  EXPECT_THAT(render_progress_line(search), HasSubstr(" 10/30 trials, 7 waiting, 3 parked, 20/60 stages"));
  EXPECT_THAT(render_progress(search, {80, 8, false})[1], HasSubstr("████████████████████ 10/30"))
      << "what is parked is as far as it goes for now";
}

TEST(Progress, NeverExceedsTheWidth) {
  for (const int width : {40, 60, 80, 132, 200}) {
    for (const std::string& line : render_progress(running(), {width, 8, false})) {
      EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << line;
    }
  }
}

TEST(Progress, CountsWhatIsNotDrawn) {
  v1::Experiment many = running();
  for (int i = 0; i < 20; ++i) *many.add_running() = many.running(0);
  const auto lines = render_progress(many, {80, 3, false});
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines.back(), "and 19 more running");
}

TEST(Progress, ColorsOnlyWhenAsked) {
  EXPECT_THAT(render_progress(running(), {80, 8, true})[0], HasSubstr("\033["));
  for (const std::string& line : render_progress(running(), {80, 8, false}))
    EXPECT_EQ(line.find('\033'), std::string::npos);
}

TEST(Progress, IsOneLineForALog) {
  EXPECT_EQ(render_progress_line(running()),
            "demo active: 10/30 trials, 20/60 stages, 2 running, 2 min 5 s so far, about 4 min 10 s left");
  v1::Experiment failed = running();
  failed.clear_running();
  failed.set_state("failed");
  (*failed.mutable_stages())["failed"] = 3;
  EXPECT_EQ(render_progress_line(failed),
            "demo failed: 10/30 trials, 20/60 stages, 0 running, 3 failed, 2 min 5 s in all");
}

TEST(Progress, KnowsWhenItIsOver) {
  v1::Experiment experiment;
  for (const char* state : {"completed", "failed", "cancelled"}) {
    experiment.set_state(state);
    EXPECT_TRUE(is_over(experiment)) << state;
  }
  for (const char* state : {"active", "paused"}) {
    experiment.set_state(state);
    EXPECT_FALSE(is_over(experiment)) << state;
  }
}

TEST(Numbers, AreShortAndHonest) {
  EXPECT_EQ(show_fixed(82.345, 1), "82.3");
  EXPECT_EQ(show_fixed(std::numeric_limits<double>::quiet_NaN(), 2), "-");
  EXPECT_EQ(show_fixed(-std::numeric_limits<double>::infinity(), 2), "-inf");
  EXPECT_EQ(show_signed(0.5, 2), "+0.50");
  EXPECT_EQ(show_p(0.0625), "0.0625");
  EXPECT_EQ(show_p(0.5), "0.500");
  EXPECT_EQ(show_p(1e-9), "< 0.0001");
  EXPECT_EQ(show_count(1234567), "1,234,567");
  EXPECT_EQ(show_count(-1234), "-1,234");
  EXPECT_EQ(show_duration(59.6), "1 min 0 s");
  EXPECT_EQ(show_duration(3 * 3600 + 125), "3 h 2 min");
  EXPECT_EQ(show_duration(-1), "-");
}

}  // namespace
}  // namespace locus
