// What benchmarks of the server share: stores with finished work, and a server of their own to ask.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/app/serve.h"
#include "storage/sqlite/store.h"

namespace locus::bench {

using Timer = std::chrono::steady_clock;
double milliseconds_since(Timer::time_point start);

// Ends the program with the error on stderr.
void must(const absl::Status& status);
template <class T>
T must(absl::StatusOr<T> value) {
  must(value.status());
  return *std::move(value);
}

// Trials of a training that waits and an evaluation that waits for it, stages `first` and on.
SaveExperiment experiment_of(ExperimentId id, const std::string& name, int trials, StageId first);
inline StageId stages_of(int trials) { return 2 * static_cast<StageId>(trials); }

// Of an experiment made by experiment_of(): every training has run, reported and left a result; the evaluations are
// cancelled. Worker 1 must be stored.
void run_all(Store& store, int trials, StageId first);

std::unique_ptr<Server> serve(const std::filesystem::path& folder);  // on ports of its own

// The value that `share` of them, 0 to 1, do not exceed. `values` are sorted by it and not empty.
double quantile(std::vector<double>& values, double share);

}  // namespace locus::bench
