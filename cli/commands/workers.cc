// locus workers: who is there and what they do.
#include "cli/command.h"
#include "cli/render/listings.h"
#include "cli/render/reports.h"
#include "core/base/error.h"

namespace locus {

void add_workers(CLI::App& app) {
  Command& command =
      add_command(app, {"workers",
                        kFleetGroup,
                        "List the workers and what they run, or show one with what went wrong on it",
                        "A worker is active, silent (nothing heard of it for a while), draining or offline.",
                        {{"locus workers", "Who is there"},
                         {"locus workers gpu-3", "One of them, with its last attempts and their reasons"}}});
  auto choice = std::make_shared<ServerChoice>();
  auto quiet = std::make_shared<bool>(false);
  auto name = std::make_shared<std::string>();
  add_server_options(command, *choice);
  command.add_option("worker", *name, "Name of one, to show it in full")->type_name("");
  command.add_flag("--quiet", *quiet, "Names alone, one a line");
  command.body = [choice, quiet, name] {
    return ask_server(*choice, [&](Client& client) -> absl::StatusOr<int> {
      if (!name->empty()) {
        v1::GetWorkerRequest request;
        request.set_name(*name);
        LOCUS_ASSIGN_OR_RETURN(const v1::WorkerDetail detail, client.get_worker(request));
        choice->json ? print_json(detail) : print(render_worker(detail, {terminal().color}));
        return kExitDone;
      }
      LOCUS_ASSIGN_OR_RETURN(const v1::ListWorkersResponse answer, client.list_workers());
      if (*quiet) {
        for (const v1::Worker& worker : answer.workers()) print(worker.name() + "\n");
      } else {
        choice->json ? print_json(answer) : print(render_workers(answer, {terminal().color}));
      }
      return kExitDone;
    });
  };
}

}  // namespace locus
