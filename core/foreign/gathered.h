// Points of a run of another program, by name, as its files give them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/experiment/foreign.h"

namespace locus {

// What files may hold before it is known which points count: later ones of a step replace earlier ones.
inline constexpr std::int64_t kGatheredPointsMost = 4'000'000;

// Thread-compatible.
class Gathered {
 public:
  // In the order in which they were written. LIMIT_EXCEEDED for more than kGatheredPointsMost in all, INVALID_ARGUMENT
  // for a step below 0.
  absl::Status add(const std::string& name, std::int64_t step, Microseconds time_us, double value);
  // What is no scalar, and so no point.
  void leave_out() { ++left_out_; }
  std::int64_t left_out() const { return left_out_; }
  // The settings of a run for TensorBoard's HPARAMS tab stand in it.
  void note_settings() { holds_settings_ = true; }
  bool holds_settings() const { return holds_settings_; }

  // By key: each name as series_key_of() takes it, or as `renamed` says instead. Of points of one step that counts which was
  // added last. INVALID_ARGUMENT for two names of one key, a name of `renamed` that is not there, or nothing at all;
  // LIMIT_EXCEEDED for more than an import may hold (core/experiment/foreign.h).
  absl::StatusOr<std::vector<ForeignSeries>> series(const std::map<std::string, std::string>& renamed = {}) const;

 private:
  std::map<std::string, std::vector<Point>> points_;
  std::int64_t added_ = 0, left_out_ = 0;
  bool holds_settings_ = false;
};

}  // namespace locus
