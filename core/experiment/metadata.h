// What is kept beside the work and changes none of it: tags and notes, what machines did, what people were told.
// Plain values; no identity, result or schedule depends on them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/experiment/model.h"

namespace locus {

// Of an experiment or one of its trials.
struct Annotation {
  std::vector<std::string> tags;  // sorted, each once
  std::string note;
  bool empty() const { return tags.empty() && note.empty(); }
  bool operator==(const Annotation&) const = default;
};
inline constexpr std::int64_t kWholeExperiment = -1;  // in the place of a trial's ordinal

// What a machine did at one moment: "system/cpu_percent", "system/memory_bytes" ... by series. Split is empty.
inline constexpr const char* kSystemMetrics = "system/";
struct SystemSample {
  Microseconds time_us = 0;  // the server's clock
  std::int64_t step = 0;     // of the attempt; 0 of a worker
  std::map<SeriesKey, double> values;
};
struct AttemptSample {
  std::int64_t attempt = 0;
  SystemSample sample;
};

// Items that a worker brought to the catalog, as it announced them last (core/catalog/extension.h).
struct ExtensionRow {
  std::string name, by, digest;
  std::string items_json = "[]";
  Microseconds loaded_us = 0;  // when the daemon that announced them loaded them, by its clock
  bool operator==(const ExtensionRow&) const = default;
};

// What was last noticed of an experiment, and whether people were notified.
enum class AlertOutcome { kNone, kPending, kSent, kFailed };  // none: nothing to tell
struct AlertRow {
  ExperimentId experiment = 0;
  std::string state;  // "active", "paused", "completed", "failed", "cancelled" or "stalled"
  AlertOutcome outcome = AlertOutcome::kNone;
  std::string detail;  // for people: what delivering it came to
  Microseconds time_us = 0;
};

}  // namespace locus
