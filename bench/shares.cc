// What sharing workers costs and gives:
//   grant  how long a grant takes with 10,000 queued stages of one account and of a hundred, the scheduler alone
//   wait   how long the trials of three accounts wait for a slot under a synthetic load of a day, in the order of arrival
//          and with shares: simulated time, the real scheduler over a store in memory
//   fleet  how long each step of the scheduler takes with 1,000 workers of eight slots, some of which fall silent, and
//          100,000 stages, and what it keeps in memory (bench/scheduler_fleet.h)
// One JSON object a line for the first and the last, a table for people for the second.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "bench/pool.h"
#include "bench/scheduler_fleet.h"

namespace locus::bench {
namespace {

// Ends the program where there is nothing to measure.
Pool::Granted expect(std::optional<Pool::Granted> granted) {
  if (granted) return *std::move(granted);
  std::fprintf(stderr, "nothing was granted\n");
  std::exit(1);
}

std::string owner_of(const Grant& grant) { return grant.title.substr(0, grant.title.find('-')); }

void measure_grants(int accounts) {
  constexpr int kQueued = 10'000, kGrants = 1000;
  Pool pool(1, kGrants);
  if (accounts > 1) pool.share({.name = "a0"});
  for (int account = 0; account < accounts; ++account) pool.submit("a" + std::to_string(account), kQueued / accounts);
  std::vector<double> times;
  for (int i = 0; i < kGrants; ++i) {
    const auto start = std::chrono::steady_clock::now();
    expect(pool.take());
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  std::printf(R"({"row": "grant", "accounts": %d, "queued": %d, "p50_ms": %.3f, "p99_ms": %.3f})"
              "\n",
              accounts, kQueued, times[kGrants / 2], times[kGrants * 99 / 100]);
}

struct Submission {
  Microseconds at = 0;
  std::string owner;
  int trials = 0;
};

// ada fills the queue in the morning, bob comes an hour later with a few, eve looks at something small every half hour.
std::vector<Submission> day() {
  std::vector<Submission> out = {{0, "ada", 400}, {kHour, "bob", 24}};
  for (int i = 1; i <= 20; ++i) out.push_back({i * kHour / 2, "eve", 2});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  return out;
}

// Every trial takes twelve minutes on one of eight slots.
std::map<std::string, std::vector<double>> waits(const std::vector<AccountRow>& shares) {
  Pool pool(1, 8);
  const Microseconds begin = pool.now();
  for (const AccountRow& row : shares) pool.share(row);
  std::vector<Submission> todo = day();
  std::map<std::string, std::queue<Microseconds>> submitted;  // an account's own trials are granted in their order
  std::multimap<Microseconds, Pool::Granted> ends;
  std::map<std::string, std::vector<double>> minutes;
  std::size_t next = 0;
  while (next < todo.size() || !ends.empty()) {
    const Microseconds soon = pool.now() + 10 * kSecond;
    Microseconds until = ends.empty() ? soon : std::min(soon, ends.begin()->first);
    if (next < todo.size()) until = std::min(until, begin + todo[next].at);
    pool.pass_to(std::max(until, pool.now()));
    while (!ends.empty() && ends.begin()->first <= pool.now()) {
      pool.finish(ends.begin()->second);
      ends.erase(ends.begin());
    }
    for (; next < todo.size() && begin + todo[next].at <= pool.now(); ++next) {
      pool.submit(todo[next].owner, todo[next].trials);
      for (int i = 0; i < todo[next].trials; ++i) submitted[todo[next].owner].push(pool.now());
    }
    while (const auto grant = pool.take()) {
      auto& since = submitted[owner_of(grant->grant)];
      minutes[owner_of(grant->grant)].push_back(static_cast<double>(pool.now() - since.front()) / kMinute);
      since.pop();
      ends.emplace(pool.now() + 12 * kMinute, *grant);
    }
  }
  return minutes;
}

void print_waits(const char* how, const std::vector<AccountRow>& shares) {
  auto by_owner = waits(shares);
  for (auto& [owner, minutes] : by_owner) {
    std::sort(minutes.begin(), minutes.end());
    double sum = 0;
    for (const double each : minutes) sum += each;
    std::printf("| %s | %s | %zu | %.0f | %.0f | %.0f |\n", how, owner.c_str(), minutes.size(),
                sum / static_cast<double>(minutes.size()), minutes[minutes.size() / 2], minutes.back());
  }
}

}  // namespace
}  // namespace locus::bench

int main(int argc, char** argv) {
  using namespace locus::bench;
  const std::string what = argc > 1 ? argv[1] : "";
  if (!what.empty() && what != "grant" && what != "wait" && what != "fleet") {
    std::fprintf(stderr, "usage: shares_bench [grant|wait|fleet [WORKERS [SLOTS [STAGES]]]]   all of them without\n");
    return 2;
  }
  if (what.empty() || what == "grant") {
    for (const int accounts : {1, 100}) measure_grants(accounts);
  }
  if (what.empty() || what == "wait") {
    std::printf("\n| order | account | trials | mean wait, min | median | longest |\n|---|---|---|---|---|---|\n");
    print_waits("arrival", {});
    print_waits("equal shares", {{.name = "ada"}});
    print_waits("bob's weight 3", {{.name = "bob", .weight = 3}});
  }
  if (what.empty() || what == "fleet") {
    const auto number = [&](int at, int otherwise) { return argc > at ? std::atoi(argv[at]) : otherwise; };
    measure_fleet(number(2, 1000), number(3, 8), number(4, 100'000));
  }
  return 0;
}
