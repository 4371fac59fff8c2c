// One trainer child: its process, its socket, and the end of what it printed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/frame.h"
#include "core/experiment/model.h"
#include "core/process/spawn.h"

namespace locus {

struct TrainerSetup {
  std::string executable;
  std::vector<std::string> environment;
  std::function<IsolationRules()> isolation = {};  // asked at each start, since folders come and go; empty: none
  std::vector<std::string> leading = {};           // words between the executable and `run`
};

// Why a trainer is gone, in our words.
struct TrainerEnd {
  FailureClass failure_class = FailureClass::kCode;
  std::string reason;
};

// Lives on one thread, which must be the one that started it (the child dies with that thread). Destroyed:
// the child is killed.
class TrainerProcess {
 public:
  static absl::StatusOr<std::unique_ptr<TrainerProcess>> start(const TrainerSetup& setup);
  ~TrainerProcess();

  pid_t pid() const { return pid_; }
  int socket() const { return socket_.get(); }                 // to poll for reading
  int output() const { return output_.get(); }                 // likewise; -1 once closed
  int process() const { return process_.get(); }               // readable when it has exited
  const std::string& isolation() const { return isolation_; }  // Isolation::held()

  void send(const Json& frame);  // throws FrameError
  // Takes in what the socket has, without blocking; false at its end. Throws FrameError.
  bool receive();
  std::optional<Json> next_frame() { return decoder_.next(); }  // throws FrameError
  void read_output();
  std::string take_output();  // what was read since the last time, or the last MiB of it

  void signal(int number);  // to its whole group
  // Waits for the end, at most `limit`, then kills; the child is gone afterwards.
  TrainerEnd wait_end(std::chrono::milliseconds limit);
  std::string last_line() const;  // of what it printed; empty if nothing

 private:
  TrainerProcess(pid_t pid, Fd socket, Fd output, Fd process, std::int64_t oom_kills, std::string isolation)
      : pid_(pid),
        socket_(std::move(socket)),
        output_(std::move(output)),
        process_(std::move(process)),
        oom_kills_(oom_kills),
        isolation_(std::move(isolation)) {}
  TrainerEnd describe(int status) const;

  pid_t pid_;
  Fd socket_, output_, process_;
  std::int64_t oom_kills_;  // of our control group when it started
  std::string isolation_;
  bool killed_by_us_ = false;
  std::optional<TrainerEnd> end_;
  FrameDecoder decoder_;
  std::string printed_;  // its last 64 KiB
  std::string fresh_;    // not yet taken
};

}  // namespace locus
