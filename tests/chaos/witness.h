// What was seen to pass between workers and server: the record that the database is held against.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/chaos/proxy.h"

namespace locus::chaos {

using Token = std::pair<std::int64_t, std::int64_t>;  // stage, attempt

struct SeenPoint {
  std::string series;  // metric, split and canonical labels
  std::int64_t step = 0;
  std::uint64_t value = 0;  // the double's bits: NaN is data
  auto operator<=>(const SeenPoint&) const = default;
};

struct SeenAttempt {
  std::vector<SeenPoint> points;  // by sequence, from 1
  std::int64_t acked = 0;         // the highest sequence that the server has acknowledged
  std::string session;            // of the daemon that reported last
  bool fresh = false;             // it did so after the last strike
};

// Thread-safe.
class Witness final : public Tap {
 public:
  void request(const void* call, const std::string& method, const grpc::ByteBuffer& message) override;
  void response(const void* call, const std::string& method, const grpc::ByteBuffer& message) override;
  void ended(const void* call, const std::string& method, const grpc::Status& status) override;

  // Waits until, with a checkpoint committed since the last strike, a worker has points or a checkpoint under
  // way that the server has not acknowledged, of a stage that has committed one since it was struck: whoever loses three
  // workers without one waits for a person. Then runs `blow` with its name while no message can pass. False when all
  // `stages` have succeeded or `limit` went by before.
  bool strike(std::size_t stages, std::chrono::seconds limit,
              const std::function<void(const std::string& worker)>& blow);
  // Waits until that many stages have succeeded; false after `limit` in which no stage
  // succeeded, no checkpoint was committed and no point acknowledged: a slow machine is not a stuck one.
  bool wait_succeeded(std::size_t stages, std::chrono::seconds limit);

  std::size_t succeeded() const;
  std::map<Token, SeenAttempt> attempts() const;
  std::vector<std::string> contradictions() const;  // a sequence sent twice with different points

 private:
  struct AtWork {
    std::string session;
    std::int64_t stage = 0;  // 0: nobody is
  };
  void saw_points(const grpc::ByteBuffer& message);
  AtWork at_work() const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Token, SeenAttempt> attempts_;
  std::map<std::string, std::string> workers_;  // names, by session
  std::map<const void*, AtWork> checkpoints_;   // commits under way
  std::set<std::int64_t> struck_;               // stages that have committed no checkpoint since
  std::map<const void*, std::int64_t> ending_;  // completions under way: the stage, if it is to succeed
  std::set<std::int64_t> succeeded_;
  std::vector<std::string> contradictions_;
  std::int64_t committed_ = 0, committed_at_strike_ = 0;  // checkpoints
  std::int64_t advances_ = 0;  // stages that succeeded, checkpoints committed, acknowledgements that moved on
};

}  // namespace locus::chaos
