// The commands that steer one experiment: ask the server, show the experiment as it then is.
#pragma once

#include "cli/command.h"
#include "core/base/error.h"

namespace locus {

// Adds a command that makes `call`, a member of Client, with the experiment named on the command line.
template <class Request>
void add_steering(Program& app, Command::Text text,
                  absl::StatusOr<v1::Experiment> (Client::*call)(const Request&, const CallOptions&)) {
  Command& command = add_command(app, std::move(text));
  auto choice = std::make_shared<ServerChoice>();
  auto experiment = std::make_shared<std::string>();
  add_server_options(command, *choice);
  add_experiment(command, *experiment);
  command.body = [choice, experiment, call] {
    return ask_server(*choice, [&](Client& client) -> absl::StatusOr<int> {
      v1::GetExperimentRequest get;
      get.set_name(*experiment);
      LOCUS_ASSIGN_OR_RETURN(const v1::Experiment before, client.get_experiment(get));
      Request request;
      request.set_name(*experiment);
      return show_steered(before, (client.*call)(request, {}), *choice);
    });
  };
}

// Prints the experiment, and whether it was in that state before, or passes on what the server said.
absl::StatusOr<int> show_steered(const v1::Experiment& before, const absl::StatusOr<v1::Experiment>& answer,
                                 const ServerChoice& choice);

}  // namespace locus
