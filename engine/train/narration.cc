// Lines and their pace.
#include "engine/train/narration.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace locus::engine {
namespace {

std::string format(const char* how, double value) {
  char text[64];
  std::snprintf(text, sizeof text, how, value);
  return text;
}

}  // namespace

Seconds steady_seconds() {
  return [start = std::chrono::steady_clock::now()] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
}

bool Pace::due(bool milestone) {
  const double now = clock_(), run = now - start_;
  const double apart = milestone ? std::clamp(run / 100, 1.0, 30.0) : std::clamp(run / 20, 10.0, 60.0);
  if (now - last_ < apart) return false;
  last_ = now;
  return true;
}

std::string scores_text(const std::vector<Score>& scores) {
  std::string out;
  for (const Score& score : scores) {
    if (!score.labels.empty()) continue;  // of parts of what the others say
    out += (out.empty() ? "" : "  ") + score.metric + " " +
           format(std::abs(score.value) < 10 ? "%.4f" : "%.2f", score.value);
  }
  return out;
}

Narration::Narration(StageObserver& observer, std::int64_t steps, std::int64_t steps_per_epoch, Seconds clock)
    : observer_(observer), steps_(steps), per_epoch_(steps_per_epoch), pace_(std::move(clock)) {}

void Narration::window(double loss, double rate, double milliseconds, double waited) {
  window_ = "  loss " + format("%.4f", loss) + "  lr " + format("%.1e", rate) + "  " + format("%.1f", milliseconds) +
            " ms/step";
  if (waited >= 0.01) window_ += " (" + format("%.0f", 100 * waited) + " % waiting for data)";
}

void Narration::reached(std::int64_t step) {
  if (!pace_.due(/*milestone=*/step % per_epoch_ == 0) && step < steps_) return;
  observer_.say("epoch " + std::to_string((step - 1) / per_epoch_ + 1) + "/" + std::to_string(steps_ / per_epoch_) +
                "  step " + std::to_string(step) + "/" + std::to_string(steps_) + window_ +
                (scores_.empty() ? "" : "  val " + scores_));
  scores_.clear();
}

}  // namespace locus::engine
