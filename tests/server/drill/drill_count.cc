// locus drill-count: how many trials an experiment has.
#include "cli/command.h"
#include "core/base/error.h"

namespace locus {

void add_drill_count(Program& app) {
  Command& command = add_command(app, {"drill-count",
                                       kExperimentGroup,
                                       "Count the trials of an experiment",
                                       "",
                                       {{"locus drill-count mine --done", "How many are finished"}}});
  auto choice = std::make_shared<ServerChoice>();
  auto request = std::make_shared<v1::CountTrialsRequest>();
  auto experiment = std::make_shared<std::string>();
  auto done = std::make_shared<bool>(false);
  add_server_options(command, *choice);
  add_experiment(command, *experiment);
  command.add_flag("--done", *done, "Only trials whose every stage succeeded");
  command.body = [choice, request, experiment, done] {
    return ask_server(*choice, [&](Client& client) -> absl::StatusOr<int> {
      request->set_experiment(*experiment);
      request->set_done(*done);
      LOCUS_ASSIGN_OR_RETURN(const v1::CountTrialsResponse answer, client.count_trials(*request));
      choice->json ? print_json(answer) : print(std::to_string(answer.trials()) + "\n");
      return kExitDone;
    });
  };
}

}  // namespace locus
