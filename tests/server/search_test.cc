// Searches through the wire: planned with their rungs and work, and run where nothing is decided on the way.
#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

// Three priors and three seeds under four proposals of a learning rate; `changes` is a JSON merge patch.
Json searched(const char* changes = "{}") {
  Json out = small_specification(Json::parse(R"({
    "train": {"lr": null, "validate_every": 1},
    "search": {"seed": 7, "propose": "sobol", "proposals": 4, "space": {"train.lr": {"log": [1.0e-4, 1.0e-2]}}}})"));
  out.merge_patch(Json::parse(changes));
  return out;
}

bool warns(const v1::Table& table, const std::string& words) {
  return std::any_of(table.warnings().begin(), table.warnings().end(),
                     [&](const std::string& one) { return one.find(words) != std::string::npos; });
}

class SearchSubmission : public ServerTest {
 protected:
  void SetUp() override { start(); }
  v1::Plan plan(const Json& specification) {
    v1::PlanExperimentRequest request;
    request.set_spec_json(specification.dump());
    v1::Plan out;
    const grpc::Status status = experiments_->PlanExperiment(deadline().get(), request, &out);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
  // Every proposal a row, not the chosen one of each group.
  v1::Table proposals(const std::string& name) {
    v1::GetTableRequest request;
    request.set_experiment(name);
    request.set_proposals(true);
    v1::Table out;
    const grpc::Status status = experiments_->GetTable(deadline().get(), request, &out);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
  int run_everything() {
    if (!worker_) {
      worker_ = std::make_unique<FakeWorker>(channel_, "one");
      EXPECT_TRUE(worker_->register_with().ok());
    }
    return worker_->run_all(
        [](const std::string&, std::int64_t seed, int) { return 80.0 + static_cast<double>(seed); });
  }

 private:
  std::unique_ptr<FakeWorker> worker_;
};

TEST_F(SearchSubmission, TrainsEveryPriorWithTheSameProposals) {
  const v1::Plan planned = plan(searched());
  EXPECT_EQ(planned.cells(), 12);
  EXPECT_EQ(planned.stages_to_run(), 72);
  EXPECT_EQ(planned.search().propose(), "sobol");
  EXPECT_EQ(planned.search().groups(), 3);
  EXPECT_EQ(planned.search().proposals(), 4);
  EXPECT_TRUE(planned.search().shared());
  EXPECT_FALSE(planned.search().decides());
  EXPECT_EQ(planned.search().least_trainings(), 36);
  EXPECT_EQ(planned.search().most_trainings(), 36);
  EXPECT_EQ(planned.search().parked(), 0);

  EXPECT_EQ(submit(searched()).stages_to_run(), 72);
  EXPECT_EQ(run_everything(), 72);
  EXPECT_EQ(experiment("small").state(), "completed");
  const v1::Table compared = proposals("small");
  EXPECT_TRUE(warns(compared, "best of 4 proposals, the same 4 for all"));
  std::map<std::string, int> rates;
  ASSERT_EQ(compared.rows_size(), 12);
  for (const v1::TableRow& row : compared.rows()) {
    ++rates[Json::parse(row.assignment_json()).at("train.lr").dump()];
    EXPECT_EQ(row.n(), 3) << row.label();
    EXPECT_TRUE(row.baseline() || row.pairs() == 3) << row.label() << " is paired with the baseline's same proposal";
  }
  ASSERT_EQ(rates.size(), 4u);
  for (const auto& [rate, rows] : rates) EXPECT_EQ(rows, 3) << rate;
}

TEST_F(SearchSubmission, AddsProposalsAndRunsOnlyThose) {
  submit(searched(R"({"search": {"proposals": 2}})"));
  EXPECT_EQ(run_everything(), 36);
  const v1::Plan planned = plan(searched());
  EXPECT_EQ(planned.trials_added(), 18);
  EXPECT_EQ(planned.trials_removed(), 0);
  EXPECT_EQ(planned.trials_changed(), 0);
  EXPECT_EQ(planned.stages_done(), 36);
  EXPECT_EQ(submit(searched()).trials_added(), 18);
  EXPECT_EQ(run_everything(), 36);
  const auto again = submit(searched());
  EXPECT_FALSE(again.created());
  EXPECT_EQ(again.trials_added(), 0);
  EXPECT_EQ(experiment("small").state(), "completed");
}

TEST_F(SearchSubmission, RunsEveryProposerThatNeedsNoClient) {
  const char* kept[] = {
      R"({"name": "grid", "search": {"seed": null, "propose": "grid", "proposals": null,
          "space": {"train.lr": {"log": null, "choice": [0.001, 0.002, 0.003]}}}})",
      R"({"name": "random", "search": {"propose": "random", "proposals": 3}})",
      R"({"name": "apart", "baseline": null, "search": {"shared": false, "proposals": 2}})",
  };
  for (const char* changes : kept) {
    const Json specification = searched(changes);
    const std::string name = specification["name"].get<std::string>();
    const v1::Plan planned = plan(specification);
    EXPECT_EQ(planned.cells(), 3 * planned.search().proposals()) << name;
    EXPECT_GT(planned.search().proposals(), 1) << name;
    submit(specification);
    EXPECT_EQ(run_everything(), planned.stages_to_run()) << name;
    EXPECT_EQ(experiment(name).state(), "completed") << name;
    const bool apart = name == "apart";
    const v1::Table compared = proposals(name);
    EXPECT_EQ(warns(compared, "drawn for each"), apart) << name;
    EXPECT_EQ(warns(compared, "for all, and by itself reads high"), !apart) << name;
    std::set<std::string> settings;
    for (const v1::TableRow& row : compared.rows()) settings.insert(row.assignment_json());
    EXPECT_EQ(static_cast<int>(settings.size()), planned.cells()) << name;
  }
}

