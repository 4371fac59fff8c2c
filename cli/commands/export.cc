// locus export: everything of an experiment as JSON lines.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "cli/command.h"
#include "core/base/error.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

struct ExportOptions {
  ServerChoice server;
  std::string experiment, output;
  bool without_points = false;
};

absl::Status cannot_write(const fs::path& path) {
  return make_error(absl::StatusCode::kPermissionDenied, ErrorReason::kStorageFailed,
                    "cannot write " + path.string() + "; choose another file with --output");
}

v1::ExportExperimentRequest request_of(const ExportOptions& options) {
  v1::ExportExperimentRequest request;
  request.set_name(options.experiment);
  request.set_without_points(options.without_points);
  return request;
}

// The file appears whole or not at all.
absl::StatusOr<int> to_file(Client& client, const ExportOptions& options) {
  const fs::path path = options.output, part = options.output + ".part";
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  if (!out) return cannot_write(part);
  std::int64_t bytes = 0;
  const absl::Status status = client.export_experiment(request_of(options), [&](std::string_view chunk) {
    out.write(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    bytes += static_cast<std::int64_t>(chunk.size());
    return out ? absl::OkStatus() : cannot_write(part);
  });
  out.close();
  std::error_code error;
  if (status.ok()) fs::rename(part, path, error);
  if (!status.ok() || error) {
    std::error_code ignored;
    fs::remove(part, ignored);
    return status.ok() ? cannot_write(path) : status;
  }
  print(options.server.json ? Json({{"path", options.output}, {"bytes", bytes}}).dump() + "\n" : options.output + "\n");
  return kExitDone;
}

absl::StatusOr<int> run(Client& client, const ExportOptions& options) {
  if (!options.output.empty()) return to_file(client, options);
  LOCUS_RETURN_IF_ERROR(client.export_experiment(request_of(options), [](std::string_view chunk) {
    print(std::string(chunk));
    return absl::OkStatus();
  }));
  return kExitDone;
}

}  // namespace

void add_export(Program& app) {
  Command& command = add_command(
      app,
      {"export",
       kDataGroup,
       "Write everything of an experiment as JSON lines",
       "Specification, cells, trials, configurations, attempts, results and every stored point, one "
       "JSON object a line, so that any "
       "program can read them.",
       {{"locus export fashion-mnist-priors --output priors.jsonl", "To a file, which appears whole or not at all"},
        {"locus export fashion-mnist-priors --without-points | wc -l", "To another program"}}});
  auto options = std::make_shared<ExportOptions>();
  add_server_options(command, options->server);
  add_experiment(command, options->experiment);
  command.add_option("--output", options->output, "File to write (default: standard output)")->type_name("FILE");
  command.add_flag("--without-points", options->without_points, "Leave the points of the curves out");
  command.body = [options] {
    return ask_server(options->server, [&](Client& client) { return run(client, *options); });
  };
}

}  // namespace locus
