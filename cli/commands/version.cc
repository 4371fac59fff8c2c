// locus version: of this program and of the server.
#include "cli/command.h"
#include "core/base/error.h"

namespace locus {
namespace {

int run(const ServerChoice& choice) {
  const auto to = destination(choice);
  if (!to.ok()) return report_error(to.status(), choice.json);
  const auto server = [&]() -> absl::StatusOr<v1::Server> {
    LOCUS_ASSIGN_OR_RETURN(const auto client,
                           Client::connect(to->address, {.patience = {}, .tls = to->tls, .token = to->token}));
    return client->get_server();
  }();
  // A server that cannot be reached is no mistake of the question; any other answer is.
  if (!server.ok() && !has_reason(server.status(), ErrorReason::kServerUnavailable))
    return report_error(server.status(), choice.json);
  if (choice.json) {
    Json out = {{"version", LOCUS_VERSION}, {"address", to->address}, {"server", nullptr}};
    if (server.ok()) out["server"] = {{"version", server->version()}, {"protocol_version", server->protocol_version()}};
    print(out.dump() + "\n");
  } else {
    print("locus " LOCUS_VERSION "\n" + (server.ok()
                                             ? "server " + server->version() + " at " + to->address + ", protocol " +
                                                   std::to_string(server->protocol_version()) + "\n"
                                             : "no server answers at " + to->address + "\n"));
  }
  return kExitDone;
}

}  // namespace

void add_version(Program& app) {
  Command& command = add_command(app, {"version",
                                       kLocusGroup,
                                       "Print the version of this program and of the server",
                                       "`locus --version` prints the program's alone, without asking a server.",
                                       {{"locus version", "Who speaks with whom"}}});
  auto choice = std::make_shared<ServerChoice>();
  add_server_options(command, *choice);
  command.body = [choice] { return run(*choice); };
}

}  // namespace locus
