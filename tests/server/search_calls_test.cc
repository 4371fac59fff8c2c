// The calls of SearchService: what they refuse, and a search whose settings a client proposes.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

// One prior, two seeds; a client proposes the learning rate.
Json external(const char* changes = "{}") {
  Json out = small_specification(Json::parse(R"({
    "train": {"lr": null, "validate_every": 1}, "baseline": null, "matrix": {"prior": ["none"]},
    "replicates": {"seed": [0, 1]},
    "search": {"propose": "external", "space": {"train.lr": {"log": [1.0e-4, 1.0e-2]}}}})"));
  out.merge_patch(Json::parse(changes));
  return out;
}

class SearchCalls : public ServerTest {
 protected:
  void SetUp() override {
    start();
    worker_ = std::make_unique<FakeWorker>(channel_, "one");
    ASSERT_TRUE(worker_->register_with().ok());
  }
  v1::Search search(const std::string& name = "small", bool expected = true) {
    v1::GetSearchRequest request;
    request.set_experiment(name);
    request.set_all_units(true);
    v1::Search out;
    last_ = searches_->GetSearch(deadline().get(), request, &out);
    EXPECT_EQ(last_.ok(), expected) << last_.error_message();
    return out;
  }
  v1::ProposeResponse propose(const std::string& id, const std::vector<std::string>& values,
                              std::optional<std::int64_t> after = std::nullopt) {
    v1::ProposeRequest request;
    request.set_experiment("small");
    request.set_request_id(id);
    request.set_proposer("test 1.0");
    if (after) request.set_after_decision(*after);
    for (const std::string& one : values) request.add_cells()->set_values_json(one);
    v1::ProposeResponse out;
    last_ = searches_->Propose(deadline().get(), request, &out);
    return out;
  }
  // Runs what there is, and asks until the search has come so far: decisions follow the end of a stage.
  void run_until(const std::function<bool(const v1::Search&)>& there) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!there(search())) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << search().DebugString();
      worker_->run_all([](const std::string&, std::int64_t seed, int) { return 80.0 + static_cast<double>(seed); });
    }
  }
  static bool all_finished(const v1::Search& search) {
    if (search.phases_size() == 0 || search.phases(0).units().empty()) return false;
    const auto& units = search.phases(0).units();
    return std::all_of(units.begin(), units.end(),
                       [](const v1::SearchUnit& unit) { return unit.state() == "finished"; });
  }

  std::unique_ptr<FakeWorker> worker_;
  grpc::Status last_;
};

