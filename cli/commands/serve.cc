// locus serve: gRPC, HTTP and the dashboard in one process.
#include "server/app/serve.h"
#include "cli/command.h"

namespace locus {

void add_serve(CLI::App& app, int& status) {
  auto options = std::make_shared<ServerOptions>();
  CLI::App* command =
      app.add_subcommand("serve", "Start the server: gRPC, HTTP and the dashboard in one process");
  command->add_option("--data", options->data,
                      "Folder of database and artifacts (default: ~/.local/share/locus)");
  command
      ->add_option("--grpc-address,--grpc", options->grpc_address,
                   "Address for gRPC; port 0 for any free one")
      ->capture_default_str();
  command->add_option("--http-address,--http", options->http_address, "Address for HTTP and the dashboard")
      ->capture_default_str();
  command->add_option("--web", options->web, "Folder of the dashboard's build");
  command->add_option("--catalog", options->catalog,
                      "The engine's catalog, as `locus-trainer catalog` prints it");
  command
      ->add_option("--allow-host", options->allowed_hosts,
                   "Further host name a browser may use, for tunnels and proxies (repeatable)")
      ->allow_extra_args(false);
  command->add_flag("!--no-reflection", options->reflection, "Do not describe the services to gRPC tools");
  command->add_option("--log-level", options->log_level, "How much to say")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error"}))
      ->capture_default_str();
  command->callback([options, &status] { status = server_main(*options); });
}

}  // namespace locus
