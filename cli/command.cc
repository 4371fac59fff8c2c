// Options, errors and output that commands share.
#include "cli/command.h"

#include <google/protobuf/util/json_util.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "cli/render/text_table.h"
#include "core/base/error.h"

namespace locus {

void add_server_options(CLI::App& command, ServerChoice& choice) {
  command.add_option("--server", choice.server, "Address of the server's gRPC side, HOST:PORT")
      ->envname("LOCUS_SERVER")
      ->capture_default_str();
  command.add_flag("--json", choice.json, "Answer with JSON, for programs");
}

void add_spec_options(CLI::App& command, SpecChoice& choice) {
  command.add_option("specification", choice.file, "File in YAML or JSON; - for standard input")->required();
  command
      .add_option("--set", choice.changes,
                  "Change a value, the value in YAML: --set train.lr=1e-4 (repeatable; null removes)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
}

absl::StatusOr<SpecFile> read_spec(const SpecChoice& choice) {
  LOCUS_ASSIGN_OR_RETURN(SpecFile spec, SpecFile::read(choice.file));
  for (const std::string& change : choice.changes) LOCUS_RETURN_IF_ERROR(spec.set(change));
  return spec;
}

int report_error(const absl::Status& status, bool json, const SpecFile* spec) {
  const auto detail = error_detail(status);
  const std::string message(status.message());
  const std::string field = detail ? detail->field : "";
  std::string where;
  if (spec) where = spec->where(field);
  if (detail && detail->metadata.contains("where")) where = detail->metadata.at("where");
  if (json) {
    Json error = {{"code", absl::StatusCodeToString(status.code())}, {"message", message}};
    if (detail) error["reason"] = std::string(to_string(detail->reason));
    if (detail && !detail->metadata.empty()) error["metadata"] = detail->metadata;
    if (!field.empty()) error["field"] = field;
    if (!where.empty()) error["where"] = where;
    const std::string text = Json({{"error", error}}).dump(-1, ' ', false, Json::error_handler_t::replace);
    std::fprintf(stderr, "%s\n", text.c_str());
    return kExitFailed;
  }
  std::string place = where;
  if (!field.empty()) place += (place.empty() ? "" : ": ") + field;
  std::fprintf(stderr, "error: %s\n", printable(message).c_str());
  if (!place.empty()) std::fprintf(stderr, "  at %s\n", printable(place).c_str());
  return kExitFailed;
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

Terminal terminal() {
  Terminal out;
  const char* kind = std::getenv("TERM");
  out.interactive = isatty(STDOUT_FILENO) == 1 && !(kind && std::string(kind) == "dumb");
  const char* without = std::getenv("NO_COLOR");
  out.color = out.interactive && !(without && *without);
  winsize size{};
  if (out.interactive && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    out.width = size.ws_col;
  return out;
}

}  // namespace locus
