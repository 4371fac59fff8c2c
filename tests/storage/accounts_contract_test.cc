// Contract: accounts, what they have used, and what they have in the store.
#include "tests/storage/store_contract.h"

namespace locus::testing {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kDay = 20'000;

class AccountContract : public StoreContract {
 protected:
  IdentityReads& identity() { return store().identity(); }
};
LOCUS_STORE_CONTRACT(AccountContract);

TEST_P(AccountContract, KeepsSharesAndBoundsByName) {
  const AccountRow bob{.name = "Bob & co.", .weight = 3, .may_be_urgent = true, .devices = 0, .artifact_bytes = 7};
  must({PutAccount{bob}, PutAccount{{.name = "ada"}}});
  const auto rows = get(identity().accounts());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "Bob & co.");
  EXPECT_EQ(rows[0].weight, 3);
  EXPECT_TRUE(rows[0].may_be_urgent);
  EXPECT_EQ(rows[0].devices, 0) << "which is a bound";
  EXPECT_EQ(rows[0].urgent_devices, kUnbounded);
  EXPECT_EQ(rows[0].artifact_bytes, 7);
  EXPECT_EQ(rows[0].created_us, kNow);
  must({PutAccount{{.name = "ada", .weight = 2}}, RemoveAccount{"Bob & co."}});
  EXPECT_EQ(get(identity().accounts()).at(0).weight, 2);
  EXPECT_EQ(get(store().load()).accounts, get(identity().accounts()));
  expect_refused({RemoveAccount{"Bob & co."}}, StatusCode::kNotFound, "ACCOUNT_NOT_FOUND");
}

TEST_P(AccountContract, RefusesWhatIsOutsideItsForm) {
  for (const AccountRow& row : std::vector<AccountRow>{{.name = ""},
                                                       {.name = " x"},
                                                       {.name = "x", .weight = 0},
                                                       {.name = "x", .weight = kWeightMost + 1},
                                                       {.name = "x", .devices = -2},
                                                       {.name = "x", .experiments = kQuotaMost + 1}})
    expect_refused({PutAccount{row}}, StatusCode::kInvalidArgument, "INVALID_ARGUMENT");
}

TEST_P(AccountContract, KeepsWhatWasUsedByDayForThirtyDays) {
  must({ChargeAccount{{.account = "ada", .used = 5, .at_us = 50, .by_day = {{kDay, 3}}}}});
  must({ChargeAccount{{.account = "ada", .used = 7, .at_us = 70, .by_day = {{kDay + 1, 4}}}}});
  must({ChargeAccount{{.account = "", .used = 1, .at_us = 10, .by_day = {{kDay, 1}}}}});
  const UsageRow ada{.account = "ada", .used = 7, .at_us = 70, .by_day = {{kDay, 3}, {kDay + 1, 4}}};
  EXPECT_EQ(get(identity().usage()).at(1), ada);
  EXPECT_EQ(get(store().load()).usage, get(identity().usage()));
  must({ChargeAccount{{.account = "ada", .used = 8, .at_us = 80, .by_day = {{kDay + 30, 2}}}}});
  EXPECT_THAT(get(identity().usage()).at(1).by_day, ElementsAre(std::pair(kDay + 1, 4), std::pair(kDay + 30, 2)));
  must({ChargeAccount{{.account = "ada", .at_us = 90}}});
  EXPECT_THAT(get(identity().usage()).at(1).by_day, IsEmpty()) << "it begins anew";
}

TEST_P(AccountContract, ChangesWhereAnExperimentRunsAndNothingElse) {
  make_world();
  const ExperimentRow before = get(store().experiment(1));
  const std::string settled = R"({"alike":["zone"],"settled":{"zone":"a"}})";
  must({SetExperimentPlacement{1, settled}});
  const ExperimentRow after = get(store().experiment(1));
  EXPECT_EQ(after.placement, settled);
  EXPECT_EQ(after.revision, before.revision);
  EXPECT_EQ(after.spec_json, before.spec_json);
  EXPECT_EQ(after.state, before.state);
  expect_refused({SetExperimentPlacement{99, ""}}, StatusCode::kNotFound, "EXPERIMENT_NOT_FOUND");
}

TEST_P(AccountContract, RemembersToWhomAnAttemptIsCharged) {
  make_world();
  GrantAttempt granted = grant(1, 1);
  granted.service_class = ServiceClass::kUrgent;
  granted.accounts = {"ada", "bob"};
  must({granted});
  const AttemptRow row = get(store().attempts(1)).at(0);
  EXPECT_EQ(row.service_class, ServiceClass::kUrgent);
  EXPECT_THAT(row.accounts, ElementsAre("ada", "bob"));
  EXPECT_EQ(get(store().load()).running.at(0).accounts, row.accounts);
}

TEST_P(AccountContract, RemembersHowUrgentAnExperimentIs) {
  make_world();
  EXPECT_EQ(store().experiment("priors")->service_class, ServiceClass::kNormal);
  SaveExperiment again = small_experiment();
  again.expected_revision = 1;
  again.row.revision = 2;
  again.row.service_class = ServiceClass::kScavenge;
  again.stages.clear();
  must({again});
  EXPECT_EQ(store().experiment("priors")->service_class, ServiceClass::kScavenge);
}

TEST_P(AccountContract, CountsWhatTheExperimentsOfAnOwnerHave) {
  make_world();  // two trials of ada's, nothing done yet
  EXPECT_EQ(get(store().account_use("ada", 0)), (AccountUse{.experiments = 1, .queued_trials = 2}));
  EXPECT_EQ(get(store().account_use("ada", 1)), AccountUse{}) << "but this one";
  EXPECT_EQ(get(store().account_use("bob", 0)), AccountUse{});
  EndAttempt done = end(1, 1, AttemptState::kSucceeded, StageState::kSucceeded);
  done.outputs = {{"checkpoint", kShaB, 10}};
  must({grant(1, 1), CommitCheckpoint{1, 1, 10, kShaA, true}, done,
        SetStageState{
            .stage_id = 2, .from = StageState::kBlocked, .to = StageState::kCancelled, .reason = {}, .inputs = {}}});
  EXPECT_EQ(get(store().account_use("ada", 0)),
            (AccountUse{.experiments = 1, .queued_trials = 1, .artifact_bytes = 30}));
  must({SetExperimentState{1, ExperimentState::kActive, ExperimentState::kCancelled, ""}});
  EXPECT_EQ(get(store().account_use("ada", 0)), (AccountUse{.experiments = 1, .artifact_bytes = 30}));
}

}  // namespace
}  // namespace locus::testing
