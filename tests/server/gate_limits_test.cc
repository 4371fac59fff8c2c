// How often one caller may ask, by a clock of the test's own.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "locus/v1/experiment_service.pb.h"
#include "server/authority/gate.h"
#include "storage/memory/store.h"

namespace locus::server {
namespace {

constexpr Microseconds kOneSecond = 1'000'000;
constexpr char kRead[] = "ExperimentService/ListExperiments", kWrite[] = "ExperimentService/CancelExperiment";

class GateClock final : public Clock {
 public:
  Microseconds wall() const override { return wall_us; }
  Microseconds steady() const override { return steady_us; }
  Microseconds wall_us = 1'800'000'000 * kOneSecond, steady_us = kOneSecond;
};

class GateLimits : public ::testing::Test {
 protected:
  absl::Status ask(const char* rpc, const std::string& name = "ada") {
    const Principal who = {.name = name, .account = name, .role = Role::kAdmin, .via = Via::kToken};
    const v1::ListExperimentsRequest request;
    return gate_.admit(Caller(who, *find_rule(rpc), request), request);
  }
  // How many are answered until one is not.
  int answered(const char* rpc, const std::string& name = "ada") {
    int out = 0;
    while (out < 10'000 && ask(rpc, name).ok()) ++out;
    return out;
  }

  std::unique_ptr<Store> store_ = make_memory_store();
  GateClock clock_;
  Gate gate_{*store_, clock_, /*asks=*/true};
};

TEST_F(GateLimits, ACallerReadsFourHundredTimesAtOnceAndTwoHundredASecond) {
  EXPECT_EQ(answered(kRead), 400);
  const absl::Status refused = ask(kRead);
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_TRUE(has_reason(refused, ErrorReason::kRateLimited));
  EXPECT_EQ(error_detail(refused)->metadata.at("retry_seconds"), "1");
  clock_.steady_us += kOneSecond / 200 + 1;
  EXPECT_EQ(answered(kRead), 1);
  clock_.steady_us += kOneSecond;
  EXPECT_EQ(answered(kRead), 200);
  clock_.steady_us += 60 * kOneSecond;
  EXPECT_EQ(answered(kRead), 400) << "what was not used is no credit";
}

TEST_F(GateLimits, ACallerChangesThingsAHundredTimesAtOnceAndTwentyASecond) {
  EXPECT_EQ(answered(kWrite), 100);
  clock_.steady_us += kOneSecond;
  EXPECT_EQ(answered(kWrite), 20);
}

TEST_F(GateLimits, ReadsAndChangesAndCallersAreCountedApart) {
  EXPECT_EQ(answered(kRead), 400);
  EXPECT_EQ(answered(kWrite), 100);
  EXPECT_EQ(answered(kRead, "eve"), 400);
  EXPECT_EQ(answered(kWrite, "eve"), 100);
}

TEST_F(GateLimits, CountByAClockThatNobodySets) {
  EXPECT_EQ(answered(kRead), 400);
  clock_.wall_us += 1'000 * kOneSecond;
  EXPECT_EQ(answered(kRead), 0);
}

TEST_F(GateLimits, HoldForEveryCallThereIs) {
  for (const RpcRule& rule : kRpcRules) {
    if (!rule.access.roles.permits(Role::kAdmin)) continue;
    const std::string name = "caller-of-" + std::string(rule.rpc);
    EXPECT_EQ(answered(std::string(rule.rpc).c_str(), name), rule.changes() ? 100 : 400) << rule.rpc;
  }
}

TEST_F(GateLimits, AreNoneForTheMessagesOfAStreamNorWhereNobodyIsAsked) {
  EXPECT_EQ(answered(kRead), 400);
  const v1::ListExperimentsRequest request;
  const Principal who = {.name = "ada", .account = "ada", .role = Role::kAdmin, .via = Via::kToken};
  EXPECT_TRUE(gate_.admit_message(Caller(who, *find_rule(kRead), request), request).ok());
  for (int i = 0; i < 1'000; ++i)
    ASSERT_TRUE(gate_.admit(Caller(local_principal(), *find_rule(kWrite), request), request).ok());
}

}  // namespace
}  // namespace locus::server
