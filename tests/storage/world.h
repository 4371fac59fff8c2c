// What the storage tests share: temporary folders, a small world of rows, and a picture of everything a store
// holds.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/ports/store.h"

namespace locus::testing {

// Removed with everything in it.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A wall clock that says what it is told.
class FixedClock final : public Clock {
 public:
  Microseconds wall() const override { return 1'700'000'000'000'000; }
  Microseconds steady() const override { return 0; }
};

inline const std::string kShaA(64, 'a');
inline const std::string kShaB(64, 'b');
inline const std::string kShaUnknown(64, 'f');
inline constexpr Microseconds kNow = 5'000'000;

// The world: worker 1 "node-a"; artifacts kShaA and kShaB; experiment 1 "priors" of one cell with trials 0
// and 1. Trial t has stages train (id 1 + 2t, queued) and evaluate (id 2 + 2t, blocked on train's
// checkpoint).
StageRow train_stage(StageId id);
StageRow evaluate_stage(StageId id, StageId source);
SaveExperiment small_experiment();
std::vector<Mutation> world();

GrantAttempt grant(StageId stage, std::int64_t attempt, std::int64_t resume_step = 0, std::string resume_sha256 = {});
EndAttempt end(StageId stage, std::int64_t attempt, AttemptState outcome, StageState state);

// n points of one series at steps first_step, first_step + 1, ... with value = step.
PointBatch ramp(std::int64_t first_step, int n, const SeriesKey& key = {"loss", "train", "{}"});
PointAppend points_of(StageId stage, std::int64_t attempt, std::int64_t first_seq, PointBatch batch);

// The value, for loops: a range-for keeps it alive, which it does not do for StatusOr::value().
template <class T>
T get(absl::StatusOr<T> result) {
  return std::move(result).value();
}

absl::Status apply(Store& store, std::vector<Mutation> mutations);

// Everything the port lets one see, as JSON; two equal pictures mean nothing changed.
Json picture(Store& store);

// The reason of a refusal, "OK" without one, "NONE" for a status that carries no reason.
std::string reason_of(const absl::Status& status);

}  // namespace locus::testing
