// locus cancel: stops an experiment for good.
#include "cli/command.h"
#include "cli/render/progress.h"
#include "core/base/error.h"

namespace locus {

void add_cancel(CLI::App& app) {
  Command& command = add_command(
      app,
      {"cancel",
       kSteering,
       "Cancel an experiment; stages that another experiment wants go on",
       "What runs is asked to stop at once; results that are there stay. `locus rerun` takes it up again.",
       {{"locus cancel fashion-mnist-priors", "Stop it"}}});
  auto choice = std::make_shared<ServerChoice>();
  auto experiment = std::make_shared<std::string>();
  add_server_options(command, *choice);
  add_experiment(command, *experiment);
  command.body = [choice, experiment] {
    return ask_server(*choice, [&](Client& client) -> absl::StatusOr<int> {
      v1::CancelExperimentRequest request;
      request.set_name(*experiment);
      LOCUS_ASSIGN_OR_RETURN(const v1::Experiment answer, client.cancel_experiment(request));
      choice->json ? print_json(answer) : print(render_progress_line(answer) + "\n");
      return kExitDone;
    });
  };
}

}  // namespace locus
