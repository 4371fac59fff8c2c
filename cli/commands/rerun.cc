// locus rerun: failed, held and cancelled stages once more.
#include "cli/command.h"
#include "cli/render/reports.h"
#include "core/base/error.h"

namespace locus {

void add_rerun(Program& app) {
  Command& command = add_command(app, {"rerun",
                                       kSteerGroup,
                                       "Queue failed, held and cancelled stages again, from their newest checkpoints",
                                       "What succeeded stays as it is. The faults so far are forgiven; a cancelled "
                                       "experiment becomes active.",
                                       {{"locus rerun fashion-mnist-priors", "Everything of it that did not succeed"},
                                        {"locus rerun fashion-mnist-priors/17", "One trial"}}});
  auto choice = std::make_shared<ServerChoice>();
  auto name = std::make_shared<std::string>();
  add_server_options(command, *choice);
  command.add_option("name", *name, "EXPERIMENT or EXPERIMENT/NUMBER")->type_name("")->required();
  command.body = [choice, name] {
    return ask_server(*choice, [&](Client& client) -> absl::StatusOr<int> {
      v1::RerunExperimentRequest request;
      request.set_name(*name);
      LOCUS_ASSIGN_OR_RETURN(const v1::RerunExperimentResponse answer, client.rerun_experiment(request));
      choice->json ? print_json(answer) : print(render_rerun(answer));
      return kExitDone;
    });
  };
}

}  // namespace locus
