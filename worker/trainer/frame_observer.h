// Turns what a stage tells into frames for the daemon.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "engine/distributed/rendezvous.h"
#include "engine/run/run.h"

namespace locus {

// Thrown when the daemon asked for the end of the process or is gone.
class SessionEnded : public engine::StageAborted {
 public:
  using engine::StageAborted::StageAborted;
};

// Batches points into frames and limits how often progress is told; reads wishes without waiting. Not
// thread-safe.
class FrameObserver : public engine::StageObserver, public engine::Rendezvous {
 public:
  // `attempt` is repeated in every frame; `fd` stays the caller's. `until_step`: the stop point that the attempt begins
  // with.
  FrameObserver(int fd, std::string attempt, std::int64_t until_step);

  void started(const Json& environment, std::int64_t steps, std::int64_t resumed_step) override;
  void point(const engine::SeriesKey& series, const engine::Place& place, double value) override;
  void progress(std::int64_t step, std::int64_t steps, std::string_view phase) override;
  void checkpoint(std::int64_t step, const std::filesystem::path& path, bool best) override;
  // Throws SessionEnded on a shutdown frame or end of file.
  engine::Wish wish() override;
  std::int64_t until_step() override;          // throws likewise
  void say(const std::string& line) override;  // to standard output, which the daemon keeps as the log

  // Throws SessionEnded likewise.
  Json ask(Json question, std::chrono::milliseconds time) override;

  void flush();  // sends the points still held
  void report(const engine::StageReport& report);

 private:
  void send(Json frame);
  void listen();  // takes in what the daemon has sent
  Json read();
  void take(const Json& frame);

  int fd_;
  std::string attempt_;
  Json series_ = Json::array(), rows_ = Json::array();
  std::vector<std::string> series_keys_;
  engine::Wish wish_ = engine::Wish::kContinue;
  std::int64_t until_step_;
  std::chrono::steady_clock::time_point last_flush_, last_progress_;
  std::string last_phase_;
  std::int64_t asked_ = 0;  // questions to the board
};

}  // namespace locus
