// locus resume: the end of a pause.
#include "cli/command.h"
#include "cli/render/progress.h"
#include "core/base/error.h"

namespace locus {

void add_resume(CLI::App& app) {
  Command& command = add_command(app, {"resume",
                                       kSteering,
                                       "Grant a paused experiment's stages again",
                                       "An experiment that was paused because its first cells failed alike "
                                       "tells so in `locus why`; mend the cause first.",
                                       {{"locus resume fashion-mnist-priors", "Go on"}}});
  auto choice = std::make_shared<ServerChoice>();
  auto experiment = std::make_shared<std::string>();
  add_server_options(command, *choice);
  add_experiment(command, *experiment);
  command.body = [choice, experiment] {
    return ask_server(*choice, [&](Client& client) -> absl::StatusOr<int> {
      v1::ResumeExperimentRequest request;
      request.set_name(*experiment);
      LOCUS_ASSIGN_OR_RETURN(const v1::Experiment answer, client.resume_experiment(request));
      choice->json ? print_json(answer) : print(render_progress_line(answer) + "\n");
      return kExitDone;
    });
  };
}

}  // namespace locus
