// locus provisioner: keeps as many workers alive as wait for work.
#include "provisioner/provisioner.h"

#include "cli/command.h"
#include "cli/text_file.h"
#include "cli/yaml.h"
#include "client/enrollment.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/ids.h"
#include "core/base/invalid.h"
#include "core/log/log.h"

namespace locus {
namespace {

constexpr std::size_t kProvisionerFileMost = 1 << 20;
constexpr auto kInvitedFor = std::chrono::hours(48);
constexpr std::size_t kPoolLength = 40;  // engines put words before and after it, and have limits of their own

struct ProvisionerOptions {
  ServerChoice server;
  std::string engine, pool, config, worker_server;
  int min = 0, max = 1;
  bool once = false;
};

struct Provision {
  std::unique_ptr<Engine> engine;
  PoolRules rules;
};

absl::StatusOr<Provision> prepare(const ProvisionerOptions& options, const std::string& server) {
  if (!valid_name(options.pool) || options.pool.size() > kPoolLength) {
    return invalid("--pool", "\"" + options.pool +
                                 "\" is no name of a pool: lower-case letters, digits and dashes, at most 40, a letter "
                                 "first");
  }
  LOCUS_ASSIGN_OR_RETURN(const std::string text, read_text(options.config, "settings", kProvisionerFileMost));
  LOCUS_ASSIGN_OR_RETURN(const YamlDocument document, parse_yaml(text));
  Provision out;
  LOCUS_ASSIGN_OR_RETURN(out.rules,
                         read_pool_rules(document.json, options.engine, options.pool, options.min, options.max));
  EngineSetup setup{options.pool, options.worker_server.empty() ? server : options.worker_server, Json::object()};
  if (document.json.is_object()) setup.settings = document.json.value(options.engine, Json::object());
  LOCUS_ASSIGN_OR_RETURN(out.engine, make_engine(options.engine, setup));
  return out;
}

// A provisioner outlives certificates.
absl::StatusOr<v1::Demand> ask_demand(Client& client, const ClientTls& tls) {
  if (tls.wanted()) {
    const auto due = renewal_due(tls, system_clock().wall() / 1'000'000);
    const absl::Status renewed = due.ok() && *due ? renew(client, tls) : due.status();
    if (!renewed.ok()) log_warning("the certificate was not renewed: {}", std::string(renewed.message()));
  }
  return client.get_demand();
}

// A job may wait for long until it begins.
absl::StatusOr<std::string> invite(Client& client, const std::string& name) {
  v1::CreateInvitationRequest request;
  request.set_role("worker");
  request.set_name(name);
  request.mutable_ttl()->set_seconds(std::chrono::seconds(kInvitedFor).count());
  LOCUS_ASSIGN_OR_RETURN(const v1::Invitation invitation, client.create_invitation(request));
  return invitation.token();
}

void show(const ProvisionRound& round, bool json) {
  if (json) {
    print(Json({{"queued", round.queued}, {"wanted", round.wanted}, {"there", round.there}, {"started", round.started}})
              .dump() +
          "\n");
    return;
  }
  print(std::to_string(round.queued) + " stages wait, " + std::to_string(round.wanted) + " workers wanted, " +
        std::to_string(round.there) + " there, " + std::to_string(round.started) + " started\n");
}

absl::StatusOr<int> provision(const ProvisionerOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(const Destination to, destination(options.server));
  LOCUS_ASSIGN_OR_RETURN(const Provision pool, prepare(options, to.address));
  if (to.tls.wanted() && !options.worker_server.starts_with("https://")) {
    return invalid("--worker-server",
                   "this server asks who calls, so each worker enrolls first; give the address at which it finds the "
                   "dashboard: --worker-server https://HOST:PORT");
  }
  hold_end_signals();
  LOCUS_ASSIGN_OR_RETURN(const auto client, Client::connect(to.address, {.tls = to.tls}));
  InviteWorker invites;
  if (to.tls.wanted()) invites = [&](const std::string& name) { return invite(*client, name); };
  Provisioner provisioner(
      options.pool, pool.rules, *pool.engine, [&] { return ask_demand(*client, to.tls); }, invites);
  if (options.once) {
    LOCUS_ASSIGN_OR_RETURN(const ProvisionRound round, provisioner.look());
    show(round, options.server.json);
    return kExitDone;
  }
  name_log("provisioner");
  keep_provisioning(provisioner, kProvisionEvery,
                    [&](const ProvisionRound& round) { show(round, options.server.json); });
  return kExitDone;
}

}  // namespace

void add_provisioner(Program& app) {
  Command& command = add_command(
      app,
      {"provisioner",
       kRunGroup,
       "Start workers where stages wait: through Slurm, Kubernetes or a command of yours",
       "Every 15 s it asks the server what waits and the engine how many jobs of the pool there are, and starts what "
       "is "
       "lacking, a quarter of --max at most at a time. Workers end by themselves (`locus worker --exit-when-idle`). It "
       "remembers nothing, so it may be killed or started anew at any time. The settings are described in "
       "docs/operations.md.",
       {{"locus provisioner --engine slurm --pool gpu --max 8 --config slurm.yaml", "Up to eight jobs of Slurm"},
        {"locus provisioner --engine exec --pool cloud --max 4 --config exec.yaml --once",
         "One look, for cron or to try it out"}}});
  auto options = std::make_shared<ProvisionerOptions>();
  add_server_options(command, options->server);
  command.add_option("--engine", options->engine, "What starts machines")
      ->type_name("ENGINE")
      ->one_of(engine_names())
      ->required();
  command.add_option("--pool", options->pool, "Name that its jobs are labeled with")->type_name("NAME")->required();
  command.add_option("--config", options->config, "File of settings in YAML or JSON; - for standard input")
      ->type_name("FILE")
      ->required();
  command.add_option("--min", options->min, "Workers to keep even when nothing waits")
      ->type_name("COUNT")
      ->range(0, 10'000)
      ->show_default();
  command.add_option("--max", options->max, "Workers at most")->type_name("COUNT")->range(1, 10'000)->show_default();
  command
      .add_option(
          "--worker-server", options->worker_server,
          "Address at which its workers find the server (default: as the provisioner does); of a server that asks who "
          "calls the dashboard's, https://HOST:PORT")
      ->type_name("ADDRESS");
  command.add_flag("--once", options->once, "Look once and end; what fails then is the exit status");
  command.body = [options] {
    const auto answer = provision(*options);
    if (answer.ok()) return *answer;
    return report_error(answer.status(), options->server.json, nullptr,
                        absl::IsInvalidArgument(answer.status()) ? kExitUsage : kExitFailed);
  };
}

}  // namespace locus
