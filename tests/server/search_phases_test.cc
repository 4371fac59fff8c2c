// Phases through the wire: choices stay as they were made until somebody asks for others, and a client may propose within a phase.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <set>

#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

// Select a rate for one prior, then train with it from two fresh seeds.
Json phased(const char* select = "{}") {
  Json out = small_specification(Json::parse(R"({
    "train": {"lr": null, "validate_every": 1}, "baseline": null, "matrix": {"prior": ["none"]}, "replicates": null,
    "phases": [
      {"name": "select", "matrix": {"train.lr": [0.001, 0.003]}, "replicates": {"seed": [0]},
       "metric": {"reports": "validation"}, "choose": {"factors": ["train.lr"]}},
      {"name": "final", "use": {"train.lr": "select"}, "replicates": {"seed": [10, 11]}}]})"));
  out["phases"][0].merge_patch(Json::parse(select));
  return out;
}

constexpr char kMoreSeeds[] = R"({"replicates": {"seed": [0, 1]}})";
constexpr char kByAClient[] = R"({"matrix": null, "search": {
  "propose": "external", "proposals": 2, "space": {"train.lr": {"log": [1.0e-4, 1.0e-2]}}}})";

class SearchPhases : public ServerTest {
 protected:
  void SetUp() override {
    start();
    worker_ = std::make_unique<FakeWorker>(channel_, "one");
    ASSERT_TRUE(worker_->register_with().ok());
  }
  v1::Search search() {
    v1::GetSearchRequest request;
    request.set_experiment("small");
    request.set_all_units(true);
    v1::Search out;
    const grpc::Status status = searches_->GetSearch(deadline().get(), request, &out);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
  // The first seed favors the small rate by little, the second the large one by more. Notes the rates of the final seeds.
  void run_what_there_is() {
    while (const auto work = worker_->acquire()) {
      const double rate =
          work->config.value("recipe", Json::object()).value("options", Json::object()).value("lr", 0.0);
      if (work->seed >= 10 && work->grant.kind() == "train") final_rates_.insert(rate);
      ++runs_;
      worker_->run(*work,
                   [&](const std::string&, std::int64_t seed, int) { return 80 + (seed == 1 ? 3000 : -1000) * rate; });
    }
  }
  void run_until(const std::function<bool(const v1::Search&)>& there) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!there(search())) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << search().DebugString();
      run_what_there_is();
    }
    run_what_there_is();
  }
  void run_to_the_end(std::int64_t generation = 1) {
    run_until([&](const v1::Search& one) { return one.state() == "ended" && one.generation() == generation; });
  }
  std::string chosen() {
    const v1::Search now = search();
    return now.phases(0).choices_size() == 1 ? now.phases(0).choices(0).values_json() : "";
  }
  v1::Plan plan(const Json& specification) {
    v1::PlanExperimentRequest request;
    request.set_spec_json(specification.dump());
    v1::Plan out;
    const grpc::Status status = experiments_->PlanExperiment(deadline().get(), request, &out);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
  grpc::Status choose_again(const Json& specification) {
    v1::CreateExperimentRequest request;
    request.set_spec_json(specification.dump());
    request.set_choose_again(true);
    v1::CreateExperimentResponse out;
    return experiments_->CreateExperiment(deadline().get(), request, &out);
  }
  grpc::Status propose(const std::string& id, const std::string& values) {
    v1::ProposeRequest request;
    request.set_experiment("small");
    request.set_request_id(id);
    request.add_cells()->set_values_json(values);
    v1::ProposeResponse out;
    return searches_->Propose(deadline().get(), request, &out);
  }
  static bool warns(const v1::Plan& plan, const std::string& words) {
    return std::any_of(plan.warnings().begin(), plan.warnings().end(),
                       [&](const std::string& one) { return one.find(words) != std::string::npos; });
  }

  std::unique_ptr<FakeWorker> worker_;
  std::set<double> final_rates_;
  int runs_ = 0;
};

TEST_F(SearchPhases, KeepAChoiceWhenSeedsAreAddedAndPlanSaysWhatItWouldBe) {
  submit(phased());
  run_to_the_end();
  EXPECT_EQ(chosen(), R"({"train.lr":0.001})");
  EXPECT_FALSE(warns(plan(phased()), "would choose"));
  EXPECT_TRUE(warns(plan(phased(kMoreSeeds)), "what the phase 'select' has chosen stays"));

  submit(phased(kMoreSeeds));
  run_to_the_end();
  EXPECT_EQ(chosen(), R"({"train.lr":0.001})") << "frozen";
  EXPECT_EQ(final_rates_, (std::set<double>{0.001}));
  EXPECT_TRUE(
      warns(plan(phased(kMoreSeeds)), "the phase 'select' would choose train.lr 0.003 instead of train.lr 0.001"));
}

