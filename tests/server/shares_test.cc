// Accounts through the service: who gives shares, who may be urgent, and what is more than an account may have.
#include <gmock/gmock.h>

#include "tests/server/support/callers.h"

namespace locus::test {
namespace {

using ::testing::HasSubstr;

class SharesOfCallers : public CallersTest {
 protected:
  void SetUp() override { start_asking(); }
  void bound(const Json& bounds) {
    const Json body = {{"name", "account-of-ada"}, {"bounds", bounds}};
    const HttpAnswer answer = post_as("admin", "/api/v1/accounts", body.dump());
    ASSERT_EQ(answer.status, 200) << answer.body;
  }
};

TEST_F(SharesOfCallers, AreGivenByAdminsAndSeenByEverybody) {
  const std::string body = R"({"name":"account-of-ada","weight":"3","may_be_urgent":true,"bounds":{"devices":"4"}})";
  EXPECT_EQ(reason(post_as("operator", "/api/v1/accounts", body)), "NOT_PERMITTED");
  ASSERT_EQ(post_as("admin", "/api/v1/accounts", body).status, 200);
  const Json listed = get_as("viewer", "/api/v1/accounts").json()["accounts"];
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0]["name"], "account-of-ada");
  EXPECT_EQ(listed[0]["weight"], "3");
  EXPECT_EQ(listed[0]["bounds"]["devices"], "4");
  EXPECT_FALSE(listed[0]["bounds"].contains("experiments")) << "no bound";
  EXPECT_EQ(store_->identity().accounts()->at(0).devices, 4);
  EXPECT_EQ(post_as("admin", "/api/v1/accounts:remove", R"({"name":"account-of-ada"})").status, 200);
  EXPECT_EQ(reason(post_as("admin", "/api/v1/accounts:remove", R"({"name":"account-of-ada"})")), "ACCOUNT_NOT_FOUND");
  EXPECT_EQ(reason(post_as("admin", "/api/v1/accounts", R"({"name":"x","bounds":{"devices":"-1"}})")),
            "INVALID_ARGUMENT");
}

TEST_F(SharesOfCallers, LetOperatorsAndAccountsThatMayHaveUrgentWork) {
  const Json urgent = small_specification({{"class", "urgent"}});
  EXPECT_EQ(reason(submit_as("ada", urgent)), "NOT_PERMITTED");
  EXPECT_EQ(submit_as("ada", small_specification({{"class", "scavenge"}})).status, 200);
  EXPECT_EQ(submit_as("operator", small_specification({{"name", "of-operator"}, {"class", "urgent"}})).status, 200);
  EXPECT_EQ(store_->experiment("of-operator")->service_class, ServiceClass::kUrgent);
  ASSERT_EQ(post_as("admin", "/api/v1/accounts", R"({"name":"account-of-ada","may_be_urgent":true})").status, 200);
  EXPECT_EQ(submit_as("ada", urgent).status, 200) << "which changes how urgent it is";
  EXPECT_EQ(store_->experiment("small")->service_class, ServiceClass::kUrgent);
}

TEST_F(SharesOfCallers, RefuseMoreThanTheirBoundsWithWhatIsUsedAndAllowed) {
  bound({{"experiments", "1"}});
  EXPECT_EQ(submit_as("ada", small_specification()).status, 200);
  const HttpAnswer second = submit_as("ada", small_specification({{"name", "second"}}));
  EXPECT_EQ(second.status, 429) << second.body;
  EXPECT_EQ(reason(second), "QUOTA_EXCEEDED");
  EXPECT_THAT(second.body, HasSubstr("account account-of-ada may have 1 experiments and has 1"));
  EXPECT_FALSE(store_->experiment("second").ok());
  EXPECT_EQ(submit_as("ada", small_specification({{"description", "again"}})).status, 200) << "it is no further one";
  EXPECT_EQ(submit_as("eve", small_specification({{"name", "of-eve"}})).status, 200);
}

TEST_F(SharesOfCallers, BoundTheTrialsThatAreToRun) {
  bound({{"queued_trials", "2"}});
  const HttpAnswer many = submit_as("ada", small_specification({{"replicates", {{"seed", {0, 1, 2, 3}}}}}));
  EXPECT_EQ(reason(many), "QUOTA_EXCEEDED") << many.body;
  EXPECT_THAT(many.body, HasSubstr("has 0 besides"));
}

TEST_F(SharesOfCallers, KeepWhatWaitsForABoundOutOfWhatWaitsForADevice) {
  bound({{"devices", "2"}});
  ASSERT_EQ(submit_as("ada", small_specification()).status, 200);
  const Json demand = get_as("viewer", "/api/v1/demand").json();
  EXPECT_EQ(demand["queued"], "2") << "no third machine would be of use";
  EXPECT_EQ(demand["bounded"], "7");
  ASSERT_EQ(submit_as("eve", small_specification({{"name", "of-eve"}, {"replicates", {{"seed", {5}}}}})).status, 200);
  EXPECT_EQ(get_as("viewer", "/api/v1/demand").json()["queued"], "5");
}

TEST_F(SharesOfCallers, BoundTheBytesOfArtifacts) {
  bound({{"artifact_bytes", "0"}});
  EXPECT_EQ(reason(submit_as("ada", small_specification())), "QUOTA_EXCEEDED");
}

}  // namespace
}  // namespace locus::test
