// The thread that alerts are noticed and told on: nothing else waits for a command or an address.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "server/app/alerts.h"
#include "server/app/serve.h"

namespace locus::server {

// INVALID_ARGUMENT for an address that cannot be called, naming the option.
absl::Status check_alert_options(const AlertOptions& options);

// Thread-safe. Everything given must outlive it.
class AlertThread {
 public:
  // `view` as in Alerts::Setup. Without a command or an address nothing runs, and what was noted is forgotten.
  AlertThread(Store& store, Clock& clock, AlertOptions options,
              std::function<absl::StatusOr<v1::Experiment>(const std::string& name)> view);
  ~AlertThread() { stop(); }
  void stop();  // a command at work is ended; its alert is told again after the next start

 private:
  absl::Status tell(const Json& alert);
  void run();

  const AlertOptions options_;
  Alerts alerts_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace locus::server
