// Child processes that are safe to start from a process with threads and that never outlive it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/fd.h"
#include "core/process/isolation.h"

namespace locus {

inline constexpr int kInheritedFd = 3;  // where a child finds `inherit`

struct SpawnRequest {
  std::vector<std::string> arguments;               // the first one is the path of the executable
  std::vector<std::string> environment;             // NAME=value
  int output = -1, error = -1;                      // become standard output and error
  int inherit = -1;                                 // becomes kInheritedFd; -1: none
  std::shared_ptr<const Isolation> isolation = {};  // what it may do; none: what we may
};

// Starts a process in a group of its own, with no other descriptor of ours, standard input empty, default
// signal handling. It is killed when the calling thread ends. UNAVAILABLE or NOT_FOUND with a sentence when
// it cannot be started, or not be isolated.
absl::StatusOr<pid_t> spawn(const SpawnRequest& request);

// Runs a program to its end and returns its standard output; an exit status other than 0, more time than
// `limit`, or more than 16 MiB of output is an error that quotes the end of its standard error.
absl::StatusOr<std::string> run_and_capture(const std::vector<std::string>& arguments, std::chrono::milliseconds limit);

std::vector<std::string> current_environment();
void set_variable(std::vector<std::string>& environment, const std::string& name, const std::string& value);

}  // namespace locus
