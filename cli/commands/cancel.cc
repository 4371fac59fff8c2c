// locus cancel: stops an experiment.
#include "cli/command.h"
#include "cli/render/progress.h"

namespace locus {
namespace {

int run(const ServerChoice& choice, const std::string& experiment) {
  const auto client = Client::connect(choice.server);
  if (!client.ok()) return report_error(client.status(), choice.json);
  v1::CancelExperimentRequest request;
  request.set_name(experiment);
  const auto answer = (*client)->cancel_experiment(request);
  if (!answer.ok()) return report_error(answer.status(), choice.json);
  choice.json ? print_json(*answer) : print(render_progress_line(*answer) + "\n");
  return kExitDone;
}

}  // namespace

void add_cancel(CLI::App& app, int& status) {
  auto choice = std::make_shared<ServerChoice>();
  auto experiment = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("cancel", "Cancel an experiment; stages that another experiment wants go on");
  add_server_options(*command, *choice);
  command->add_option("experiment", *experiment, "Name of the experiment")->required();
  command->callback([choice, experiment, &status] { status = run(*choice, *experiment); });
}

}  // namespace locus
