// The lease book: see lease_book.h.
#include "worker/link/lease_book.h"

#include <algorithm>

namespace locus {

std::vector<StatedAttempt> LeaseBook::heartbeat_sent(Microseconds now) {
  heartbeat_due_ = now + policy_.heartbeat;
  return claims();
}

void LeaseBook::heartbeat_answered(Microseconds sent, const std::vector<std::pair<Key, LeaseWish>>& wishes,
                                   const std::map<Key, std::int64_t>& until) {
  for (const auto& [key, wish] : wishes) {
    auto found = entries_.find(key);
    if (found == entries_.end()) continue;
    Entry& entry = found->second;
    switch (wish) {
      case LeaseWish::kCheckpointAndStop:
        entry.stop = true;
        [[fallthrough]];
      case LeaseWish::kContinue:
        entry.confirmed = std::max(entry.confirmed, sent);
        if (sent >= entry.until_said) {  // an older answer may come later
          const auto stop_point = until.find(key);
          entry.until = stop_point == until.end() ? kToTheEnd : stop_point->second;
          entry.until_said = sent;
        }
        break;
      case LeaseWish::kCancel:
      case LeaseWish::kDrop:
        entry.discard = true;  // a token that is stale once is stale for ever, so an old answer counts too
        break;
    }
  }
}

bool LeaseBook::add(Key key, Microseconds request_sent, Microseconds now, std::int64_t until_step) {
  auto given_up = discarded_.find(key.first);
  if (given_up != discarded_.end() && key.second <= given_up->second) return false;
  // The lease began between sending the request and its answer; only the earlier end is certain.
  auto [place, added] = entries_.try_emplace(key, Entry{StatedAttempt{key.first, key.second, 0, 0, ""}, request_sent});
  if (added) {
    place->second.until = place->second.until_told = until_step;
    place->second.until_said = request_sent;
    heartbeat_due_ = std::min(heartbeat_due_, now);
  }
  return added;
}

void LeaseBook::set_progress(Key key, std::int64_t step, std::int64_t steps, std::string phase) {
  auto found = entries_.find(key);
  if (found == entries_.end()) return;
  found->second.claim.step = step;
  found->second.claim.steps = steps;
  found->second.claim.phase = std::move(phase);
}

void LeaseBook::remove(Key key) {
  if (entries_.erase(key) == 0) return;
  std::int64_t& newest = discarded_[key.first];
  newest = std::max(newest, key.second);
}

std::vector<StatedAttempt> LeaseBook::claims() const {
  std::vector<StatedAttempt> claims;
  for (const auto& [key, entry] : entries_) {
    if (!entry.discard) claims.push_back(entry.claim);
  }
  return claims;
}

bool LeaseBook::may_commit(Key key, Microseconds now) const {
  auto found = entries_.find(key);
  return found != entries_.end() && !found->second.discard && now - found->second.confirmed <= policy_.fence;
}

std::int64_t LeaseBook::until_step(Key key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? kToTheEnd : found->second.until;
}

std::vector<std::pair<LeaseBook::Key, std::int64_t>> LeaseBook::take_stop_points() {
  std::vector<std::pair<Key, std::int64_t>> moved;
  for (auto& [key, entry] : entries_) {
    if (entry.discard || entry.until == entry.until_told) continue;
    entry.until_told = entry.until;
    moved.emplace_back(key, entry.until);
  }
  return moved;
}

std::vector<std::pair<LeaseBook::Key, LeaseOrder>> LeaseBook::take_orders(Microseconds now) {
  std::vector<std::pair<Key, LeaseOrder>> orders;
  for (auto& [key, entry] : entries_) {
    if (entry.discard || now - entry.confirmed > policy_.grace) {
      orders.emplace_back(key, LeaseOrder::kDiscard);
    } else if (entry.stop && !entry.stop_ordered) {
      entry.stop_ordered = true;
      orders.emplace_back(key, LeaseOrder::kCheckpointAndStop);
    }
  }
  for (const auto& [key, order] : orders) {
    if (order == LeaseOrder::kDiscard) remove(key);
  }
  return orders;
}

Microseconds LeaseBook::next_wake() const {
  Microseconds wake = heartbeat_due_;
  for (const auto& [key, entry] : entries_) wake = std::min(wake, entry.confirmed + policy_.grace + 1);
  return wake;
}

}  // namespace locus
