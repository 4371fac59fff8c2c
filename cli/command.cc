// Options, errors and output that commands share.
#include "cli/command.h"

#include <google/protobuf/util/json_util.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>

#include "cli/render/text_table.h"
#include "cli/settings.h"
#include "client/enrollment.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/mistakes.h"

namespace locus {
namespace {

const std::string kDefaultServer = "127.0.0.1:7171";

bool colored(int descriptor) {
  const char* kind = std::getenv("TERM");
  const char* without = std::getenv("NO_COLOR");
  return isatty(descriptor) == 1 && !(kind && std::string(kind) == "dumb") && !(without && *without);
}

// One mistake, as it is shown.
struct Shown {
  std::string message, reason, field, where;
  std::map<std::string, std::string> metadata;
  int line = 0;  // of a file; 0: elsewhere
};

Shown shown_of(const absl::Status& status, const SpecFile* spec) {
  Shown out;
  out.message = std::string(status.message());
  const auto detail = error_detail(status);
  if (!detail) return out;
  out.reason = std::string(to_string(detail->reason));
  out.field = detail->field;
  out.metadata = detail->metadata;
  if (spec) out.where = spec->where(out.field);
  if (detail->metadata.contains("where")) out.where = detail->metadata.at("where");
  const std::size_t colon = out.where.rfind(':');
  if (colon != std::string::npos && !out.where.starts_with("--")) out.line = std::atoi(out.where.c_str() + colon + 1);
  return out;
}

// The mistakes a status lists, as they stand in the file, what stands nowhere in it last.
std::vector<Shown> mistakes_of(const absl::Status& status, const SpecFile* spec) {
  std::vector<Shown> out;
  for (const absl::Status& one : violations_of(status).list) out.push_back(shown_of(one, spec));
  std::stable_sort(out.begin(), out.end(), [](const Shown& a, const Shown& b) {
    return std::pair(a.line == 0, a.line) < std::pair(b.line == 0, b.line);
  });
  return out;
}

void put(Json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}

Json error_json(const absl::Status& status, const SpecFile* spec) {
  const Shown whole = shown_of(status, spec);
  Json error = {{"code", absl::StatusCodeToString(status.code())}, {"message", whole.message}};
  put(error, "reason", whole.reason);
  if (!whole.metadata.empty()) error["metadata"] = whole.metadata;
  put(error, "field", whole.field);
  put(error, "where", whole.where);
  const std::vector<Shown> all = mistakes_of(status, spec);
  for (const Shown& one : all) {
    if (all.size() < 2) break;
    Json violation = {{"message", one.message}};
    put(violation, "reason", one.reason);
    put(violation, "field", one.field);
    put(violation, "where", one.where);
    error["violations"].push_back(std::move(violation));
  }
  if (const std::int64_t more = violations_of(status).more; more > 0) error["more_violations"] = more;
  return {{"error", error}};
}

std::string place_of(const Shown& shown) {
  const bool both = !shown.where.empty() && !shown.field.empty();
  return printable(shown.where + (both ? ": " : "") + shown.field);
}

}  // namespace

void add_server_options(Command& command, ServerChoice& choice) {
  command
      .add_option("--server", choice.server,
                  "Address of the server's gRPC side (default: the configuration file's, else 127.0.0.1:7171)")
      ->type_name("HOST:PORT")
      ->envname("LOCUS_SERVER");
  command
      .add_option("--profile", choice.profile,
                  "Server and credential that `locus login` keeps under this name (default: the configuration file's)")
      ->type_name("NAME")
      ->envname("LOCUS_PROFILE");
  add_json_option(command, choice.json);
}

void add_json_option(Command& command, bool& json) {
  command.add_flag("--json", json, "Answer with JSON, for programs; errors too, on standard error");
}

Argument* add_experiment(Command& command, std::string& experiment) {
  return command.add_option("experiment", experiment, "Name of the experiment")->type_name("")->required();
}

Argument* add_trial(Command& command, std::string& trial) {
  return command.add_option("trial", trial, "EXPERIMENT/NUMBER, as `locus list EXPERIMENT` numbers them")
      ->type_name("")
      ->required();
}

void add_spec_options(Command& command, SpecChoice& choice) {
  command.add_option("specification", choice.file, "File in YAML or JSON; - for standard input")
      ->type_name("")
      ->required();
  command
      .add_option("--set", choice.changes,
                  "Change a value, the value in YAML: --set train.lr=1e-4 (repeatable; null removes)")
      ->type_name("PATH=VALUE")
      ->one_value_each();
}

absl::StatusOr<SpecFile> read_spec(const SpecChoice& choice) {
  LOCUS_ASSIGN_OR_RETURN(SpecFile spec, SpecFile::read(choice.file));
  for (const std::string& change : choice.changes) LOCUS_RETURN_IF_ERROR(spec.set(change));
  LOCUS_RETURN_IF_ERROR(spec.name_weights());
  return spec;
}

absl::StatusOr<Destination> destination(const ServerChoice& choice) {
  LOCUS_ASSIGN_OR_RETURN(const Settings settings, read_settings(settings_path()));
  const std::string profile = choice.profile.empty() && choice.server.empty() ? settings.profile : choice.profile;
  if (profile.empty()) {
    const std::string& other = settings.server.empty() ? kDefaultServer : settings.server;
    return Destination{choice.server.empty() ? other : choice.server};
  }
  LOCUS_ASSIGN_OR_RETURN(const auto folder, profile_folder(profile));
  const auto enrolled = read_enrollment(folder);
  if (!enrolled.ok()) {
    return make_error(absl::StatusCode::kNotFound, ErrorReason::kCertificateInvalid,
                      "there is no profile \"" + profile + "\" at " + folder.string() +
                          "; make it with `locus login TOKEN --profile " + profile + "`",
                      "profile", {{"name", profile}});
  }
  const std::string& address = choice.server.empty() ? enrolled->server : choice.server;
  if (!enrolled->token.empty()) return Destination{.address = address, .token = enrolled->token};
  return Destination{.address = address, .tls = tls_in(folder)};
}

namespace {

// Certificates of people live for days, and whoever works has theirs renewed on the way.
void renew_in_time(Client& client, const ClientTls& tls) {
  const auto due = tls.wanted() ? renewal_due(tls, system_clock().wall() / 1'000'000) : false;
  if (!due.ok() || !*due) return;
  if (const absl::Status status = renew(client, tls); !status.ok())
    std::fprintf(stderr, "the certificate was not renewed: %s\n", printable(std::string(status.message())).c_str());
}

}  // namespace

int ask_server(const ServerChoice& choice, const std::function<absl::StatusOr<int>(Client&)>& body) {
  const auto answer = [&]() -> absl::StatusOr<int> {
    LOCUS_ASSIGN_OR_RETURN(const Destination to, destination(choice));
    LOCUS_ASSIGN_OR_RETURN(const auto client, Client::connect(to.address, to.options()));
    const auto out = body(*client);
    if (out.ok()) renew_in_time(*client, to.tls);
    return out;
  }();
  return answer.ok() ? *answer : report_error(answer.status(), choice.json);
}

int report_error(const absl::Status& status, bool json, const SpecFile* spec, int exit_status) {
  if (json) {
    const std::string text = error_json(status, spec).dump(-1, ' ', false, Json::error_handler_t::replace);
    std::fprintf(stderr, "%s\n", text.c_str());
    return exit_status;
  }
  const bool color = colored(STDERR_FILENO);
  const char *red = color ? "\033[31m" : "", *plain = color ? "\033[0m" : "";
  const std::vector<Shown> all = mistakes_of(status, spec);
  const std::int64_t more = violations_of(status).more;
  if (all.size() + static_cast<std::size_t>(more) == 1) {
    std::fprintf(stderr, "%serror:%s %s\n", red, plain, printable(all[0].message).c_str());
    if (const std::string place = place_of(all[0]); !place.empty()) std::fprintf(stderr, "  at %s\n", place.c_str());
    return exit_status;
  }
  std::fprintf(stderr, "%serror:%s %lld mistakes\n", red, plain,
               static_cast<long long>(all.size()) + static_cast<long long>(more));
  for (const Shown& one : all) {
    const std::string place = place_of(one);
    std::fprintf(stderr, "  %s%s%s\n", place.c_str(), place.empty() ? "" : ": ", printable(one.message).c_str());
  }
  if (more > 0) std::fprintf(stderr, "  and %lld more\n", static_cast<long long>(more));
  return exit_status;
}

absl::Status confirm(const std::string& question, bool yes) {
  if (yes) return absl::OkStatus();
  if (isatty(STDIN_FILENO) != 1) {
    return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kInvalidArgument,
                      question + " Nobody is at a terminal to be asked; say it with --yes");
  }
  std::fprintf(stderr, "%s [y/N] ", printable(question).c_str());
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return absl::OkStatus();
  return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kInvalidArgument, "nothing was done");
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void print_json(const google::protobuf::Message& message, bool compact) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  options.add_whitespace = !compact;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) text = "{}";
  if (text.empty() || text.back() != '\n') text += '\n';
  print(text);
}

std::pair<std::string, std::int64_t> split_trial(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string::npos) return {name, -1};
  std::int64_t number = -1;
  const char* end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + slash + 1, end, number);
  return {name.substr(0, slash), read.ptr == end ? number : -1};
}

Terminal terminal() {
  Terminal out;
  const char* kind = std::getenv("TERM");
  out.interactive = isatty(STDOUT_FILENO) == 1 && !(kind && std::string(kind) == "dumb");
  out.color = colored(STDOUT_FILENO);
  winsize size{};
  if (out.interactive && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) out.width = size.ws_col;
  return out;
}

}  // namespace locus
