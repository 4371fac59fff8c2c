// What every command of `locus` is made of. A command is one file in commands/ and one line in commands.def.
#pragma once

#include <google/protobuf/message.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/arguments/program.h"
#include "cli/spec_file.h"
#include "client/client.h"

namespace locus {

// Exit statuses: 0 done, 1 refused or failed, 2 the command line is wrong.
inline constexpr int kExitDone = 0, kExitFailed = 1, kExitUsage = 2;

// The headings commands stand under, in the order of --help.
inline constexpr char kRunGroup[] = "Run", kExperimentGroup[] = "Experiments", kSteerGroup[] = "Steer",
                      kFleetGroup[] = "Workers", kDataGroup[] = "Data", kLocusGroup[] = "Locus";

// Options that every command which asks a server has.
struct ServerChoice {
  std::string server;   // empty: LOCUS_SERVER, the profile's, the configuration file, 127.0.0.1:7171
  std::string profile;  // empty: LOCUS_PROFILE; where no server is named, the configuration file's; else plain
  bool json = false;
};
void add_server_options(Command& command, ServerChoice& choice);
void add_json_option(Command& command, bool& json);

// The positionals, under the same names everywhere. A trial is EXPERIMENT/NUMBER.
Argument* add_experiment(Command& command, std::string& experiment);
Argument* add_trial(Command& command, std::string& trial);

// --set and the file of the commands that take a specification.
struct SpecChoice {
  std::string file;
  std::vector<std::string> changes;
};
void add_spec_options(Command& command, SpecChoice& choice);

// Reads the file, applies the changes and names weights by their digests (SpecFile::name_weights).
absl::StatusOr<SpecFile> read_spec(const SpecChoice& choice);

// Whom to ask, and what to show them.
struct Destination {
  std::string address;     // HOST:PORT
  ClientTls tls = {};      // plain without a profile
  std::string token = {};  // of a profile without a certificate

  bool signed_in() const { return tls.wanted() || !token.empty(); }
  ClientOptions options() const { return {.tls = tls, .token = token}; }
};
// NOT_FOUND for a profile that is not there.
absl::StatusOr<Destination> destination(const ServerChoice& choice);

// Makes a client and runs `body` with it; reports what either says. The exit status.
int ask_server(const ServerChoice& choice, const std::function<absl::StatusOr<int>(Client&)>& body);

// Says on standard error what went wrong: the sentence, then file, line and field where `spec` knows them.
// Returns `exit_status`.
int report_error(const absl::Status& status, bool json, const SpecFile* spec = nullptr, int exit_status = kExitFailed);

// A destructive step: true after --yes, or when the person at the terminal types y. FAILED_PRECONDITION
// without a terminal to ask at.
absl::Status confirm(const std::string& question, bool yes);

// Prints a message in protobuf's JSON mapping with proto field names, on one line if `compact`.
void print_json(const google::protobuf::Message& message, bool compact = false);
void print(const std::string& text);

// Splits "EXPERIMENT/NUMBER"; the number is -1 for a bare name.
std::pair<std::string, std::int64_t> split_trial(const std::string& name);

// What the terminal at standard output allows.
struct Terminal {
  bool interactive = false, color = false;  // color: interactive and NO_COLOR is not set
  int width = 80;
};
Terminal terminal();

// Follows an experiment until it is over: bars in place on a terminal, lines elsewhere, one JSON object a
// change with `json`. Outlives restarts of the server. kExitDone when it completed; ends, too, when it is
// paused and nothing of it runs.
int follow(Client& client, const std::string& experiment, bool json);

}  // namespace locus
