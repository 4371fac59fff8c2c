// What `locus admin` is made of: an action is a function and a line of the table in commands/admin.cc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/command.h"

namespace locus {

struct AdminChoice {
  ServerChoice server;
  std::string action;
  std::vector<std::string> words;   // what the action is about
  std::vector<std::string> labels;  // KEY=VALUE
  std::string account, ttl;         // ttl empty: what is usual for the action
  std::filesystem::path data;
  bool all = false, verify = false;
};

// INVALID_ARGUMENT that shows how the action is written.
absl::Status wrong_words(const std::string& usage);
// "90s", "30m", "12h", "7d" in seconds; INVALID_ARGUMENT for another form.
absl::StatusOr<std::int64_t> seconds_of(const std::string& text);

// token create ROLE NAME, token list, token revoke ID. The exit status.
absl::StatusOr<int> admin_token(const AdminChoice& choice, Client& client);
// Shows the record of who did what, or checks it with --verify. The exit status: kExitFailed where a row is missing.
absl::StatusOr<int> admin_audit(const AdminChoice& choice, Client& client);

}  // namespace locus
