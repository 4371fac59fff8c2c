// Pushes what changed: stored events after a cursor, and coalesced notices of points and progress.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/ports/store.h"
#include "locus/v1/experiment_service.pb.h"
#include "server/runtime/work_pool.h"

namespace boost::asio {
class io_context;
}

namespace locus::server {

class EventFeed;

// One reader's side. A transport derives from it, calls start() once, and sent() after each send() has left.
// At most one send() is out at a time; while it is, changes gather, and a reader that falls far behind is
// moved ahead (`truncated`). Thread-safe. Held by shared_ptr because pool tasks, timers and the transport end
// in any order.
class Watcher : public std::enable_shared_from_this<Watcher> {
 public:
  virtual ~Watcher() = default;
  void start(EventFeed& feed, std::int64_t cursor, const std::string& experiment);
  void sent();
  void close();  // no send() begins after it returns, except one begun already; idempotent

 protected:
  // Both run on a pool thread. `failed` ends the watch.
  virtual void send(v1::WatchEventsResponse response) = 0;
  virtual void failed(absl::Status status) = 0;

 private:
  friend class EventFeed;
  enum class Phase { kNew, kIdle, kReading, kSending, kClosed };
  void wake();
  void read();
  absl::StatusOr<v1::WatchEventsResponse> gather();
  void beat();

  EventFeed* feed_ = nullptr;
  std::string experiment_;
  std::int64_t cursor_ = 0;         // by the reading task only
  std::uint64_t notices_seen_ = 0;  // likewise
  absl::Mutex mutex_;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kNew;
  bool again_ ABSL_GUARDED_BY(mutex_) = false;
  bool life_due_ ABSL_GUARDED_BY(mutex_) = false;
};

// Thread-safe. `store` and `pool` must outlive it. Timers run on `io`.
class EventFeed {
 public:
  EventFeed(Store& store, WorkPool& pool, boost::asio::io_context& io);
  ~EventFeed();

  void changed();                                                       // something was committed; must not block
  void notice(const std::string& experiment, const std::string& kind);  // "points" or "progress"
  void close();  // ends the timers and every watcher with UNAVAILABLE

 private:
  friend class Watcher;
  using NoticeKey = std::pair<std::string, std::string>;  // experiment, kind

  bool add(const std::shared_ptr<Watcher>& watcher);  // false: closed
  std::vector<std::shared_ptr<Watcher>> watchers();
  void remove(Watcher* watcher);
  void wake_all();
  void publish();
  void arm_life();
  std::vector<NoticeKey> notices_after(std::uint64_t* seen, const std::string& experiment);

  Store& store_;
  WorkPool& pool_;
  struct Timers;
  const std::unique_ptr<Timers> timers_;
  absl::Mutex mutex_;
  std::map<Watcher*, std::weak_ptr<Watcher>> watchers_ ABSL_GUARDED_BY(mutex_);
  std::set<NoticeKey> pending_ ABSL_GUARDED_BY(mutex_);
  std::map<NoticeKey, std::uint64_t> published_ ABSL_GUARDED_BY(mutex_);  // when last, as a count
  std::uint64_t publications_ ABSL_GUARDED_BY(mutex_) = 0;
  bool publish_armed_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace locus::server
