// locus drain: gives a worker no more work.
#include "cli/command.h"
#include "cli/render/listings.h"
#include "core/base/error.h"

namespace locus {
namespace {

struct DrainOptions {
  ServerChoice server;
  std::string worker, reason, until;
  bool stop = false, undo = false;
};

absl::StatusOr<v1::Worker> ask(Client& client, const DrainOptions& options) {
  if (options.undo) {
    v1::UndrainWorkerRequest request;
    request.set_name(options.worker);
    return client.undrain_worker(request);
  }
  v1::DrainWorkerRequest request;
  request.set_name(options.worker);
  request.set_reason(options.reason);
  request.set_stop(options.stop);
  request.set_until(options.until);
  return client.drain_worker(request);
}

}  // namespace

void add_drain(Program& app) {
  Command& command = add_command(app, {"drain",
                                       kFleetGroup,
                                       "Give a worker no more stages",
                                       "What it runs goes on to its end, or with --stop is saved and given "
                                       "to others. A drain holds over restarts of the "
                                       "worker and the server until it is taken back.",
                                       {{"locus drain gpu-3 --reason 'new driver'", "Before a maintenance"},
                                        {"locus drain gpu-3 --until 2026-12-01T08:00Z --stop",
                                         "It works until then; what still runs is saved and given to others"},
                                        {"locus drain gpu-3 --undo", "After it"}}});
  auto options = std::make_shared<DrainOptions>();
  add_server_options(command, options->server);
  command.add_option("worker", options->worker, "Name of the worker")->type_name("")->required();
  command.add_option("--reason", options->reason, "Why, for people")->type_name("TEXT");
  auto* stop = command.add_flag("--stop", options->stop, "Have what it runs saved and stopped");
  auto* until =
      command
          .add_option("--until", options->until,
                      "Until then it is given what is estimated to end before, and nothing afterwards: 6h from "
                      "now, or a time such as 2026-12-01T08:00Z")
          ->type_name("WHEN");
  command.add_flag("--undo", options->undo, "Take the drain back")->excludes(stop)->excludes(until);
  command.body = [options] {
    return ask_server(options->server, [&](Client& client) -> absl::StatusOr<int> {
      LOCUS_ASSIGN_OR_RETURN(const v1::Worker answer, ask(client, *options));
      v1::ListWorkersResponse one;
      *one.add_workers() = answer;
      options->server.json ? print_json(answer) : print(render_workers(one, {terminal().color}));
      return kExitDone;
    });
  };
}

}  // namespace locus
