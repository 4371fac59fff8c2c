// What every command of `locus` is made of. A command is one file in commands/ and one line in commands.def.
#pragma once

#include <google/protobuf/message.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/spec_file.h"
#include "client/client.h"

namespace locus {

// Exit statuses: 0 done, 1 refused or failed, 2 the command line is wrong.
inline constexpr int kExitDone = 0, kExitFailed = 1, kExitUsage = 2;

// Options that every command which asks a server has.
struct ServerChoice {
  std::string server = "127.0.0.1:7171";
  bool json = false;
};
void add_server_options(CLI::App& command, ServerChoice& choice);

// --set and the file of the commands that take a specification.
struct SpecChoice {
  std::string file;
  std::vector<std::string> changes;
};
void add_spec_options(CLI::App& command, SpecChoice& choice);

// Reads the file and applies the changes. `spec` holds what was read even when a change is refused, to tell
// lines by.
absl::StatusOr<SpecFile> read_spec(const SpecChoice& choice);

// Says on standard error what went wrong: the sentence, then file, line and field where `spec` knows them.
// Returns kExitFailed.
int report_error(const absl::Status& status, bool json, const SpecFile* spec = nullptr);

// Prints a message in protobuf's JSON mapping with proto field names, on one line if `compact`.
void print_json(const google::protobuf::Message& message, bool compact = false);
void print(const std::string& text);

// What the terminal at standard output allows.
struct Terminal {
  bool interactive = false, color = false;  // color: interactive and NO_COLOR is not set
  int width = 80;
};
Terminal terminal();

// Follows an experiment until it is over: bars in place on a terminal, lines elsewhere, one JSON object a
// change with `json`. Outlives restarts of the server. kExitDone when it completed.
int follow(Client& client, const std::string& experiment, bool json);

}  // namespace locus
