// Frames out, wishes in.
#include "worker/trainer/frame_observer.h"

#include <poll.h>

#include <algorithm>
#include <iostream>

#include "core/base/frame.h"
#include "core/base/rendezvous.h"
#include "core/base/trainer_protocol.h"

namespace locus {
using namespace engine;
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kFlushEvery = std::chrono::milliseconds(250);
constexpr auto kProgressEvery = std::chrono::milliseconds(250);
constexpr std::size_t kRowsPerFrame = 2048;

std::int64_t wall_microseconds() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

bool readable(int fd, std::chrono::milliseconds within = {}) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, static_cast<int>(within.count())) > 0 && (entry.revents & (POLLIN | POLLHUP | POLLERR)) != 0;
}

}  // namespace

FrameObserver::FrameObserver(int fd, std::string attempt, std::int64_t until_step)
    : fd_(fd), attempt_(std::move(attempt)), until_step_(until_step), last_flush_(Clock::now()) {}

void FrameObserver::send(Json frame) {
  frame["attempt"] = attempt_;
  write_frame(fd_, frame);
}

void FrameObserver::started(const Json& environment, std::int64_t steps, std::int64_t resumed_step) {
  send({{"type", "started"}, {"environment", environment}, {"steps", steps}, {"resumed_step", resumed_step}});
}

void FrameObserver::point(const SeriesKey& series, const Place& place, double value) {
  const Json key = {{"metric", series.metric}, {"split", series.split}, {"labels", series.labels}};
  const std::string text = key.dump();
  auto found = std::find(series_keys_.begin(), series_keys_.end(), text);
  if (found == series_keys_.end()) {
    series_.push_back(key);
    found = series_keys_.insert(series_keys_.end(), text);
  }
  rows_.push_back({found - series_keys_.begin(), place.step, number_to_json(place.epoch), place.images,
                   wall_microseconds(), number_to_json(value)});
  if (rows_.size() >= kRowsPerFrame || Clock::now() - last_flush_ >= kFlushEvery) flush();
}

void FrameObserver::flush() {
  last_flush_ = Clock::now();
  if (rows_.empty()) return;
  send({{"type", "points"},
        {"series", std::exchange(series_, Json::array())},
        {"rows", std::exchange(rows_, Json::array())}});
  series_keys_.clear();
}

void FrameObserver::progress(std::int64_t step, std::int64_t steps, std::string_view phase) {
  const auto now = Clock::now();
  if (phase == last_phase_ && step < steps && now - last_progress_ < kProgressEvery) return;
  last_progress_ = now;
  last_phase_ = phase;
  send({{"type", "progress"}, {"step", step}, {"steps", steps}, {"phase", phase}});
}

void FrameObserver::checkpoint(std::int64_t step, const std::filesystem::path& path, bool best) {
  flush();  // the daemon must have every point up to the checkpoint's step before it
  send({{"type", "checkpoint"},
        {"step", step},
        {"path", path.string()},
        {"bytes", std::filesystem::file_size(path)},
        {"best", best}});
}

Wish FrameObserver::wish() {
  listen();
  return wish_;
}

std::int64_t FrameObserver::until_step() {
  listen();
  return until_step_;
}

void FrameObserver::listen() {
  while (readable(fd_)) take(read());
}

Json FrameObserver::read() {
  auto frame = read_frame(fd_);
  if (!frame) throw SessionEnded("the daemon is gone");
  if (frame->value("type", "") == "shutdown") throw SessionEnded("the daemon asked for the end");
  return *std::move(frame);
}

void FrameObserver::take(const Json& frame) {
  const std::string type = frame.value("type", "");
  const bool ours = frame.value("attempt", "") == attempt_;
  if (type == "wish" && ours) {
    const std::string wanted = frame.value("wish", "");
    if (wanted == kWishCancel) wish_ = Wish::kCancel;
    if (wanted == kWishCheckpointAndStop && wish_ != Wish::kCancel) wish_ = Wish::kCheckpointAndStop;
  }
  if (type == kFrameUntil && ours) until_step_ = frame.value("step", std::int64_t{0});
  if (type == "start") {
    write_frame(fd_, {{"type", "failed"},
                      {"attempt", frame.value("attempt", "")},
                      {"class", "code"},
                      {"reason", "this trainer is busy with attempt " + attempt_ + "; it runs one at a time"}});
  }
}

// An answer to a question that was given up meanwhile has another number.
Json FrameObserver::ask(Json question, std::chrono::milliseconds time) {
  const auto end = Clock::now() + time;
  question["type"] = kFrameStore;
  question["ask"] = ++asked_;
  send(std::move(question));
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() < 0) throw std::runtime_error("the daemon had no word from the others in time");
    if (!readable(fd_, left)) continue;  // a signal may have come
    Json frame = read();
    if (frame.value("type", "") != kFrameStored) {
      take(frame);
    } else if (frame.value("ask", std::int64_t{0}) == asked_) {
      if (frame.contains("refused")) throw std::runtime_error("refused: " + frame.at("refused").get<std::string>());
      return frame;
    }
  }
}

void FrameObserver::say(const std::string& line) { std::cout << line << std::endl; }

void FrameObserver::report(const StageReport& report) {
  flush();
  if (report.outcome == "failed") {
    send({{"type", "failed"}, {"class", report.failure_class}, {"reason", report.reason}});
    return;
  }
  Json results = Json::array(), outputs = Json::array();
  for (const StageResult& result : report.results) {
    results.push_back({{"metric", result.key.metric},
                       {"split", result.key.split},
                       {"labels", result.key.labels},
                       {"reducer", result.reducer},
                       {"value", number_to_json(result.value)},
                       {"step", result.step}});
  }
  for (const StageOutput& output : report.outputs) {
    outputs.push_back({{"slot", output.slot}, {"path", output.path.string()}, {"step", output.step}});
  }
  Json done = {{"type", "done"},
               {"outcome", report.outcome},
               {"results", results},
               {"outputs", outputs},
               {"environment", report.environment}};
  if (report.outcome == kOutcomeParked) done["step"] = report.parked_step;
  if (report.peak_memory_bytes > 0) done["peak_memory_bytes"] = report.peak_memory_bytes;
  send(std::move(done));
}

}  // namespace locus