TEST_F(SearchPhases, ChooseAgainWhereSomebodyAsksAndTrainNothingTwice) {
  submit(phased());
  run_to_the_end();
  ASSERT_TRUE(choose_again(phased()).ok());
  EXPECT_EQ(search().generation(), 1) << "it would choose the same";
  submit(phased(kMoreSeeds));
  run_to_the_end();

  const int before = runs_;
  ASSERT_TRUE(choose_again(phased(kMoreSeeds)).ok());
  run_to_the_end(/*generation=*/2);
  EXPECT_EQ(chosen(), R"({"train.lr":0.003})");
  EXPECT_EQ(final_rates_, (std::set<double>{0.001, 0.003}));
  EXPECT_EQ(runs_ - before, 4) << "trainings and evaluations of two final seeds";
  v1::GetTableRequest request;
  request.set_experiment("small");
  v1::Table table;
  ASSERT_TRUE(experiments_->GetTable(deadline().get(), request, &table).ok());
  ASSERT_EQ(table.rows_size(), 1);
  EXPECT_EQ(table.rows(0).n(), 2);
  EXPECT_NEAR(table.rows(0).mean(), 77, 1e-6) << "of the rate that was chosen last";
  EXPECT_FALSE(warns(plan(phased(kMoreSeeds)), "would choose"));
}

TEST_F(SearchPhases, TakeProposalsOfAClientAndChooseAmongThem) {
  submit(phased(kByAClient));
  run_until([](const v1::Search& one) { return one.phases_size() == 2 && one.phases(0).state() == "running"; });
  EXPECT_EQ(runs_, 0);
  ASSERT_TRUE(propose("one", R"({"train.lr": 0.004})").ok());
  ASSERT_TRUE(propose("two", R"({"train.lr": 0.002})").ok());
  const grpc::Status third = propose("three", R"({"train.lr": 0.003})");
  EXPECT_EQ(wire_error(third).reason, "SEARCH_EXHAUSTED");
  run_to_the_end();
  EXPECT_EQ(chosen(), R"({"train.lr":0.002})");
  EXPECT_EQ(final_rates_, (std::set<double>{0.002}));
  const grpc::Status late = propose("four", R"({"train.lr": 0.001})");
  EXPECT_EQ(wire_error(late).reason, "WRONG_STATE") << "the phase under way draws none";
  EXPECT_EQ(plan(phased(kByAClient)).trials_added(), 0);
  submit(phased(kByAClient));
  EXPECT_EQ(search().generation(), 1) << "submitting again changes nothing";
}

TEST_F(SearchPhases, RefuseAClientThatCouldProposeForEverBeforeAChoice) {
  v1::PlanExperimentRequest request;
  request.set_spec_json(phased(R"({"matrix": null, "search": {
      "propose": "external", "space": {"train.lr": {"log": [1.0e-4, 1.0e-2]}}}})")
                            .dump());
  v1::Plan out;
  const grpc::Status status = experiments_->PlanExperiment(deadline().get(), request, &out);
  EXPECT_EQ(wire_error(status).field, "phases[0].search.proposals");
}

TEST_F(SearchPhases, CountStepsBeforeAClientHasProposedAnything) {
  submit(small_specification(Json::parse(R"({
    "train": {"lr": null, "validate_every": 1}, "baseline": null, "matrix": {"prior": ["none"]},
    "search": {"propose": "external", "space": {"train.lr": {"log": [1.0e-4, 1.0e-2]}},
               "advance": {"rule": "halve", "rungs": [1, 2], "keep": "1/2"}}})")));
  v1::ListDecisionsRequest request;
  request.set_experiment("small");
  v1::ListDecisionsResponse page;
  ASSERT_TRUE(searches_->ListDecisions(deadline().get(), request, &page).ok());
  ASSERT_EQ(page.decisions_size(), 1);
  const Json setup = Json::parse(page.decisions(0).json()).at("setup");
  EXPECT_EQ(setup.at("steps_per_epoch"), 500) << "16,000 images in batches of 32: else rungs were judged at the end";
  EXPECT_EQ(setup.at("last_step"), 1000);
}

TEST_F(SearchPhases, AreCountedDecisionByDecision) {
  submit(phased());
  run_to_the_end();
  const HttpAnswer metrics = http().get("/metrics");
  EXPECT_NE(metrics.body.find("locus_search_decisions_total{kind=\"choose\"} 1"), std::string::npos) << metrics.body;
  EXPECT_NE(metrics.body.find("locus_search_decisions_total{kind=\"begin\"} 2"), std::string::npos);
  EXPECT_NE(metrics.body.find("locus_search_decisions_total{kind=\"stop\"} 0"), std::string::npos);
}

}  // namespace
}  // namespace locus::test
