// locus export: everything of an experiment as JSON lines.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "cli/artifact_files.h"
#include "cli/command.h"
#include "cli/pages.h"
#include "core/base/error.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

struct ExportOptions {
  ServerChoice server;
  std::string experiment, output, pictures;
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

absl::StatusOr<int> pictures_to_folder(Client& client, const ExportOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(const v1::ListArtifactsResponse all, all_artifacts(client, options.experiment));
  std::vector<v1::Artifact> pictures;
  std::copy_if(all.artifacts().begin(), all.artifacts().end(), std::back_inserter(pictures), of_pictures);
  LOCUS_ASSIGN_OR_RETURN(const Json files, download_artifacts(client, pictures, options.pictures));
  if (options.server.json) {
    print(Json({{"files", files}}).dump() + "\n");
    return kExitDone;
  }
  for (const Json& file : files) print(file["path"].get<std::string>() + "\n");
  if (files.empty())
    print("there are no pictures: an evaluation of a task that makes maps keeps them, as in evaluate: {pictures: 8}\n");
  return kExitDone;
}

absl::StatusOr<int> run(Client& client, const ExportOptions& options) {
  if (!options.pictures.empty()) return pictures_to_folder(client, options);
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
       "program can read them. With --pictures, the pictures of scored images instead: input, prediction, target and "
       "error "
       "side by side.",
       {{"locus export fashion-mnist-priors --output priors.jsonl", "To a file, which appears whole or not at all"},
        {"locus export fashion-mnist-priors --without-points | wc -l", "To another program"},
        {"locus export asg-ade20k/3 --pictures seen", "What a trial said of some images, as PNG files in a folder"}}});
  auto options = std::make_shared<ExportOptions>();
  add_server_options(command, options->server);
  add_experiment(command, options->experiment);
  auto* output =
      command.add_option("--output", options->output, "File to write (default: standard output)")->type_name("FILE");
  command
      .add_option(
          "--pictures", options->pictures,
          "Write the pictures of scored images into this folder instead, as PNG, and what they show as JSON; of one "
          "trial where that is named")
      ->type_name("FOLDER")
      ->excludes(output);
  command.add_flag("--without-points", options->without_points, "Leave the points of the curves out");
  command.body = [options] {
    return ask_server(options->server, [&](Client& client) { return run(client, *options); });
  };
}

}  // namespace locus
