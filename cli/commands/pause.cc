// locus pause: no new stages of an experiment are granted.
#include "cli/command.h"
#include "cli/render/progress.h"
#include "core/base/error.h"

namespace locus {

void add_pause(CLI::App& app) {
  Command& command = add_command(
      app, {"pause",
            kSteering,
            "Stop granting an experiment's stages; running ones go on",
            "Nothing is lost: what runs ends as usual, what waits goes on waiting until `locus resume`.",
            {{"locus pause fashion-mnist-priors", "Let others go first"}}});
  auto choice = std::make_shared<ServerChoice>();
  auto experiment = std::make_shared<std::string>();
  add_server_options(command, *choice);
  add_experiment(command, *experiment);
  command.body = [choice, experiment] {
    return ask_server(*choice, [&](Client& client) -> absl::StatusOr<int> {
      v1::PauseExperimentRequest request;
      request.set_name(*experiment);
      LOCUS_ASSIGN_OR_RETURN(const v1::Experiment answer, client.pause_experiment(request));
      choice->json ? print_json(answer) : print(render_progress_line(answer) + "\n");
      return kExitDone;
    });
  };
}

}  // namespace locus
