// How many workers a pool is to have.
#include "provisioner/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

v1::Demand demand_of(double seconds, std::int64_t without_estimate = 0) {
  v1::Demand out;
  auto* group = out.add_groups();
  group->set_device_seconds(seconds);
  group->set_without_estimate(without_estimate);
  return out;
}

PoolRules rules_of(const Json& settings, int min = 0, int max = 8) {
  auto rules = read_pool_rules(settings, "exec", "gpu", min, max);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return rules.ok() ? *rules : PoolRules();
}

TEST(Pool, WantsAWorkerForEveryHourThatWaits) {
  const PoolRules rules = rules_of(nullptr);
  EXPECT_EQ(workers_wanted(rules, v1::Demand()), 0);
  EXPECT_EQ(workers_wanted(rules, demand_of(1)), 1);
  EXPECT_EQ(workers_wanted(rules, demand_of(3600)), 1);
  EXPECT_EQ(workers_wanted(rules, demand_of(3601)), 2);
}

TEST(Pool, StaysBetweenItsBounds) {
  const PoolRules rules = rules_of(nullptr, 2, 5);
  EXPECT_EQ(workers_wanted(rules, v1::Demand()), 2);
  EXPECT_EQ(workers_wanted(rules, demand_of(1e12)), 5);
  EXPECT_EQ(workers_wanted(rules, demand_of(1e300, 1)), 5);
}

TEST(Pool, CountsWhatNobodyCanEstimateByItsSetting) {
  EXPECT_EQ(workers_wanted(rules_of(nullptr), demand_of(0, 6)), 1);
  EXPECT_EQ(workers_wanted(rules_of(nullptr), demand_of(0, 7)), 2);
  EXPECT_EQ(workers_wanted(rules_of({{"seconds_without_estimate", 3600}}), demand_of(0, 7)), 7);
  EXPECT_EQ(workers_wanted(rules_of({{"seconds_without_estimate", 0}}), demand_of(0, 7)), 0);
}

TEST(Pool, LeavesOutWhatItsWorkersCouldNotRun) {
  v1::Demand demand = demand_of(3600);
  demand.mutable_groups(0)->set_memory_bytes(40);
  (*demand.mutable_groups(0)->mutable_revisions())["dataset/imagenet"] = 1;
  (*demand.mutable_groups(0)->mutable_revisions())["prior/violin"] = 3;
  EXPECT_EQ(workers_wanted(rules_of({{"memory_bytes", 40}}), demand), 1);
  EXPECT_EQ(workers_wanted(rules_of({{"memory_bytes", 39}}), demand), 0);
  EXPECT_EQ(workers_wanted(rules_of({{"datasets", {"imagenet"}}}), demand), 1);
  EXPECT_EQ(workers_wanted(rules_of({{"datasets", {"fashion-mnist"}}}), demand), 0);
}

// Each of them would be started, find nothing that it could run, end, and be started again.
TEST(Pool, LeavesOutWhatAsksForAnotherPool) {
  v1::Demand demand = demand_of(3600);
  auto& require = *demand.mutable_groups(0)->mutable_require();
  require["pool"] = "cpu";
  EXPECT_EQ(workers_wanted(rules_of(nullptr), demand), 0);
  EXPECT_EQ(workers_wanted(rules_of({{"labels", {{"pool", "cpu"}}}}), demand), 1) << "the pool gpu says otherwise";
  require["pool"] = "g*";
  EXPECT_EQ(workers_wanted(rules_of(nullptr), demand), 1);
}

TEST(Pool, LeavesOutWhatAsksForLabelsThatItsWorkersLack) {
  v1::Demand demand = demand_of(3600);
  (*demand.mutable_groups(0)->mutable_require())["node/gpu-name"] = "NVIDIA H100*";
  EXPECT_EQ(workers_wanted(rules_of(nullptr), demand), 1) << "it does not say which they have";
  EXPECT_EQ(workers_wanted(rules_of({{"labels", {{"node/gpu-name", "NVIDIA H100 80GB"}}}}), demand), 1);
  EXPECT_EQ(workers_wanted(rules_of({{"labels", {{"node/gpu-name", "NVIDIA A100"}}}}), demand), 0);
  EXPECT_EQ(workers_wanted(rules_of({{"labels", {{"zone", "a"}}}}), demand), 0) << "it says all that they have";
}

