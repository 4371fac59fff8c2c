// The worker daemon: offers device slots, runs attempts in trainer children, reports to the server.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/trust.h"
#include "core/limits.h"

namespace locus {

struct WorkerOptions {
  std::string server;  // HOST:PORT, with `enroll` https://HOST:PORT; empty: where it is enrolled, or 127.0.0.1:7171
  std::string enroll;  // an invitation's token: become that worker first. What comes of it stays in the work folder
  ClientTls tls;       // without: that of the work folder, if it is enrolled there
  std::string name;    // empty: of its certificate, or from the host's name
  std::string device = "cpu";  // "cpu" or "cuda"
  int slots = 0;               // 0: CPU: cores / threads; CUDA: one per GPU
  std::string per_gpu = "1";   // CUDA: slots on each GPU, or "auto": by its memory
  int threads = 1;             // per slot
  // What the stages of each device may take together, of a CPU, too; 0: of a GPU with per_gpu "auto" all it has, else nobody
  // counts.
  std::int64_t memory_bytes = 0;
  std::filesystem::path work;                  // empty: ~/.local/share/locus-worker
  std::filesystem::path trainer;               // empty: locus-trainer next to this executable
  std::vector<std::filesystem::path> plugins;  // that the trainer loads (docs/own.md)
  std::filesystem::path data_root = "/usr/share/datasets";
  bool take_over = false;  // the name, even from a daemon that lives; what that one runs is lost
  // Of its own, for specifications that ask for them; where the server asks who calls, those of its invitation count.
  std::map<std::string, std::string> labels;
  std::string isolate = "auto";  // trainers: "auto", "off" or "required" (docs/security.md)
  // Drain and end when there was nothing to do for so long, or when so much time has passed since the start. Zero: never.
  // A batch system's end of the job counts as well (length_of_life).
  std::chrono::milliseconds exit_when_idle = {}, lifetime = {};
  bool once = false;  // do not wait for a server that is not there at the start
  int checkpoint_seconds = 60;
  std::int64_t outbox_bytes = 64 << 20;  // per attempt; full: training pauses until the server has acknowledged
  std::int64_t cache_bytes = std::int64_t{4} << 30;

  // How patient it is with a trainer: no frame for max(silence, 20 median steps) is a hang (start_silence
  // before its first step); then SIGTERM, and after kill_wait SIGKILL. kill_wait also bounds the last
  // checkpoint of a drain.
  std::chrono::milliseconds silence = std::chrono::seconds(60);
  std::chrono::milliseconds start_silence = std::chrono::minutes(5);
  std::chrono::milliseconds kill_wait = std::chrono::seconds(30);
  std::chrono::milliseconds delivery_wait = std::chrono::seconds(8);  // of a drain, after the trainers have ended
  std::chrono::milliseconds heartbeat = std::chrono::duration_cast<std::chrono::milliseconds>(kHeartbeat);
  std::chrono::milliseconds look_at_data = std::chrono::seconds(20);  // which datasets are there
  // How often machine and trainers are looked at (system/... series); zero: never.
  std::chrono::milliseconds sample_interval = std::chrono::seconds(5);
  int protocol_version = kProtocolVersion;
};

// What a worker is once a server knows it.
struct WorkerReady {
  std::string name, server, device, work;
  int slots = 0;
};

// Runs until SIGTERM or SIGINT, or until it ends by itself, then drains: trainers save a checkpoint and stop, what they made is
// delivered, and it returns (within kill_wait + delivery_wait); a second signal ends the process at once. The
// status says why it cannot work at all. `ready` is called once, from another thread, when a server has
// registered it. Call it from the main thread, before there are others: it takes these signals over for the
// whole process.
absl::Status run_worker(const WorkerOptions& options, std::function<void(const WorkerReady&)> ready = {});

// The same as an exit status, with the reason on standard error.
int worker_main(const WorkerOptions& options);

}  // namespace locus
