// Tells somebody when an experiment ends or stands still.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/ports/store.h"
#include "locus/v1/experiment_service.pb.h"

namespace locus::server {

// Notices changes by the store's events and keeps, beside each experiment, its state as last noticed and whether
// people were told: so a restart neither forgets an alert nor gives one twice. Only a crash between telling and
// noting does. What ended before anybody was to be told is noted in silence. Thread-compatible.
class Alerts {
 public:
  struct Setup {
    // An experiment as it is now (ExperimentService.GetExperiment).
    std::function<absl::StatusOr<v1::Experiment>(const std::string& name)> view;
    // Blocks until somebody was told, or it failed.
    std::function<absl::Status(const Json& alert)> tell;
    Microseconds stalled_after = 0;  // 0: never
  };
  Alerts(Store& store, Clock& clock, Setup setup) : store_(store), clock_(clock), setup_(std::move(setup)) {}

  // Looks at what has changed, and tells what is to be told: each alert up to kTries times, kTryAgain apart. Blocks.
  absl::Status look();

  static constexpr int kTries = 3;
  static constexpr Microseconds kTryAgain = 10'000'000;

 private:
  // What an active experiment was seen to do, to find those that stand still.
  struct Movement {
    std::string seen;
    Microseconds since = 0;  // steady
    bool moved = false;      // since the server started
  };
  struct Pending {
    int tries = 0;
    Microseconds not_before = 0;  // steady
  };

  absl::Status begin();
  absl::Status judge(const ExperimentRow& row);
  absl::Status judge_changed();
  std::string state_of(const ExperimentRow& row, const v1::Experiment& experiment);
  absl::Status note(const AlertRow& row);
  absl::Status tell_pending();

  Store& store_;
  Clock& clock_;
  const Setup setup_;
  bool begun_ = false;
  std::int64_t cursor_ = 0;
  Microseconds since_ = 0;  // wall: when alerts were first asked for
  std::map<ExperimentId, AlertRow> known_;
  std::map<ExperimentId, Movement> movements_;
  std::map<ExperimentId, Pending> pending_;
};

// What is told: kind, experiment, a sentence and the counts.
Json alert_document(const AlertRow& row, const v1::Experiment& experiment);

}  // namespace locus::server
