// locus serve: gRPC, HTTP and the dashboard in one process.
#include "server/app/serve.h"

#include <unistd.h>

#include "cli/command.h"
#include "cli/trainer_tool.h"

namespace locus {
namespace {

struct ServeChoice {
  ServerOptions server;
  int stalled_minutes = static_cast<int>(AlertOptions().stalled_after.count());
  bool json = false;
};

void add_tls_options(Command& command, server::TlsOptions& tls) {
  command
      .add_option("--tls-name", tls.names,
                  "Speak TLS, under this host name or address; the server's own authority issues the certificate "
                  "(repeatable)")
      ->type_name("HOST")
      ->one_value_each();
  Argument* const key = command.add_option("--tls-key", tls.key, "Speak TLS with this key, in PEM")->type_name("FILE");
  command.add_option("--tls-cert", tls.certificate, "Its certificate and those above it, in PEM")
      ->type_name("FILE")
      ->needs(key);
  Argument* const external =
      command.add_flag("--external-ca", tls.external_authority, "Have no authority: others issue certificates")
          ->needs(key);
  command.add_option("--tls-ca", tls.anchors, "Authorities whose certificates clients show, in PEM")
      ->type_name("FILE")
      ->needs(external);
}

void add_options(Command& command, ServeChoice& choice) {
  ServerOptions& options = choice.server;
  command.add_option("--data", options.data, "Folder of database and artifacts (default: ~/.local/share/locus)")
      ->type_name("FOLDER");
  command.add_option("--grpc-address", options.grpc_address, "Address for gRPC; port 0 for any free one")
      ->type_name("HOST:PORT")
      ->show_default();
  command.add_option("--http-address", options.http_address, "Address for HTTP and the dashboard; port 0 likewise")
      ->type_name("HOST:PORT")
      ->show_default();
  command.add_option("--web", options.web, "Folder of the dashboard's build")->type_name("FOLDER");
  command.add_option("--catalog", options.catalog, "The engine's catalog, as `locus-trainer catalog` prints it")
      ->type_name("FILE");
  command
      .add_option("--allow-host", options.allowed_hosts,
                  "Further host name a browser may use, for tunnels and proxies (repeatable)")
      ->type_name("HOST")
      ->one_value_each();
  command
      .add_option("--connections-each", options.connections_each,
                  "Connections that one address may have open, on each side; loopback is not counted")
      ->type_name("COUNT")
      ->range(1, 65'536)
      ->show_default();
  command
      .add_option("--alert-command", options.alerts.command,
                  "Run by /bin/sh when an experiment ends or stands still, with JSON on standard input")
      ->type_name("COMMAND");
  command.add_option("--alert-url", options.alerts.url, "Likewise: the same JSON is posted there (http alone)")
      ->type_name("URL");
  command
      .add_option("--alert-stalled", choice.stalled_minutes,
                  "Minutes without progress after which an experiment stands still; 0: never")
      ->type_name("MINUTES")
      ->range(0, 100'000)
      ->show_default();
  command
      .add_option("--artifacts", options.artifacts.address,
                  "Keep checkpoints and models in an object store: s3://BUCKET/PREFIX (default: in the data folder)")
      ->type_name("ADDRESS");
  command
      .add_option("--s3-endpoint", options.artifacts.endpoint,
                  "Its server, https://HOST; default: Amazon's of the region")
      ->type_name("URL");
  command.add_option("--s3-region", options.artifacts.region, "Its region (default: us-east-1)")->type_name("REGION");
  command
      .add_option("--s3-credentials", options.artifacts.credentials,
                  "File with its keys (default: AWS_ACCESS_KEY_ID and its kin, else ~/.aws/credentials)")
      ->type_name("FILE");
  command.add_option("--s3-copies", options.artifacts.copies_gib, "GiB of copies kept in the data folder")
      ->type_name("GIB")
      ->range(1, 100'000)
      ->show_default();
  command.add_option("--data-root", options.data_root, "Folder the datasets lie under, for pictures of images")
      ->type_name("FOLDER")
      ->show_default();
  add_tls_options(command, options.tls);
  command.add_flag("--no-isolation", options.isolate, "Do not keep the program that draws pictures from other files")
      ->clears();
  command.add_flag("--authenticate", options.authenticate, "Ask every caller for a token, on loopback, too");
  command.add_flag("--no-reflection", options.reflection, "Do not describe the services to gRPC tools")->clears();
  command.add_option("--log-level", options.log_level, "How much to say on standard error")
      ->type_name("LEVEL")
      ->one_of({"trace", "debug", "info", "warn", "error"})
      ->show_default();
}

void tell(const ServerAddresses& addresses, bool json) {
  if (json) {
    print(Json({{"grpc", addresses.grpc}, {"http", addresses.http}, {"pid", ::getpid()}}).dump() + "\n");
  } else {
    print("locus serve: grpc " + addresses.grpc + ", dashboard " + addresses.dashboard() + "\n");
  }
}

}  // namespace

void add_serve(Program& app) {
  Command& command = add_command(
      app, {"serve",
            kRunGroup,
            "Start the server: gRPC, HTTP and the dashboard in one process",
            "Prints its addresses once it answers and runs until SIGTERM or SIGINT. Everything it keeps is "
            "in one folder. Without TLS "
            "it listens on loopback alone; other machines come through a tunnel.",
            {{"locus serve", "Dashboard on http://127.0.0.1:7172, everything under ~/.local/share/locus"},
             {"locus serve --alert-command 'mail -s \"$LOCUS_ALERT_SENTENCE\" me@example.org'",
              "A message when an experiment ends or stands still"},
             {"locus serve --tls-name gpu.example.org --grpc-address 0.0.0.0:7171 --http-address 0.0.0.0:7172",
              "For other machines, which enroll with what `locus admin invite` prints"},
             {"locus serve --data /srv/locus --grpc-address 127.0.0.1:0 --http-address 127.0.0.1:0 --json",
              "On free ports, for a program that reads them"}}});
  auto choice = std::make_shared<ServeChoice>();
  choice->server.trainer = trainer_program();
  add_options(command, *choice);
  add_json_option(command, choice->json);
  command.body = [choice] {
    choice->server.alerts.stalled_after = std::chrono::minutes(choice->stalled_minutes);
    const bool json = choice->json;
    const auto status = serve(choice->server, [json](const ServerAddresses& addresses) { tell(addresses, json); });
    return status.ok() ? *status : report_error(status.status(), json);
  };
}

}  // namespace locus