TEST_F(SearchCalls, SayThatAnExperimentHasNoSearch) {
  submit(small_specification());
  search("small", /*expected=*/false);
  EXPECT_EQ(last_.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(wire_error(last_).reason, "SEARCH_NOT_FOUND");
  search("nobody", /*expected=*/false);
  EXPECT_EQ(wire_error(last_).reason, "EXPERIMENT_NOT_FOUND");
  propose("one", {R"({"train.lr": 0.001})"});
  EXPECT_EQ(wire_error(last_).reason, "SEARCH_NOT_FOUND");
}

TEST_F(SearchCalls, RefuseProposalsAtTheirField) {
  submit(external());
  run_until([](const v1::Search& one) { return one.phases_size() == 1; });
  const std::string good = R"({"train.lr": 0.001})";
  propose("", {good});
  EXPECT_EQ(wire_error(last_).field, "request_id");
  propose("none", {});
  EXPECT_EQ(wire_error(last_).field, "cells");
  propose("text", {good, "0.001"});
  EXPECT_EQ(wire_error(last_).field, "cells[1].values_json");
  propose("beyond", {good, good, R"({"train.lr": 0.5})"});
  EXPECT_EQ(wire_error(last_).field, "cells[2].train.lr");
  propose("unknown", {R"({"train.lr": 0.001, "train.batch": 8})"});
  EXPECT_EQ(wire_error(last_).field, "cells[0].train.batch");
  propose("many", std::vector<std::string>(1001, good));
  EXPECT_EQ(wire_error(last_).field, "cells");
  for (const char* value : {"NaN", "1e999", "\"0.001\"", "null"}) {
    propose(value, {std::string(R"({"train.lr": )") + value + "}"});
    EXPECT_TRUE(wire_error(last_).field.starts_with("cells[0].")) << value << ": " << last_.error_message();
  }
  EXPECT_EQ(search().phases(0).units_size(), 0) << "all or none";
}

TEST_F(SearchCalls, TakeAProposalOnceHoweverOftenItIsAsked) {
  submit(external());
  run_until([](const v1::Search& one) { return one.phases_size() == 1; });
  const v1::ProposeResponse first = propose("one", {R"({"train.lr": 0.001})", R"({"train.lr": 0.002})"});
  ASSERT_TRUE(last_.ok()) << last_.error_message();
  ASSERT_EQ(first.units_size(), 2);
  EXPECT_EQ(first.units(0).trials_size(), 2);
  EXPECT_FALSE(first.units(0).repeated_before());
  const v1::ProposeResponse again = propose("one", {R"({"train.lr": 0.001})", R"({"train.lr": 0.002})"});
  EXPECT_EQ(again.SerializeAsString(), first.SerializeAsString());
  const v1::ProposeResponse other = propose("two", {R"({"train.lr": 0.002})"});
  ASSERT_EQ(other.units_size(), 1);
  EXPECT_EQ(other.units(0).cell(), first.units(1).cell());
  EXPECT_TRUE(other.units(0).repeated_before());
  EXPECT_EQ(search().phases(0).units_size(), 2);
  propose("three", {R"({"train.lr": 0.003})"}, /*after=*/1);
  EXPECT_EQ(wire_error(last_).reason, "WRONG_STATE") << "the log has grown past it";
}

TEST_F(SearchCalls, TellWhatTheSearchFound) {
  submit(external());
  run_until([](const v1::Search& one) { return one.phases_size() == 1; });
  propose("one", {R"({"train.lr": 0.001})", R"({"train.lr": 0.002})"});
  run_until(all_finished);
  v1::ListDecisionsRequest request;
  request.set_experiment("small");
  request.set_page_size(2);
  std::vector<v1::SearchDecision> log;
  v1::ListDecisionsResponse page;
  do {
    request.set_after(log.empty() ? 0 : log.back().number());
    ASSERT_TRUE(searches_->ListDecisions(deadline().get(), request, &page).ok());
    log.insert(log.end(), page.decisions().begin(), page.decisions().end());
  } while (page.more());
  EXPECT_EQ(log.size(), static_cast<std::size_t>(search().decided()));
  std::set<std::string> kinds;
  for (std::size_t i = 0; i < log.size(); ++i) {
    EXPECT_EQ(log[i].number(), static_cast<std::int64_t>(i) + 1);
    EXPECT_FALSE(log[i].text().empty()) << log[i].kind();
    kinds.insert(log[i].kind());
  }
  EXPECT_EQ(kinds.count("begin") + kinds.count("observe") + kinds.count("propose"), 3u);

  v1::GetBestSoFarRequest ask;
  ask.set_experiment("small");
  v1::BestSoFar best;
  ASSERT_TRUE(searches_->GetBestSoFar(deadline().get(), ask, &best).ok());
  EXPECT_EQ(best.split(), "validation");
  ASSERT_EQ(best.curves_size(), 1);
  ASSERT_GT(best.curves(0).value_size(), 0);
  EXPECT_EQ(best.curves(0).value(best.curves(0).value_size() - 1), 80.5) << "the mean of its seeds";

  v1::GetImportanceRequest about;
  about.set_experiment("small");
  v1::Importance importance;
  ASSERT_TRUE(searches_->GetImportance(deadline().get(), about, &importance).ok());
  EXPECT_EQ(importance.units(), 2);
  EXPECT_EQ(importance.factors_size(), 0) << "two units say nothing";
  EXPECT_NE(importance.note().find("needs 8"), std::string::npos) << importance.note();
}

TEST_F(SearchCalls, StopUnitsOnceAndOnlyThoseThatAreThere) {
  submit(external());
  run_until([](const v1::Search& one) { return one.phases_size() == 1; });
  const v1::ProposeResponse made = propose("one", {R"({"train.lr": 0.001})", R"({"train.lr": 0.002})"});
  ASSERT_EQ(made.units_size(), 2);
  v1::StopTrialsRequest request;
  request.set_experiment("small");
  request.set_reason("enough");
  v1::Search out;
  EXPECT_EQ(wire_error(searches_->StopTrials(deadline().get(), request, &out)).field, "trials");
  request.add_trials(made.units(0).trials(0));
  ASSERT_TRUE(searches_->StopTrials(deadline().get(), request, &out).ok());
  const std::int64_t decided = out.decided();
  ASSERT_TRUE(searches_->StopTrials(deadline().get(), request, &out).ok());
  EXPECT_EQ(out.decided(), decided) << "asking again changes nothing";
  request.add_trials(999);
  const grpc::Status unknown = searches_->StopTrials(deadline().get(), request, &out);
  EXPECT_EQ(wire_error(unknown).reason, "TRIAL_NOT_FOUND");
  EXPECT_EQ(wire_error(unknown).field, "trials[1]");
}

}  // namespace
}  // namespace locus::test
