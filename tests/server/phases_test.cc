// Protocols in phases through the wire: what is chosen is used, and a server that starts again on the way changes nothing of it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "tests/server/support/fake_worker.h"
#include "tests/server/support/server_fixture.h"

namespace locus::test {
namespace {

// Select a rate for each of two priors, then report it from more seeds.
Json in_phases() {
  return small_specification(Json::parse(R"({
    "train": {"lr": null}, "baseline": null, "replicates": null, "metric": null,
    "matrix": {"prior": ["none", "learned-absolute"]},
    "phases": [
      {"name": "select", "matrix": {"train.lr": [0.001, 0.003, 0.0005]}, "replicates": {"seed": [0, 1]},
       "metric": {"name": "top1", "reports": "validation"},
       "choose": {"factors": ["train.lr"], "by": "mean", "require": "all"}},
      {"name": "final", "use": {"train.lr": "select"}, "replicates": {"seed": [5, 6, 7]},
       "metric": {"name": "top1", "reports": "validation"}}]})"));
}

double rate_of(const Assigned& work) { return work.config.at("recipe").at("options").at("lr").get<double>(); }

// The rate that is best for a prior; seeds move both alike.
double score(const std::string& prior, double rate, std::int64_t seed) {
  const double best = prior == "none" ? 0.003 : 0.0005;
  return 80 - 1000 * std::abs(rate - best) + 0.25 * static_cast<double>(seed % 2);
}

class PhasesOnTheWire : public ServerTest {
 protected:
  void SetUp() override {
    options_.data = folder_.path();
    start(options_);
  }
  // Runs what is granted until `there`, or until so many stages have run.
  void run_until(const std::function<bool()>& there, int most = 1000) {
    FakeWorker worker(channel_, "one");
    ASSERT_TRUE(worker.register_with().ok());
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!there() && most > 0) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << search().DebugString();
      const auto work = worker.acquire(std::chrono::milliseconds(100));
      if (!work) continue;
      --most;
      EXPECT_TRUE(granted_.insert(work->grant.stage()).second) << "granted twice: stage " << work->grant.stage();
      if (work->grant.kind() == "train") trained_[work->prior].insert({rate_of(*work), work->seed});
      worker.run(*work, [&](const std::string& prior, std::int64_t seed, int) {
        return work->grant.kind() == "train" ? score(prior, rate_of(*work), seed) : 80.0;
      });
    }
  }
  v1::Search search() {
    v1::GetSearchRequest request;
    request.set_experiment("small");
    v1::Search out;
    const grpc::Status status = searches_->GetSearch(deadline().get(), request, &out);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
  std::vector<std::string> log() {
    v1::ListDecisionsRequest request;
    request.set_experiment("small");
    request.set_page_size(1000);
    v1::ListDecisionsResponse answer;
    const grpc::Status status = searches_->ListDecisions(deadline().get(), request, &answer);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::vector<std::string> out;
    for (const v1::SearchDecision& one : answer.decisions())
      out.push_back(std::to_string(one.number()) + " " + one.kind() + " " + one.json());
    return out;
  }
  // By group.
  std::map<std::string, std::string> choices() {
    std::map<std::string, std::string> out;
    const v1::Search found = search();
    for (const v1::SearchChoice& one : found.phases(0).choices()) out[one.group_json()] = one.values_json();
    return out;
  }
  bool selected() { return !choices().empty(); }
  // The search has ended before: with the last value that it reads, which a training reports. The evaluation follows.
  bool completed() { return experiment("small").state() == "completed"; }
  void restart() {
    stop();
    start(options_);
  }

  TemporaryFolder folder_;
  ServerOptions options_;
  std::set<std::int64_t> granted_;
  std::map<std::string, std::set<std::pair<double, std::int64_t>>> trained_;  // by prior: rates and seeds
};

const std::map<std::string, std::string> kBest = {{R"({"prior":[{"learned-absolute":{}}]})", R"({"train.lr":0.0005})"},
                                                  {R"({"prior":[{"none":{}}]})", R"({"train.lr":0.003})"}};

TEST_F(PhasesOnTheWire, UseWhatWasChosen) {
  submit(in_phases());
  run_until([&] { return completed(); });
  EXPECT_EQ(choices(), kBest);
  EXPECT_EQ(search().state(), "ended");
  for (const auto& [prior, runs] : trained_) {
    EXPECT_EQ(runs.size(), 9u) << "three rates with two seeds each, then one with three others";
    for (const auto& [rate, seed] : runs) {
      if (seed < 5) continue;
      EXPECT_EQ(rate, prior == "none" ? 0.003 : 0.0005) << prior;
    }
  }
}

TEST_F(PhasesOnTheWire, GoOnWhereAServerStoppedAndGrantNothingTwice) {
  submit(in_phases());
  run_until([] { return false; }, /*most=*/7);
  restart();  // in the middle of the first phase
  run_until([&] { return selected(); });
  const std::vector<std::string> before = log();
  EXPECT_EQ(choices(), kBest);
  restart();  // between the phases
  EXPECT_EQ(choices(), kBest);
  run_until([] { return false; }, /*most=*/2);
  restart();  // in the middle of the second
  run_until([&] { return completed(); });
  EXPECT_EQ(choices(), kBest);
  const std::vector<std::string> after = log();
  ASSERT_GE(after.size(), before.size());
  EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin())) << "nothing in a log changes";
  EXPECT_EQ(granted_.size(), 2u * (6 + 3) * 2) << "a training and an evaluation each";
}

}  // namespace
}  // namespace locus::test
