// Accounts: whose work shares the machines, with how large a share, within which bounds.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "core/base/clock.h"

namespace locus {

inline constexpr std::int64_t kUnbounded = -1;
inline constexpr std::int64_t kWeightMost = 1000;
inline constexpr std::int64_t kQuotaMost = 1'000'000'000'000'000;  // of any bound
inline constexpr std::int64_t kQuotaDays = 30;                     // that device_hours are counted over

// What an administrator gave an account. One without a row has a weight of 1 and no bounds.
struct AccountRow {
  std::string name = {};       // as ExperimentRow::owner
  std::int64_t weight = 1;     // its share beside those of others, 1 to kWeightMost
  bool may_be_urgent = false;  // its submitters may have urgent experiments
  // Bounds; kUnbounded: none. Devices are counted by weight: a slot of a CPU is 1, of any other device 10.
  std::int64_t devices = kUnbounded;         // held at a time
  std::int64_t urgent_devices = kUnbounded;  // held at a time by urgent work
  std::int64_t device_hours = kUnbounded;    // used within kQuotaDays
  std::int64_t queued_trials = kUnbounded;   // with stages that are to run
  std::int64_t experiments = kUnbounded;     // stored
  std::int64_t artifact_bytes = kUnbounded;  // that checkpoints and outputs of its experiments name
  Microseconds created_us = 0;

  bool operator==(const AccountRow&) const = default;
};

// What an account has used, in device-microseconds.
struct UsageRow {
  std::string account = {};
  std::int64_t used = 0;   // what is left of it by decay (core/scheduling/usage.h), as of at_us
  Microseconds at_us = 0;  // wall clock
  std::map<std::int64_t, std::int64_t> by_day = {};  // undecayed, by days since 1970 UTC, of the last kQuotaDays

  bool operator==(const UsageRow&) const = default;
};

// What an account has in the store beside what it holds.
struct AccountUse {
  std::int64_t experiments = 0;
  std::int64_t queued_trials = 0;  // unretired trials of live experiments with a stage that is to run or runs
  std::int64_t artifact_bytes = 0;

  bool operator==(const AccountUse&) const = default;
};

// INVALID_ARGUMENT with the field, for a name, weight or bound outside its form.
absl::Status check_account(const AccountRow& row);

// UTC.
constexpr std::int64_t day_of(Microseconds wall) { return wall / (std::int64_t{86'400} * 1'000'000); }

}  // namespace locus
