// Books of slots and of who stops for whom: see exchange_watch.h.
#include "tests/simulation/exchange_watch.h"

#include <algorithm>

#include "core/base/json.h"
#include "core/experiment/labels.h"
#include "tests/simulation/world.h"

namespace locus::simulation {
namespace {

constexpr std::int64_t kOneDevice = 1000;
constexpr char kStopping[] = "attempt-stopping", kByShares[] = "pre-empted by stage ",
               kOverdue[] = "it was to be over before stage ";

int devices_of(const ExperimentRow& row) {
  const PlacementPtr rules = stored_placement(row.placement);
  return rules ? rules->devices : 1;
}

}  // namespace

void ExchangeWatch::enter(const GrantAttempt& grant, const std::string& kind, const WorkerRow& worker, Store& store) {
  const std::string text = "stage " + std::to_string(grant.stage_id) + " was granted ";
  const auto offered = static_cast<int>(Json::parse(worker.slots_json).size());
  // A worker offers a slot whose grant it never heard of; one that takes several has none of those.
  std::set<int> taken;
  for (const auto& [stage, running] : running_) {
    if (running.worker == grant.worker_id && grant.slots.size() > 1)
      taken.insert(running.slots.begin(), running.slots.end());
  }
  for (const int slot : grant.slots) {
    if (slot < 0 || slot >= offered || !taken.insert(slot).second)
      throw Violation(30,
                      text + "slot " + std::to_string(slot) + " of " + worker.name + ", which is taken or not there");
  }
  const std::vector<SlotPlace> places = places_of(worker);
  for (std::size_t i = 1; i < grant.slots.size(); ++i) {
    const SlotPlace& first = places[static_cast<std::size_t>(grant.slots[i - 1])];
    const SlotPlace& second = places[static_cast<std::size_t>(grant.slots[i])];
    if (first.cpu != second.cpu || (!first.cpu && first == second))
      throw Violation(30, text + "several slots of one device, or of devices of several kinds");
  }
  const std::vector<StageReference> references = store.references(grant.stage_id).value();
  std::set<int> wanted;
  for (const StageReference& reference : references) {
    const auto row = store.experiment(reference.experiment);
    if (row.ok()) wanted.insert(kind == "train" ? devices_of(*row) : 1);
  }
  if (!wanted.contains(static_cast<int>(grant.slots.size())))
    throw Violation(30, text + std::to_string(grant.slots.size()) + " slots, which nobody asks for");
  if (grant.slots.size() > 1) ++seen_["grants of several devices"];
  if (saved_.erase(grant.stage_id) > 0) {
    const auto newest = newest_.find(grant.stage_id);
    const std::int64_t step = newest == newest_.end() ? 0 : newest->second.second;
    if (grant.resume_step != step)
      throw Violation(31, text + "from step " + std::to_string(grant.resume_step) +
                              " after it was stopped; saved was " + std::to_string(step));
    ++seen_["attempts after one that was stopped for others"];
  }
  running_[grant.stage_id] = {grant.worker_id, grant.slots, kind};
}

void ExchangeWatch::enter(const EndAttempt& end) {
  running_.erase(end.stage_id);
  asked_.erase(end.stage_id);
  saved_.erase(end.stage_id);
  if (!end.reason.starts_with(kByShares) && !end.reason.starts_with(kOverdue)) return;
  if (end.counts_as_failure || end.counts_as_fault || end.retry_delay_us > 0 ||
      end.failure_class != FailureClass::kPreempted)
    throw Violation(31, "stage " + std::to_string(end.stage_id) + " paid for having been stopped for others");
  saved_.insert(end.stage_id);
  ++seen_[end.outcome == AttemptState::kStopped ? "attempts stopped for others" : "attempts ended for others"];
}

void ExchangeWatch::enter(const CommitCheckpoint& checkpoint) {
  auto& newest = newest_[checkpoint.stage_id];
  newest = std::max(newest, std::pair(checkpoint.attempt, checkpoint.step));
}

void ExchangeWatch::enter(const AppendEvent& event, const ShareWatch& shares, Store& store, Microseconds now) {
  if (event.kind != kStopping) return;
  const StageId victim = std::stoll(event.subject.substr(event.subject.find('/') + 1));
  const Json said = Json::parse(event.json);
  const auto stage = said.at("for_stage").get<StageId>();
  if (!running_.contains(victim))
    throw Violation(32, "stage " + std::to_string(victim) + " was asked to stop and does not run");
  if (said.at("reason").get<std::string>().starts_with(kByShares)) {
    check_exchange(victim, stage, shares, store);
    ++seen_["attempts asked to stop for others"];
  }
  asked_[victim] = {stage, now};
  waiting_.insert(stage);
}

// What an account gives up by those that were asked already.
std::int64_t ExchangeWatch::leaving(const std::string& account, const ShareWatch& shares) const {
  std::int64_t sum = 0;
  for (const auto& [victim, asked] : asked_) {
    const ShareWatch::Held* held = shares.held(victim);
    if (held != nullptr) sum += held->part * std::ranges::count(held->accounts, account);
  }
  return sum;
}

// What it will hold by those, at most.
std::int64_t ExchangeWatch::coming(const std::string& account, Store& store) const {
  std::set<StageId> stages;
  for (const auto& [victim, asked] : asked_) stages.insert(asked.stage);
  const Snapshot stored = store.load().value();
  const std::int64_t heaviest = heaviest_of(stored);
  std::int64_t sum = 0;
  for (const StageId stage : stages) {
    const auto wants = wanted_by(stage, stored, true);
    const bool its = std::ranges::any_of(wants, [&](const auto& want) { return want.second == account; });
    sum += its ? heaviest : 0;
  }
  return sum;
}

void ExchangeWatch::check_exchange(StageId victim, StageId stage, const ShareWatch& shares, Store& store) const {
  const std::string text = "stage " + std::to_string(victim) + " was asked to stop for stage " + std::to_string(stage);
  const std::vector<AccountRow> accounts = store.identity().accounts().value();
  const ShareWatch::Held* held = shares.held(victim);
  if (accounts.empty() || held == nullptr) throw Violation(32, text + ", and nobody has a share");
  if (running_.at(victim).kind == "measure") throw Violation(32, text + ", and it runs alone");
  bool before = false;
  const auto wanting = wanted_by(stage, store.load().value(), true);
  for (const auto& [service_class, owner] : wanting) {
    if (std::ranges::count(held->accounts, owner) > 0) throw Violation(32, text + " of the same account, " + owner);
    const bool outranks = service_class < held->service_class &&
                          (service_class == ServiceClass::kUrgent || held->service_class == ServiceClass::kScavenge);
    const std::int64_t ours = shares.holding(owner) - leaving(owner, shares) + kOneDevice;
    const auto below = [&, name = owner](const std::string& other) {
      const std::int64_t theirs = shares.holding(other) - leaving(other, shares) + coming(other, store) - held->part;
      return ours * account_of(accounts, other).weight <= theirs * account_of(accounts, name).weight;
    };
    const bool reclaims = service_class <= held->service_class && std::ranges::all_of(held->accounts, below);
    before = before || outranks || reclaims;
  }
  if (!before) throw Violation(32, text + ", which does not come before it");
}

void ExchangeWatch::check_ended(Microseconds now, Microseconds most) const {
  for (const auto& [victim, asked] : asked_) {
    if (now - asked.since >= most)
      throw Violation(33, "stage " + std::to_string(victim) + " was asked to stop " +
                              std::to_string((now - asked.since) / kSecond) + " s ago and still runs");
  }
}

void ExchangeWatch::check_reason(StageId stage, const std::string& reason) const {
  const std::string mark = "; waits for stage ";
  std::set<StageId> said, meant;
  for (std::size_t at = reason.find(mark); at != std::string::npos; at = reason.find(mark, at + 1))
    said.insert(std::stoll(reason.substr(at + mark.size())));
  for (const auto& [victim, asked] : asked_) {
    if (asked.stage == stage) meant.insert(victim);
  }
  if (said != meant)
    throw Violation(34, "of stage " + std::to_string(stage) + " it is said that it " + reason +
                            "; asked to stop for it " + std::to_string(meant.size()));
}

std::int64_t ExchangeWatch::seen(const std::string& what) const {
  const auto found = seen_.find(what);
  return found == seen_.end() ? 0 : found->second;
}

}  // namespace locus::simulation
