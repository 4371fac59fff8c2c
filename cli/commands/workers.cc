// locus workers: who is there and what they do.
#include "cli/command.h"
#include "cli/render/listings.h"

namespace locus {
namespace {

int run(const ServerChoice& choice) {
  const auto client = Client::connect(choice.server);
  if (!client.ok()) return report_error(client.status(), choice.json);
  const auto answer = (*client)->list_workers();
  if (!answer.ok()) return report_error(answer.status(), choice.json);
  choice.json ? print_json(*answer) : print(render_workers(*answer));
  return kExitDone;
}

}  // namespace

void add_workers(CLI::App& app, int& status) {
  auto choice = std::make_shared<ServerChoice>();
  CLI::App* command = app.add_subcommand("workers", "List the workers and what they run");
  add_server_options(*command, *choice);
  command->callback([choice, &status] { status = run(*choice); });
}

}  // namespace locus
