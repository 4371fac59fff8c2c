// locus delete: an experiment and everything that is its own.
#include "cli/command.h"
#include "cli/render/reports.h"
#include "core/base/error.h"

namespace locus {
namespace {

struct DeleteOptions {
  ServerChoice server;
  std::string experiment;
  bool dry_run = false, force = false, yes = false;
};

absl::StatusOr<int> run(Client& client, const DeleteOptions& options) {
  v1::DeleteExperimentRequest request;
  request.set_name(options.experiment);
  request.set_force(options.force);
  request.set_dry_run(true);
  LOCUS_ASSIGN_OR_RETURN(v1::DeleteExperimentResponse answer, client.delete_experiment(request));
  if (!options.dry_run) {
    if (!options.yes && !options.server.json) print(render_deletion(answer));
    LOCUS_RETURN_IF_ERROR(confirm("Delete " + options.experiment + " for good?", options.yes));
    request.set_dry_run(false);
    LOCUS_ASSIGN_OR_RETURN(answer, client.delete_experiment(request));
  }
  options.server.json ? print_json(answer) : print(render_deletion(answer));
  return kExitDone;
}

}  // namespace

void add_delete(Program& app) {
  Command& command = add_command(
      app, {"delete",
            kSteerGroup,
            "Delete an experiment with all that no other experiment uses",
            "Shows what would go and asks. Stages that another experiment references stay with their points and "
            "checkpoints; pinned artifacts stay. What is waiting or running must be cancelled first, or with --force.",
            {{"locus delete fashion-mnist-priors --dry-run", "What would go"},
             {"locus delete fashion-mnist-priors --force --yes", "From a script, whatever it is doing"}}});
  auto options = std::make_shared<DeleteOptions>();
  add_server_options(command, options->server);
  add_experiment(command, options->experiment);
  command.add_flag("--dry-run", options->dry_run, "Only say what would go");
  command.add_flag("--force", options->force, "Cancel first what is not finished");
  command.add_flag("--yes", options->yes, "Do not ask");
  command.body = [options] {
    return ask_server(options->server, [&](Client& client) { return run(client, *options); });
  };
}

}  // namespace locus
