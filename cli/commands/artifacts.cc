// locus artifacts: checkpoints and outputs.
#include <algorithm>

#include "cli/artifact_files.h"
#include "cli/command.h"
#include "cli/pages.h"
#include "cli/render/reports.h"
#include "core/base/error.h"

namespace locus {
namespace {

struct ArtifactsOptions {
  ServerChoice server;
  std::string name, output;
  bool pin = false, unpin = false;
};

bool is_digest(const std::string& name) {
  return name.size() == 64 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

absl::Status refuse_artifact(const std::string& message) {
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, message);
}

absl::StatusOr<int> download(Client& client, const ArtifactsOptions& options, const v1::ListArtifactsResponse& all) {
  LOCUS_ASSIGN_OR_RETURN(const Json files,
                         download_artifacts(client, {all.artifacts().begin(), all.artifacts().end()}, options.output));
  if (options.server.json) {
    print(Json({{"files", files}}).dump() + "\n");
    return kExitDone;
  }
  for (const Json& file : files) print(file["path"].get<std::string>() + "\n");
  if (files.empty()) print("nothing to download: nothing has been made yet, or all was let go\n");
  return kExitDone;
}

absl::StatusOr<int> one_artifact(Client& client, const ArtifactsOptions& options) {
  if (options.pin || options.unpin) {
    v1::PinArtifactRequest request;
    request.set_sha256(options.name);
    request.set_unpin(options.unpin);
    LOCUS_ASSIGN_OR_RETURN(const v1::Artifact answer, client.pin_artifact(request));
    options.server.json ? print_json(answer)
                        : print(answer.sha256() + (answer.pinned() ? " is pinned\n" : " is not pinned\n"));
    return kExitDone;
  }
  if (options.output.empty())
    return refuse_artifact("say what to do with the artifact: --output FILE downloads it, --pin keeps it");
  LOCUS_RETURN_IF_ERROR(client.download_artifact(options.name, options.output));
  print(options.server.json ? Json({{"files", {{{"path", options.output}, {"sha256", options.name}}}}}).dump() + "\n"
                            : options.output + "\n");
  return kExitDone;
}

absl::StatusOr<int> run(Client& client, const ArtifactsOptions& options) {
  if (is_digest(options.name)) return one_artifact(client, options);
  if (options.pin || options.unpin)
    return refuse_artifact(
        "--pin and --unpin take the SHA-256 of an artifact, as `locus artifacts EXPERIMENT` lists them, not "
        "'" +
        options.name + "'");
  LOCUS_ASSIGN_OR_RETURN(const v1::ListArtifactsResponse all, all_artifacts(client, options.name));
  if (!options.output.empty()) return download(client, options, all);
  options.server.json ? print_json(all) : print(render_artifacts(all));
  return kExitDone;
}

}  // namespace

void add_artifacts(Program& app) {
  Command& command = add_command(
      app, {"artifacts",
            kDataGroup,
            "List, download and pin checkpoints and outputs",
            "An artifact is a file named by its SHA-256; checkpoints are safetensors. Retention "
            "keeps the best and the last of each stage "
            "and whatever a run may resume from; a pinned one stays whatever happens.",
            {{"locus artifacts fashion-mnist-priors/17", "What a trial has made"},
             {"locus artifacts fashion-mnist-priors/17 --output checkpoints", "All of it, as files in a folder"}}});
  auto options = std::make_shared<ArtifactsOptions>();
  add_server_options(command, options->server);
  command.add_option("name", options->name, "EXPERIMENT, EXPERIMENT/NUMBER or the SHA-256 of an artifact")
      ->type_name("")
      ->required();
  command.add_option("--output", options->output, "Download into this folder, or one artifact to this file")
      ->type_name("PATH");
  auto* pin = command.add_flag("--pin", options->pin, "Keep the artifact whatever retention and deletion do");
  command.add_flag("--unpin", options->unpin, "Let go of it again")->excludes(pin);
  command.body = [options] {
    return ask_server(options->server, [&](Client& client) { return run(client, *options); });
  };
}

}  // namespace locus