TEST_F(SearchSubmission, SaysNothingOfTheBestWhereNothingWasSearched) {
  submit(small_specification());
  EXPECT_EQ(run_everything(), 18);
  EXPECT_FALSE(warns(table("small"), "best of"));
}

TEST_F(SearchSubmission, CountsARepeatedProposalOnceAndRunsItOnce) {
  const v1::Plan planned = plan(searched(R"({"search": {"propose": "random", "proposals": 8,
      "space": {"train.lr": {"log": null, "choice": [0.001, 0.003]}}}})"));
  EXPECT_EQ(planned.search().proposals(), 8);
  EXPECT_EQ(planned.search().repeats(), 3 * 8 - planned.cells());
  EXPECT_EQ(planned.search().units(), planned.cells());
  EXPECT_EQ(planned.search().most_trainings(), planned.trials());
}

TEST_F(SearchSubmission, PlansWhatDecidesAndStoresAllOfIt) {
  const Json halving = searched(R"({"search": {"advance": {"rule": "halve", "rungs": [1, 2]}}})");
  const v1::PlanSearch search = plan(halving).search();
  EXPECT_TRUE(search.decides());
  EXPECT_EQ(search.advance(), "halve");
  EXPECT_EQ(search.resource(), "epochs");
  ASSERT_EQ(search.brackets_size(), 1);
  ASSERT_EQ(search.brackets(0).rungs_size(), 2);
  EXPECT_EQ(search.brackets(0).rungs(0).most(), 12);
  EXPECT_EQ(search.brackets(0).rungs(1).least(), 3) << "one of four for each prior";
  EXPECT_EQ(search.brackets(0).rungs(1).most(), 3);
  EXPECT_EQ(search.least_epochs(), 3 * (12 + 3));
  EXPECT_EQ(search.most_epochs(), 3 * (12 + 3));
  EXPECT_EQ(search.parked(), 36);

  const auto created = submit(halving);
  EXPECT_TRUE(created.created());
  EXPECT_EQ(created.trials_added(), 36);
  EXPECT_EQ(experiment("small").search(), "running") << "its log begins with it";
  EXPECT_EQ(experiment("small").state(), "active");
  EXPECT_EQ(submit(halving).trials_added(), 0) << "a second submission adds nothing";
  EXPECT_EQ(experiment("small").revision(), 1);
}

TEST_F(SearchSubmission, HasNoWorkToNameBeforeAClientHasProposed) {
  const v1::Plan planned = plan(searched(R"({"search": {"seed": null, "propose": "external", "proposals": null}})"));
  EXPECT_EQ(planned.cells(), 0);
  EXPECT_EQ(planned.search().propose(), "external");
  EXPECT_EQ(planned.search().units(), 0);
  EXPECT_EQ(planned.search().brackets_size(), 0);
  EXPECT_EQ(planned.search().proposals(), 0) << "any number";
}

}  // namespace
}  // namespace locus::test
