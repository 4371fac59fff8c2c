// What sharing workers costs and gives:
//   grant  how long a grant takes with 10,000 queued stages of one account and of a hundred, the scheduler alone
//   wait   how long the trials of three accounts wait for a slot under a synthetic load of a day, in the order of arrival
//          and with shares: simulated time, the real scheduler over a store in memory
// One JSON object a line for the first, a table for people for the second.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "core/base/sha256.h"
#include "core/scheduling/scheduler.h"
#include "storage/memory/store.h"

namespace locus::bench {
namespace {

constexpr Microseconds kSecond = 1'000'000, kMinute = 60 * kSecond, kHour = 60 * kMinute;

// Ends the program with the error on stderr.
void must(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

// One worker whose slots never fail, its scheduler and its store.
class Pool {
 public:
  explicit Pool(int slots) : store_(make_memory_store()), scheduler_(store_->load().value(), now_) {
    WorkerRegistered event;
    event.reply = next_++;
    event.name = "pool";
    event.session = "session";
    for (int slot = 0; slot < slots; ++slot) {
      event.slots.push_back({"cpu", slot, 1});
      free_.push_back(slot);
    }
    step(std::move(event));
  }

  void share(AccountRow row) { step(AccountChanged{next_++, std::move(row)}); }

  void submit(const std::string& owner, int trials) {
    const std::string name = owner + "-" + std::to_string(next_);
    ExperimentSubmitted event;
    event.reply = next_++;
    event.row.name = name;
    event.row.owner = owner;
    event.row.spec_json = "{}";
    event.cells = {{0, "{}", "cell", "{}"}};
    for (int trial = 0; trial < trials; ++trial) {
      event.trials.push_back({trial, 0, trial, false});
      const std::string identity = sha256_hex(name + "/" + std::to_string(trial));
      StageRow& row = event.stages[identity].row;
      row.identity = identity;
      row.kind = "train";
      row.config_json = "{}";
      row.seed = trial;
      event.links.push_back({trial, "train", identity});
    }
    step(std::move(event));
  }

  // Whose stage is granted, if any is; the first free slot is taken.
  std::optional<Grant> take() {
    if (free_.empty()) return std::nullopt;
    const ReplyToken token = next_++;
    step(WorkRequested{token, "session", "request-" + std::to_string(token), free_, 0});
    if (granted_) std::erase(free_, granted_->slots.front());
    return granted_;
  }

  void finish(const Grant& grant) {
    AttemptCompleted event;
    event.reply = next_++;
    event.session = "session";
    event.stage_id = grant.stage_id;
    event.attempt = grant.attempt;
    event.outcome = AttemptState::kSucceeded;
    running_.erase(grant.stage_id);
    step(std::move(event));
    free_.push_back(grant.slots.front());
  }

  void pass_to(Microseconds steady) {
    now_.wall += steady - now_.steady;
    now_.steady = steady;
    LeasesSynced event;
    event.reply = next_++;
    event.session = "session";
    for (const auto& [stage, attempt] : running_) event.running.push_back({stage, attempt, 0, 0, "train"});
    step(std::move(event));
  }

  Microseconds now() const { return now_.steady; }

 private:
  void step(Event event) {
    const Decision decision = scheduler_.step(event, now_);
    must(store_->apply(decision.mutations, now_.wall));
    for (const Command& command : decision.commands) {
      if (const auto* error = std::get_if<ReplyError>(&command)) must(error->status);
      const auto* reply = std::get_if<ReplyGrant>(&command);
      if (reply == nullptr) continue;
      granted_ = reply->grant;
      if (granted_) running_[granted_->stage_id] = granted_->attempt;
    }
  }

  Now now_{.steady = kSecond, .wall = 1'700'000'000 * kSecond};
  std::unique_ptr<Store> store_;
  Scheduler scheduler_;
  ReplyToken next_ = 1;
  std::vector<int> free_;
  std::map<StageId, std::int64_t> running_;
  std::optional<Grant> granted_;
};

std::string owner_of(const Grant& grant) { return grant.title.substr(0, grant.title.find('-')); }

void measure_grants(int accounts) {
  constexpr int kQueued = 10'000, kGrants = 1000;
  Pool pool(kGrants);
  if (accounts > 1) pool.share({.name = "a0"});
  for (int account = 0; account < accounts; ++account) pool.submit("a" + std::to_string(account), kQueued / accounts);
  std::vector<double> times;
  for (int i = 0; i < kGrants; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (!pool.take()) must(absl::InternalError("nothing was granted"));
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
  Pool pool(8);
  const Microseconds begin = pool.now();
  for (const AccountRow& row : shares) pool.share(row);
  std::vector<Submission> todo = day();
  std::map<std::string, std::queue<Microseconds>> submitted;  // an account's own trials are granted in their order
  std::multimap<Microseconds, Grant> ends;
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
      auto& since = submitted[owner_of(*grant)];
      minutes[owner_of(*grant)].push_back(static_cast<double>(pool.now() - since.front()) / kMinute);
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

int main() {
  using namespace locus::bench;
  for (const int accounts : {1, 100}) measure_grants(accounts);
  std::printf("\n| order | account | trials | mean wait, min | median | longest |\n|---|---|---|---|---|---|\n");
  print_waits("arrival", {});
  print_waits("equal shares", {{.name = "ada"}});
  print_waits("bob's weight 3", {{.name = "bob", .weight = 3}});
  return 0;
}
