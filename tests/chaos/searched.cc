// Submits searches one after another, strikes while their trainings have unacknowledged work under way, and compares.
#include "tests/chaos/searched.h"

#include <poll.h>

#include <chrono>
#include <iostream>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/chaos/cluster.h"
#include "tests/chaos/ledger.h"

namespace locus::chaos {
namespace {

using namespace std::chrono_literals;
using SearchClock = std::chrono::steady_clock;

constexpr auto kStrikeWithin = 5s;   // then it is looked whether the search is over
constexpr auto kQuietAtMost = 360s;  // with nothing to strike at: longer than any stage waits before it tries again
constexpr std::size_t kNoStageCount = std::numeric_limits<std::size_t>::max();  // how many there will be is decided

class Searched {
 public:
  explicit Searched(const SearchedOptions& options) : options_(options), random_(options.seed) {}

  bool run() {
    std::map<Token, SeenAttempt> seen;
    {
      Cluster cluster(options_.bin, options_.work / "disturbed");
      while (kills_ < options_.cycles && findings_.problems.empty()) disturb(cluster, searches_++);
      finish(cluster, disturbed_);
      seen = cluster.witness().attempts();
      for (const std::string& one : cluster.witness().contradictions()) findings_.problems.push_back(one);
    }
    check_acknowledged(disturbed_, seen, findings_);
    if (findings_.problems.empty()) {
      Cluster cluster(options_.bin, options_.work / "undisturbed");
      for (int i = 0; i < searches_; ++i) {
        submit(cluster, i);
        if (!completes(cluster, i)) break;
      }
      finish(cluster, calm_);
    }
    if (findings_.problems.empty()) compare(calm_, disturbed_, findings_);
    return report();
  }

 private:
  static std::string name_of(int search) { return "chaos-search-" + std::to_string(search); }

  void submit(Cluster& cluster, int search) {
    cluster.submit(options_.specification,
                   {"name=" + name_of(search), "phases[0].search.seed=" + std::to_string(search + 1)});
  }

  // Strikes until the search is over.
  void disturb(Cluster& cluster, int search) {
    submit(cluster, search);
    auto until = SearchClock::now() + kQuietAtMost;
    while (cluster.state_of(name_of(search)) != "completed") {
      if (SearchClock::now() > until) {
        findings_.problems.push_back(name_of(search) + " did not complete; the logs are in " + options_.work.string());
        return;
      }
      if (kills_ == options_.cycles) {
        ::poll(nullptr, 0, 500);
        continue;
      }
      if (strike(cluster)) until = SearchClock::now() + kQuietAtMost;
    }
  }

  bool strike(Cluster& cluster) {
    const unsigned whom = random_() % 3;
    std::string worker;
    const bool struck = cluster.witness().strike(kNoStageCount, kStrikeWithin, [&](const std::string& name) {
      worker = name;
      if (whom == 0) cluster.kill_trainer(name);
      if (whom == 1) cluster.kill_worker(name);
      if (whom == 2) cluster.kill_server();
    });
    if (!struck) return false;
    ++kills_;
    std::cout << "chaos: kill " << kills_ << ": "
              << (whom == 0   ? "trainer of " + worker
                  : whom == 1 ? "worker " + worker
                              : "server")
              << "\n";
    if (whom == 1) cluster.restart_worker(worker);
    if (whom == 2) cluster.restart_server();
    return true;
  }

  bool completes(Cluster& cluster, int search) {
    const auto until = SearchClock::now() + kQuietAtMost;
    while (cluster.state_of(name_of(search)) != "completed") {
      if (SearchClock::now() > until) {
        findings_.problems.push_back("the undisturbed " + name_of(search) + " did not complete");
        return false;
      }
      ::poll(nullptr, 0, 500);
    }
    return true;
  }

  void finish(Cluster& cluster, Ledger& ledger) {
    if (!cluster.stop()) findings_.problems.emplace_back("the server did not end on SIGTERM");
    ledger = read_ledger(cluster.database());
  }

  bool report() {
    std::size_t decisions = 0, parked = 0;
    for (const auto& [experiment, all] : calm_.decisions) decisions += all.size();
    for (const auto& [identity, state] : calm_.states) parked += state == "parked" ? 1 : 0;
    const bool vacuous = decisions == 0 || parked == 0 || findings_.curve_points == 0 || findings_.acknowledged == 0;
    if (findings_.problems.empty() && vacuous) findings_.problems.emplace_back("nothing was compared");
    for (const std::string& problem : findings_.problems) std::cout << "chaos: FAILED: " << problem << "\n";
    std::cout << "chaos: " << kills_ << " kills (seed " << options_.seed << ") under " << searches_
              << " searches: " << decisions << " decisions, " << parked << " parked trainings, "
              << findings_.acknowledged << " acknowledged points, " << findings_.curve_points << " curve points alike\n"
              << (findings_.problems.empty() ? "chaos: nothing lost, nothing doubled, the same decisions\n" : "");
    return findings_.problems.empty();
  }

  const SearchedOptions options_;
  std::mt19937 random_;
  Ledger disturbed_, calm_;
  Findings findings_;
  int kills_ = 0, searches_ = 0;
};

}  // namespace

bool disturb_searches(const SearchedOptions& options) { return Searched(options).run(); }

}  // namespace locus::chaos
