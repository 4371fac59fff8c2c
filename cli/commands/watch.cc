// locus watch: follows an experiment until it is over.
#include "cli/command.h"

namespace locus {
namespace {

int run(const ServerChoice& choice, const std::string& experiment) {
  const auto client = Client::connect(choice.server);
  if (!client.ok()) return report_error(client.status(), choice.json);
  return follow(**client, experiment, choice.json);
}

}  // namespace

void add_watch(CLI::App& app, int& status) {
  auto choice = std::make_shared<ServerChoice>();
  auto experiment = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("watch", "Follow an experiment until it is over; exit status 0 if it completed");
  add_server_options(*command, *choice);
  command->add_option("experiment", *experiment, "Name of the experiment")->required();
  command->callback([choice, experiment, &status] { status = run(*choice, *experiment); });
}

}  // namespace locus
