// What a plan says of costs through the wire: time from the past, and whether anybody connected could run it.
#include <gmock/gmock.h>

#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Forecast : public ServerTest {
 protected:
  void SetUp() override { start(); }
  v1::Plan plan(const Json& changes = Json::object()) {
    v1::PlanExperimentRequest request;
    request.set_spec_json(small_specification(changes).dump());
    v1::Plan out;
    EXPECT_TRUE(experiments_->PlanExperiment(deadline().get(), request, &out).ok());
    return out;
  }
  // Everything of the small specification, run by a worker that stays.
  void run_small() {
    submit(small_specification());
    ASSERT_TRUE(worker_.emplace(channel_, "w").register_with().ok());
    ASSERT_EQ(worker_->run_all([](const std::string&, std::int64_t, int) { return 80.0; }), 18);
  }
  static std::vector<std::string> warnings(const v1::Plan& plan) {
    return {plan.warnings().begin(), plan.warnings().end()};
  }

  std::optional<FakeWorker> worker_;
};

TEST_F(Forecast, SaysNothingOfTimeWithoutAPast) {
  const v1::Plan planned = plan();
  EXPECT_FALSE(planned.has_compute_seconds());
  EXPECT_FALSE(planned.has_wall_seconds());
  EXPECT_EQ(planned.stages_without_history(), 18);
  EXPECT_EQ(planned.history_size(), 0);
  for (const v1::PlanCell& cell : planned.cell_list()) {
    EXPECT_FALSE(cell.has_compute_seconds());
    EXPECT_EQ(cell.stages_without_history(), 6);
  }
}

TEST_F(Forecast, OfWhatIsDoneIsNothing) {
  run_small();
  const v1::Plan planned = plan();
  EXPECT_EQ(planned.stages_to_run(), 0);
  EXPECT_EQ(planned.stages_without_history(), 0);
  EXPECT_FALSE(planned.has_compute_seconds());
  EXPECT_EQ(planned.wall_seconds(), 0);
}

TEST_F(Forecast, OfMoreSeedsGoesByRunsOfTheSameSetting) {
  run_small();
  const v1::Plan planned = plan({{"replicates", {{"seed", {0, 1, 2, 3}}}}});
  EXPECT_EQ(planned.stages_to_run(), 6);
  EXPECT_EQ(planned.stages_without_history(), 0);
  EXPECT_GT(planned.compute_seconds(), 0);
  ASSERT_TRUE(planned.has_wall_seconds());
  EXPECT_EQ(planned.free_slots(), 1);
  EXPECT_NEAR(planned.wall_seconds(), planned.compute_seconds(), 1e-9) << "one slot runs them one by one";
  ASSERT_EQ(planned.history_size(), 2);
  for (const v1::PlanHistory& history : planned.history()) {
    EXPECT_EQ(history.basis(), "same-setting");
    EXPECT_EQ(history.runs(), 3);
    EXPECT_EQ(history.stages(), 3);
    EXPECT_EQ(history.device(), "cpu");
  }
  double cells = 0, kinds = 0;
  for (const v1::PlanCell& cell : planned.cell_list()) cells += cell.compute_seconds();
  for (const v1::PlanKind& kind : planned.kinds()) kinds += kind.compute_seconds();
  EXPECT_NEAR(cells, planned.compute_seconds(), 1e-9);
  EXPECT_NEAR(kinds, planned.compute_seconds(), 1e-9);
}

TEST_F(Forecast, OfAnotherPriorGoesByOthersOfItsSize) {
  run_small();
  const v1::Plan planned = plan({{"matrix", {{"prior", {"learned-absolute", "alibi-2d"}}}}, {"name", "other"}});
  EXPECT_EQ(planned.stages_to_run(), 6);
  ASSERT_EQ(planned.history_size(), 2);
  EXPECT_EQ(planned.history(1).kind(), "train");
  EXPECT_EQ(planned.history(1).basis(), "same-size");
  EXPECT_EQ(planned.history(1).runs(), 9);
  EXPECT_EQ(plan({{"model", {{"dim", 128}}}, {"name", "large"}}).stages_without_history(), 18);
}

TEST_F(Forecast, TellsNoWallTimeWhileOthersWait) {
  run_small();
  submit(small_specification({{"name", "waiting"}, {"train", {{"lr", 0.5}}}}));
  const v1::Plan planned = plan({{"replicates", {{"seed", {0, 1, 2, 3}}}}});
  EXPECT_TRUE(planned.has_compute_seconds());
  EXPECT_FALSE(planned.has_wall_seconds());
}

TEST_F(Forecast, WarnsWhereNobodyCouldRunIt) {
  EXPECT_THAT(warnings(plan()), Contains(HasSubstr("no worker is connected")));
  FakeWorker worker(channel_, "w");
  ASSERT_TRUE(
      worker
          .register_with([](v1::RegisterWorkerRequest& request) { request.mutable_revisions()->erase("prior/violin"); })
          .ok());
  EXPECT_THAT(warnings(plan()), Contains("no connected worker can run 'violin': w lacks prior/violin at revision 1 (it "
                                         "has none)"));
  ASSERT_TRUE(worker.register_with().ok());
  EXPECT_THAT(warnings(plan()), IsEmpty());
}

}  // namespace
}  // namespace locus::test
