// locus watch: follows an experiment until it is over.
#include "cli/command.h"

namespace locus {

void add_watch(Program& app) {
  Command& command =
      add_command(app, {"watch",
                        kExperimentGroup,
                        "Follow an experiment until it is over or paused; exit status 0 if it completed",
                        "On a terminal, bars that redraw in place; elsewhere a line whenever something "
                        "changed; with --json one "
                        "object a change. A paused experiment is followed until what runs has ended. Outlives "
                        "restarts of the server for up to half an hour.",
                        {{"locus watch fashion-mnist-priors && locus leaderboard fashion-mnist-priors",
                          "Wait for it, then read the table"}}});
  auto choice = std::make_shared<ServerChoice>();
  auto experiment = std::make_shared<std::string>();
  add_server_options(command, *choice);
  add_experiment(command, *experiment);
  command.body = [choice, experiment] {
    return ask_server(*choice,
                      [&](Client& client) -> absl::StatusOr<int> { return follow(client, *experiment, choice->json); });
  };
}

}  // namespace locus