TEST(Pool, LeavesOutWhatTakesMoreDevicesThanAWorkerHas) {
  v1::Demand demand = demand_of(3600);
  demand.mutable_groups(0)->set_devices(4);
  EXPECT_EQ(workers_wanted(rules_of(nullptr), demand), 1) << "it does not say how many";
  EXPECT_EQ(workers_wanted(rules_of({{"slots", 4}}), demand), 1);
  EXPECT_EQ(workers_wanted(rules_of({{"slots", 3}}), demand), 0);
}

TEST(Pool, WantsAWorkerForEveryHourOfEachOfItsSlots) {
  EXPECT_EQ(workers_wanted(rules_of({{"slots", 4}}), demand_of(4 * 3600)), 1);
  EXPECT_EQ(workers_wanted(rules_of({{"slots", 4}}), demand_of(4 * 3600 + 1)), 2);
  EXPECT_EQ(workers_wanted(rules_of({{"slots", 4}, {"seconds_per_worker", 3600}}), demand_of(4 * 3600)), 4);
}

TEST(Pool, StartsAQuarterOfItsMostAtATime) {
  const PoolRules rules = rules_of(nullptr, 0, 8);
  EXPECT_EQ(workers_to_start(rules, 8, 0), 2);
  EXPECT_EQ(workers_to_start(rules, 8, 7), 1);
  EXPECT_EQ(workers_to_start(rules, 8, 8), 0);
  EXPECT_EQ(workers_to_start(rules, 2, 5), 0) << "it ends nobody";
  EXPECT_EQ(workers_to_start(rules, 99, 7), 1) << "never more than the most";
  EXPECT_EQ(workers_to_start(rules_of(nullptr, 0, 3), 3, 0), 1);
}

TEST(Pool, RefusesSettingsThatAreNone) {
  const auto refusal = [](const Json& settings, int min = 0, int max = 8) {
    const auto rules = read_pool_rules(settings, "exec", "gpu", min, max);
    return rules.ok() ? "" : error_detail(rules.status())->field + ": " + std::string(rules.status().message());
  };
  EXPECT_THAT(refusal({{"second_per_worker", 10}}), HasSubstr("second_per_worker is no setting"));
  EXPECT_THAT(refusal({{"seconds_per_worker", "an hour"}}), HasSubstr("seconds_per_worker: "));
  EXPECT_THAT(refusal({{"seconds_per_worker", 0}}), HasSubstr("seconds_per_worker: "));
  EXPECT_THAT(refusal({{"seconds_per_worker", -1}}), HasSubstr("seconds_per_worker: "));
  EXPECT_THAT(refusal({{"labels", {"zone"}}}), HasSubstr("labels is [\"zone\"]; give names with a text each"));
  EXPECT_THAT(refusal({{"labels", {{"zone", 1}}}}), HasSubstr("give names with a text each"));
  EXPECT_THAT(refusal({{"labels", {{"Zone", "a"}}}}), HasSubstr("labels.Zone: "));
  EXPECT_THAT(refusal({{"slots", 1025}}), HasSubstr("slots: "));
  EXPECT_THAT(refusal({{"datasets", "imagenet"}}), HasSubstr("a list of texts"));
  EXPECT_THAT(refusal({{"datasets", {1}}}), HasSubstr("a list of texts"));
  EXPECT_THAT(refusal(Json::array()), HasSubstr("no list of keys"));
  EXPECT_THAT(refusal(nullptr, 9, 8), HasSubstr("max: "));
  EXPECT_EQ(refusal({{"exec", {{"command", {"x"}}}}}), "") << "its engine reads that";
}

}  // namespace
}  // namespace locus
