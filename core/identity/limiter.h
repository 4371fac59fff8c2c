// How often somebody may do something: token buckets and lock-outs, in monotonic time.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/clock.h"

namespace locus {

inline constexpr std::size_t kLimitedMost = 10'000;  // keys; who was seen longest ago is forgotten first

// Values by key, of the keys used last. Thread-compatible.
template <class Value>
class RecentlyUsed {
 public:
  // The value of the key, made if it is not there.
  Value& at(const std::string& key) {
    const auto found = index_.find(key);
    if (found != index_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return found->second->second;
    }
    if (order_.size() >= kLimitedMost) {
      index_.erase(order_.back().first);
      order_.pop_back();
    }
    order_.emplace_front(key, Value{});
    index_[key] = order_.begin();
    return order_.front().second;
  }
  const Value* find(const std::string& key) const {
    const auto found = index_.find(key);
    return found == index_.end() ? nullptr : &found->second->second;
  }
  void erase(const std::string& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return;
    order_.erase(found->second);
    index_.erase(found);
  }
  std::size_t size() const { return order_.size(); }

 private:
  std::list<std::pair<std::string, Value>> order_;  // newest first
  std::unordered_map<std::string, typename std::list<std::pair<std::string, Value>>::iterator> index_;
};

struct Rate {
  double per_second = 0, burst = 0;
};

// A bucket for each key: it holds `burst` and refills by `per_second`; every call takes one. Thread-compatible.
class TokenBuckets {
 public:
  explicit TokenBuckets(Rate rate) : rate_(rate) {}
  // 0: taken. Else how long until there is one again; nothing was taken.
  Microseconds take(const std::string& key, Microseconds now);
  std::size_t size() const { return buckets_.size(); }

 private:
  struct Bucket {
    bool used = false;
    double left = 0;
    Microseconds at = 0;
  };
  const Rate rate_;
  RecentlyUsed<Bucket> buckets_;
};

// Locks a key for a minute after five failures, and for twice as long at every further one, an hour at most.
// Thread-compatible.
class Lockouts {
 public:
  Microseconds locked_for(const std::string& key, Microseconds now) const;  // 0: it is not
  void fail(const std::string& key, Microseconds now);
  void succeed(const std::string& key) { failures_.erase(key); }

 private:
  struct Failures {
    int count = 0;
    Microseconds until = 0;
  };
  RecentlyUsed<Failures> failures_;
};

}  // namespace locus
