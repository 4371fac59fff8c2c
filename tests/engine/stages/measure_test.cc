// Stage "measure": results for every combination, wishes, and no need of data or training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "engine/run/run.h"

namespace locus::engine {
namespace {

using ::testing::HasSubstr;

class Observer final : public StageObserver {
 public:
  void started(const Json& environment_in, std::int64_t steps_in, std::int64_t) override {
    environment = environment_in;
    steps = steps_in;
  }
  void point(const SeriesKey&, const Place&, double) override {}
  void progress(std::int64_t step, std::int64_t, std::string_view) override { last = step; }
  void checkpoint(std::int64_t, const std::filesystem::path&, bool) override {}
  void say(const std::string&) override {}
  Wish wish() override { return ++asked > patience ? wanted : Wish::kContinue; }

  Json environment;
  std::int64_t steps = 0, last = 0, asked = 0, patience = 1'000'000;
  Wish wanted = Wish::kContinue;
};

StageRequest request(Json options) {
  StageRequest out;
  out.configuration = {{"kind", "measure"},
                       {"exclusive", true},
                       {"dataset", {{"id", "fashion-mnist"}}},
                       {"task", {{"id", "classification"}}},
                       {"model", {{"id", "vit"}, {"options", {{"dim", 16}, {"depth", 1}, {"heads", 2}, {"patch", 7}}}}},
                       {"priors", {{{"id", "rope-axial"}}}},
                       {"seed", 3}};
  options.update({{"rounds", 2}, {"warmup", 0}, {"round_ms", 0}});
  out.configuration["stage"] = {{"options", options}};
  out.execution.data_root = "/nowhere";  // no image is read
  return out;
}

TEST(MeasureStage, HasEveryResultForEveryCombination) {
  Observer observer;
  const StageReport report = run_stage(request({{"batch", {1, 3}}, {"resolution", {14, 28}}}), observer);
  ASSERT_EQ(report.outcome, "succeeded") << report.reason;
  std::map<std::string, std::set<std::string>> labels;
  for (const StageResult& result : report.results) {
    EXPECT_TRUE(labels[result.key.metric].insert(result.key.labels.dump()).second);
  }
  EXPECT_EQ(labels.size(), 13u);
  for (const auto& [metric, found] : labels) EXPECT_EQ(found.size(), 4u) << metric;
  EXPECT_EQ(observer.steps, 2 * 2 * 2 * 2);
  EXPECT_EQ(observer.last, observer.steps);
  EXPECT_TRUE(report.outputs.empty());
}

TEST(MeasureStage, RecordsWhereAndHow) {
  Observer observer;
  const StageReport report = run_stage(request({{"batch", {1}}, {"training", false}}), observer);
  ASSERT_EQ(report.outcome, "succeeded") << report.reason;
  const Json& environment = report.environment;
  EXPECT_EQ(environment.at("device"), "cpu");
  EXPECT_EQ(environment.at("path"), "flash");
  EXPECT_TRUE(environment.at("hardware").contains("processor"));
  EXPECT_EQ(environment.at("protocol").at("rounds"), 2);
  EXPECT_THAT(environment.at("protocol").at("memory").get<std::string>(), HasSubstr("allocator"));
  EXPECT_EQ(report.results.size(), 10u) << "none of training";
  EXPECT_EQ(report.results.front().key.labels, (Json{{"batch", 1}, {"resolution", 28}}));
}

TEST(MeasureStage, KnowsThatItsProcessIsNotFresh) {
  Observer observer;
  run_stage(request({{"batch", {1}}}), observer);
  const StageReport second = run_stage(request({{"batch", {1}}}), observer);
  EXPECT_EQ(second.environment.at("fresh_process"), false);
}

TEST(MeasureStage, EndsAtAWishWithoutResults) {
  for (const auto& [wish, outcome] :
       {std::pair{Wish::kCancel, "cancelled"}, std::pair{Wish::kCheckpointAndStop, "stopped"}}) {
    Observer observer;
    observer.patience = 5;  // in the middle of the second batch size
    observer.wanted = wish;
    const StageReport report = run_stage(request({{"batch", {1, 2}}}), observer);
    EXPECT_EQ(report.outcome, outcome);
    EXPECT_TRUE(report.results.empty());
    EXPECT_EQ(observer.asked, 6);
  }
}

TEST(MeasureStage, RefusesAResolutionThePatchesDoNotTile) {
  Observer observer;
  const StageReport report = run_stage(request({{"resolution", {30}}}), observer);
  EXPECT_EQ(report.outcome, "failed");
  EXPECT_THAT(report.reason, HasSubstr("patch 7 must divide"));
}

}  // namespace
}  // namespace locus::engine
