// The one thread that writes: queued calls share a transaction, and each is answered after the commit.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "storage/sqlite/connection.h"
#include "storage/sqlite/rows.h"

namespace locus::sqlite {

// Thread-safe. Owns the writing connection: all writes and log checkpoints happen on its thread. After a
// failure of the medium (a failed fsync above all: the kernel may have dropped the pages, a second try would
// lie) it acknowledges nothing any more.
class Writer {
 public:
  struct Outcome {
    absl::Status status;
    bool notify = false;                    // it wrote events or points
    std::set<ExperimentId> recounted = {};  // it may have changed their trials, stages or attempts
  };
  using Work = std::function<Outcome(SqliteRows&)>;

  explicit Writer(std::unique_ptr<Connection> connection);
  ~Writer();  // finishes what is queued

  enum class Rows { kFew, kMany };

  // Runs `work`, rolled back unless its status is OK, in a commit with what else waits. One of many rows has a commit of its own:
  // within a savepoint SQLite walks the pages that changed since it began at the end of every statement. Blocks until committed.
  absl::Status run(Work work, Rows rows = Rows::kFew);
  // As Store::on_commit. After it returns the former callback is not running and never called again.
  void on_commit(std::function<void(std::int64_t)> callback);
  // How often it has committed what may have changed the trials, stages or attempts of an experiment. What is read after
  // this was asked is at least as new; whoever's run() has returned, and whoever was told of a commit, finds it raised.
  std::int64_t commits_of(ExperimentId id);

 private:
  struct Call {
    Work work;
    Rows rows;
    Outcome outcome = {};
    bool done = false;
  };
  void serve();
  std::vector<Call*> next_batch();  // of queue_, whose mutex is held
  void commit(const std::vector<Call*>& batch);
  Outcome attempt(const Work& work, bool alone);
  void tell_watchers(const std::vector<Call*>& batch);
  void shrink_log();

  std::unique_ptr<Connection> connection_;
  SqliteRows rows_;
  bool broken_ = false;  // writer's thread only

  std::mutex mutex_;
  std::condition_variable queued_, answered_;
  std::map<ExperimentId, std::int64_t> commits_;  // of those that were changed
  std::vector<Call*> queue_;
  bool stopping_ = false;

  std::mutex callback_mutex_;
  std::function<void(std::int64_t)> callback_;
  std::thread thread_;  // last: everything else exists when it starts
};

}  // namespace locus::sqlite
