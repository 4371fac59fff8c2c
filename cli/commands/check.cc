// locus check: is everything there and whole?
#include "cli/command.h"
#include "cli/render/reports.h"
#include "core/base/error.h"

namespace locus {
namespace {

struct CheckOptions {
  ServerChoice server;
  bool deep = false;
};

absl::StatusOr<int> run(Client& client, const CheckOptions& options) {
  v1::CheckRequest request;
  request.set_deep(options.deep);
  LOCUS_ASSIGN_OR_RETURN(const v1::CheckReport report, client.check(request));
  options.server.json ? print_json(report) : print(render_check(report));
  return report.ok() ? kExitDone : kExitFailed;
}

}  // namespace

void add_check(Program& app) {
  Command& command =
      add_command(app, {"check",
                        kDataGroup,
                        "Check the server's database, and that every artifact it names is there",
                        "Runs beside everything else. Exit status 1 when something is wrong, each problem on a line.",
                        {{"locus check", "Database and sizes"}, {"locus check --deep", "Every byte, too"}}});
  auto options = std::make_shared<CheckOptions>();
  add_server_options(command, options->server);
  command.add_flag("--deep", options->deep, "Also read every artifact and compare its hash");
  command.body = [options] {
    return ask_server(options->server, [&](Client& client) { return run(client, *options); });
  };
}

}  // namespace locus
