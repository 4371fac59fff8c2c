// What of a stage's attempts still counts: which points and checkpoints are superseded, and which checkpoints
// are worth their disk space. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/experiment/model.h"

namespace locus {

// For each attempt, the highest step whose points and checkpoints count; absent when none do. An attempt is
// superseded past the resume step of every later one, and wholly by one that began afresh.
std::map<std::int64_t, std::int64_t> live_until(std::span<const AttemptRow> attempts);

// The checkpoint a new attempt resumes from: the newest not superseded. `checkpoints` and `attempts` of one
// stage.
std::optional<CheckpointRow> newest_checkpoint(std::span<const CheckpointRow> checkpoints,
                                               std::span<const AttemptRow> attempts);

// Whether a stage that has parked may have to go on, given how far each of its live links wants it (unretired trials of
// active and paused experiments): not when every one of them wants no further. Without a live link it is kept as a
// cancelled one is, for whoever submits it again.
bool wanted_further(std::span<const std::int64_t> until_steps);

// Why each checkpoint of a stage is kept, in the order given: "pinned", "output", "resume" (the next attempt
// begins there, or the one that runs did), "best", "last" (the one before the resume point, should that turn
// out to be damaged); "" for one that may go. A stage that has succeeded resumes nowhere: what it keeps are
// its outputs and its best. One that has parked and is not `wanted` any further keeps what is pinned.
std::vector<std::string> checkpoint_roles(const StageRow& stage, std::span<const CheckpointRow> checkpoints,
                                          std::span<const AttemptRow> attempts, bool wanted,
                                          const std::function<bool(const std::string& sha256)>& pinned);

}  // namespace locus
