// locus submit: stores a specification; the workers do the rest.
#include <cstdlib>

#include "cli/command.h"
#include "cli/render/listings.h"
#include "core/base/error.h"

namespace locus {
namespace {

struct SubmitOptions {
  ServerChoice server;
  SpecChoice spec;
  std::string owner;
  bool replace = false, watch = false;
};

int run(const SubmitOptions& options) {
  const bool json = options.server.json;
  const auto spec = read_spec(options.spec);
  if (!spec.ok()) return report_error(spec.status(), json);
  const auto client = Client::connect(options.server.server);
  if (!client.ok()) return report_error(client.status(), json);
  v1::CreateExperimentRequest request;
  request.set_spec_json(spec->text());
  request.set_owner(options.owner);
  request.set_replace(options.replace);
  const auto response = (*client)->create_experiment(request);
  if (!response.ok()) return report_error(response.status(), json, &*spec);
  const std::string& name = response->experiment().name();
  json ? print_json(*response, options.watch) : print(render_submission(*response));
  if (options.watch) return follow(**client, name, json);
  if (!json) print("follow it: locus watch " + name + "\nread it:   locus leaderboard " + name + "\n");
  return kExitDone;
}

}  // namespace

void add_submit(CLI::App& app, int& status) {
  auto options = std::make_shared<SubmitOptions>();
  if (const char* user = std::getenv("USER")) options->owner = user;
  CLI::App* command =
      app.add_subcommand("submit", "Store a specification; only stages that nobody ran yet will run");
  add_server_options(*command, options->server);
  add_spec_options(*command, options->spec);
  command->add_option("--owner", options->owner, "Whose experiment it is")->capture_default_str();
  command->add_flag("--replace", options->replace,
                    "Allow a changed specification to drop trials from the experiment of this name");
  command->add_flag("--watch", options->watch, "Follow it until it is over");
  command->callback([options, &status] { status = run(*options); });
}

}  // namespace locus
