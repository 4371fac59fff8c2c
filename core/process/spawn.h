// Child processes that are safe to start from a process with threads and that never outlive it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
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
  int input = -1;                                   // becomes standard input; -1: it is empty
  int output = -1, error = -1;                      // become standard output and error
  int inherit = -1;                                 // becomes kInheritedFd; -1: none
  std::shared_ptr<const Isolation> isolation = {};  // what it may do; none: what we may
};

// Starts a process in a group of its own, with no other descriptor of ours, default
// signal handling. It is killed when the calling thread ends. UNAVAILABLE or NOT_FOUND with a sentence when
// it cannot be started, or not be isolated.
absl::StatusOr<pid_t> spawn(const SpawnRequest& request);

// Runs a program to its end and returns its standard output; an exit status other than 0, more time than
// `limit`, or more than 16 MiB of output is an error that quotes the end of its standard error.
// `input` is what it finds at its standard input, `variables` what its environment says beside ours.
absl::StatusOr<std::string> run_and_capture(const std::vector<std::string>& arguments, std::chrono::milliseconds limit,
                                            const std::string& input = {},
                                            const std::map<std::string, std::string>& variables = {});

// The executable that a shell would start for `name`, by our PATH; a name with a slash is taken as it is. NOT_FOUND with
// `advice`, what to do, where there is none.
absl::StatusOr<std::string> find_program(const std::string& name, const std::string& advice);

std::vector<std::string> current_environment();
void set_variable(std::vector<std::string>& environment, const std::string& name, const std::string& value);

}  // namespace locus
