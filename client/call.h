// How one call is made: deadline, patience with a server that is away, and a way to end it from another
// thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>

#include "core/limits.h"

namespace grpc {
class ClientContext;
}

namespace locus {

// Ends calls from outside: once cancelled, every call that was given this object returns CANCELLED at once,
// and so do later ones. Must outlive those calls. Thread-safe.
class Cancellation {
 public:
  void cancel();
  bool cancelled() const;
  // Waits; true if cancelled before the time was up.
  bool wait_for(std::chrono::microseconds time);

  // For the client's own use: cancels `context` with this object as long as the guard lives.
  class Guard {
   public:
    Guard(Cancellation* cancellation, grpc::ClientContext* context);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Cancellation* cancellation_;
    grpc::ClientContext* context_;
  };

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool cancelled_ = false;
  std::set<grpc::ClientContext*> running_;
};

// For calls that expand a specification or count what goes with an experiment: 100,000 trials take more than ten
// seconds to store.
inline constexpr std::chrono::seconds kPlanDeadline{120};

struct CallOptions {
  std::chrono::microseconds deadline = kUnaryDeadline;     // of each try
  std::optional<std::chrono::microseconds> patience = {};  // with UNAVAILABLE; the client's own when absent
  Cancellation* cancellation = nullptr;
};

}  // namespace locus
