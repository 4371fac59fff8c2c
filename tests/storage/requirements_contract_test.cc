// Contract: what stages ask of workers, and how long they may take.
#include "tests/storage/store_contract.h"

namespace locus::testing {
namespace {

class RequirementContract : public StoreContract {};
LOCUS_STORE_CONTRACT(RequirementContract);

TEST_P(RequirementContract, IsReadBackWithTheStageAndTheLimitWithTheExperiment) {
  const auto asked = std::make_shared<const StageRequirements>(StageRequirements{
      .revisions = {{"dataset/clothes", 1}, {"prior/violin", 2}}, .exclusive = true, .memory_bytes = 12'345'678'901});
  SaveExperiment m = small_experiment();
  m.row.stage_seconds = 60;
  m.stages[0].requirements = m.stages[2].requirements = asked;
  m.stages[3].requirements = std::make_shared<const StageRequirements>(StageRequirements{.revisions = {{"a/b", 1}}});
  must({m});
  EXPECT_EQ(get(store().experiment("priors")).stage_seconds, 60);
  const Snapshot snapshot = get(store().load());
  ASSERT_EQ(snapshot.stages.size(), 4u);
  EXPECT_EQ(snapshot.experiments.at(0).stage_seconds, 60);
  EXPECT_EQ(*snapshot.stages[0].requirements, *asked);
  EXPECT_EQ(snapshot.stages[1].requirements, nullptr);
  EXPECT_EQ(snapshot.stages[2].requirements, snapshot.stages[0].requirements) << "equal ones are shared";
  EXPECT_EQ(*get(store().stage(3)).requirements, *asked);
  EXPECT_EQ(*get(store().trials(1, -1, 10)).at(1).stages.at(0).stage.requirements, *asked);
  const std::vector<std::string> identities = {m.stages[3].identity};
  EXPECT_EQ(get(store().stages_by_identity(identities)).at(identities[0]).requirements->revisions.at("a/b"), 1);
  m.expected_revision = 1, m.row.revision = 2, m.row.stage_seconds = 0, m.request_id = "request-2";
  m.stages.clear();
  must({m});
  EXPECT_EQ(get(store().experiment("priors")).stage_seconds, 0) << "a later submission may lift it";
}

}  // namespace
}  // namespace locus::testing
