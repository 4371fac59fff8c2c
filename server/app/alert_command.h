// Runs the command that an alert is told to.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <string>

#include "absl/status/status.h"

namespace locus::server {

// `/bin/sh -c command` with `input` on standard input and these variables added to our environment. Ended, with
// all it started, after `limit` or once `stop` is set. OK for exit status 0; otherwise UNAVAILABLE with what it
// said last on standard error. Blocks; thread-safe.
absl::Status run_alert_command(const std::string& command, const std::map<std::string, std::string>& variables,
                               const std::string& input, std::chrono::milliseconds limit,
                               const std::atomic<bool>& stop);

}  // namespace locus::server
