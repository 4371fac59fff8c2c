// An experiment's progress as lines of text.
#pragma once

#include <string>
#include <vector>

#include "locus/v1/experiment_service.pb.h"

namespace locus {

struct ProgressStyle {
  int width = 80;        // columns
  int most_running = 8;  // bars of running stages; the rest is counted
  bool color = false;
};

// For a terminal: a line for the whole, then a bar per running stage.
std::vector<std::string> render_progress(const v1::Experiment& experiment, const ProgressStyle& style);

// For a log: one line that says the same.
std::string render_progress_line(const v1::Experiment& experiment);

// "completed", "failed", "cancelled": nothing more will happen by itself.
bool is_over(const v1::Experiment& experiment);

}  // namespace locus
