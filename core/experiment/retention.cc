// What of a stage's attempts still counts.
#include "core/experiment/retention.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace locus {
namespace {

bool is_output(const StageRow& stage, const std::string& sha256) {
  return std::any_of(stage.outputs.begin(), stage.outputs.end(),
                     [&](const StageOutput& output) { return output.sha256 == sha256; });
}

bool runs_from(std::span<const AttemptRow> attempts, const std::string& sha256) {
  return std::any_of(attempts.begin(), attempts.end(), [&](const AttemptRow& attempt) {
    return attempt.state == AttemptState::kRunning && attempt.resume_sha256 == sha256;
  });
}

bool same(const CheckpointRow& row, const std::optional<CheckpointRow>& other) {
  return other && row.attempt == other->attempt && row.step == other->step;
}

}  // namespace

std::map<std::int64_t, std::int64_t> live_until(std::span<const AttemptRow> attempts) {
  std::vector<AttemptRow> ordered(attempts.begin(), attempts.end());
  std::sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.number > b.number; });
  std::map<std::int64_t, std::int64_t> out;
  std::int64_t bound = std::numeric_limits<std::int64_t>::max();
  for (const AttemptRow& attempt : ordered) {
    out[attempt.number] = bound;
    if (attempt.resume_step == 0 && attempt.resume_sha256.empty()) break;  // began afresh: nothing older counts
    bound = std::min(bound, attempt.resume_step);
  }
  return out;
}

std::optional<CheckpointRow> newest_checkpoint(std::span<const CheckpointRow> checkpoints,
                                               std::span<const AttemptRow> attempts) {
  const auto live = live_until(attempts);
  std::optional<CheckpointRow> newest;
  for (const CheckpointRow& row : checkpoints) {
    const auto bound = live.find(row.attempt);
    if (bound == live.end() || row.step > bound->second) continue;
    if (!newest || std::pair(row.attempt, row.step) > std::pair(newest->attempt, newest->step)) newest = row;
  }
  return newest;
}

bool wanted_further(std::span<const std::int64_t> until_steps) {
  return until_steps.empty() ||
         std::any_of(until_steps.begin(), until_steps.end(), [](std::int64_t until) { return until != kNoFurther; });
}

std::vector<std::string> checkpoint_roles(const StageRow& stage, std::span<const CheckpointRow> checkpoints,
                                          std::span<const AttemptRow> attempts, bool wanted,
                                          const std::function<bool(const std::string&)>& pinned) {
  const bool given_up = stage.state == StageState::kParked && !wanted;
  std::optional<CheckpointRow> resume, before;
  if (stage.state != StageState::kSucceeded && !given_up) {
    resume = newest_checkpoint(checkpoints, attempts);
    std::vector<CheckpointRow> older;
    for (const CheckpointRow& row : checkpoints) {
      if (resume && std::pair(row.attempt, row.step) < std::pair(resume->attempt, resume->step)) older.push_back(row);
    }
    before = newest_checkpoint(older, attempts);
  }
  std::vector<std::string> roles;
  for (const CheckpointRow& row : checkpoints) {
    std::string role;
    if (pinned(row.sha256)) {
      role = "pinned";
    } else if (is_output(stage, row.sha256)) {
      role = "output";
    } else if (same(row, resume) || runs_from(attempts, row.sha256)) {
      role = "resume";
    } else if (row.best && !given_up) {
      role = "best";
    } else if (same(row, before)) {
      role = "last";
    }
    roles.push_back(std::move(role));
  }
  return roles;
}

}  // namespace locus
