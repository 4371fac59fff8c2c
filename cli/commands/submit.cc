// locus submit: stores a specification; the workers do the rest.
#include <cstdlib>

#include "cli/command.h"
#include "cli/render/listings.h"
#include "cli/render/plan.h"
#include "cli/settings.h"
#include "cli/uploads.h"
#include "core/base/error.h"
#include "core/base/utf8.h"

namespace locus {
namespace {

struct SubmitOptions {
  ServerChoice server;
  SpecChoice spec;
  std::string owner;
  bool replace = false, choose_again = false, watch = false;
};

// Empty where the server knows who calls: then the experiment is of the caller's account.
absl::StatusOr<std::string> owner_of(const SubmitOptions& options) {
  if (!options.owner.empty()) return options.owner;
  LOCUS_ASSIGN_OR_RETURN(const Destination to, destination(options.server));
  if (to.signed_in()) return std::string();
  LOCUS_ASSIGN_OR_RETURN(const Settings settings, read_settings(settings_path()));
  if (!settings.owner.empty()) return settings.owner;
  const char* user = std::getenv("USER");
  const std::string name = user ? user : "";
  if (!first_not_utf8(name)) return name;
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                    "the environment variable USER is not UTF-8 text; name the owner with --owner");
}

// What is left to run, as a plan says it. The submission is made: where the plan fails there is nothing to add.
std::string cost_of(Client& client, const SpecFile& spec, const v1::CreateExperimentResponse& response) {
  if (response.stages_to_run() == 0) return "";
  v1::PlanExperimentRequest request;
  request.set_spec_json(spec.text());
  const auto plan = client.plan_experiment(request);
  return plan.ok() ? render_cost(*plan) : "";
}

// The server gets the weights that the specification names by files before it can grant a stage that starts from them; a
// specification that it would refuse sends nothing.
absl::Status send_weights(Client& client, const SpecFile& spec) {
  if (spec.weights().empty()) return absl::OkStatus();
  v1::PlanExperimentRequest request;
  request.set_spec_json(spec.text());
  LOCUS_RETURN_IF_ERROR(client.plan_experiment(request).status());
  for (const WeightsFile& file : spec.weights()) LOCUS_RETURN_IF_ERROR(keep_weights(client, file.path).status());
  return absl::OkStatus();
}

int run(const SubmitOptions& options) {
  const bool json = options.server.json;
  const auto spec = read_spec(options.spec);
  if (!spec.ok()) return report_error(spec.status(), json);
  return ask_server(options.server, [&](Client& client) -> absl::StatusOr<int> {
    v1::CreateExperimentRequest request;
    request.set_spec_json(spec->text());
    LOCUS_ASSIGN_OR_RETURN(const std::string owner, owner_of(options));
    request.set_owner(owner);
    request.set_replace(options.replace);
    request.set_choose_again(options.choose_again);
    if (const absl::Status sent = send_weights(client, *spec); !sent.ok()) return report_error(sent, json, &*spec);
    const auto response = client.create_experiment(request);
    if (!response.ok()) return report_error(response.status(), json, &*spec);
    const std::string& name = response->experiment().name();
    json ? print_json(*response, options.watch)
         : print(render_submission(*response) + cost_of(client, *spec, *response));
    if (options.watch) return follow(client, name, json);
    if (!json) print("follow it: locus watch " + name + "\nread it:   locus leaderboard " + name + "\n");
    return kExitDone;
  });
}

}  // namespace

void add_submit(Program& app) {
  Command& command = add_command(
      app, {"submit",
            kExperimentGroup,
            "Store a specification; only stages without a result will run",
            "Submitting the same specification again changes nothing. More cells, seeds or stages under the "
            "same name extend the "
            "experiment; a specification that would drop or change trials needs --replace. A file that section init "
            "names with from is uploaded first, so that every worker has it; what is stored is its SHA-256.",
            {{"locus submit examples/fashion-mnist-priors.yaml --watch", "Store it and follow it to the end"},
             {"locus submit examples/fashion-mnist-priors.yaml --set train.epochs=5 --set "
              "'matrix.prior=[none,violin]' "
              "--set name=longer --set baseline.prior=none",
              "A variation, without a file of its own"},
             {"generate-specification | locus submit -", "From another program, on standard input"}}});
  auto options = std::make_shared<SubmitOptions>();
  add_server_options(command, options->server);
  add_spec_options(command, options->spec);
  command
      .add_option("--owner", options->owner,
                  "Whose experiment it is (default: with a profile your account's, else the configuration file's, else "
                  "USER)")
      ->type_name("NAME");
  command.add_flag("--replace", options->replace,
                   "Allow a changed specification to drop trials from the experiment of this name");
  command.add_flag("--choose-again", options->choose_again,
                   "Let phases that would by now choose otherwise do so, and run the later ones with that");
  command.add_flag("--watch", options->watch, "Follow it until it is over");
  command.body = [options] { return run(*options); };
}

}  // namespace locus
