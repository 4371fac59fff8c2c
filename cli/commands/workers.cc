// locus workers: who is there and what they do.
#include "cli/command.h"
#include "cli/render/listings.h"
#include "cli/render/reports.h"
#include "core/base/error.h"

namespace locus {

void add_workers(Program& app) {
  Command& command =
      add_command(app, {"workers",
                        kFleetGroup,
                        "List the workers and what they run, or show one with what went wrong on it",
                        "A worker is active, silent (nothing heard of it for a while), draining or offline. One that "
                        "was offline for a week is left out until it comes back; what it ran keeps its name.",
                        {{"locus workers", "Who is there"},
                         {"locus workers old-box --forget", "Leave an offline one out at once"},
                         {"locus workers gpu-3", "One of them, with its last attempts and their reasons"}}});
  auto choice = std::make_shared<ServerChoice>();
  auto quiet = std::make_shared<bool>(false), all = std::make_shared<bool>(false);
  auto forget = std::make_shared<bool>(false);
  auto name = std::make_shared<std::string>();
  add_server_options(command, *choice);
  auto* one = command.add_option("worker", *name, "Name of one, to show it in full")->type_name("");
  command.add_flag("--all", *all, "Those that were offline for long or are forgotten, too")->excludes(one);
  command.add_flag("--forget", *forget, "Leave that one, which is offline, out of the list")->needs(one);
  command.add_flag("--quiet", *quiet, "Names alone, one a line");
  command.body = [choice, quiet, name, all, forget] {
    return ask_server(*choice, [&](Client& client) -> absl::StatusOr<int> {
      if (*forget) {
        v1::ForgetWorkerRequest request;
        request.set_name(*name);
        LOCUS_ASSIGN_OR_RETURN(const v1::Worker answer, client.forget_worker(request));
        choice->json ? print_json(answer)
                     : print(answer.name() + " is left out of the list until it comes back; --all shows it\n");
        return kExitDone;
      }
      if (!name->empty()) {
        v1::GetWorkerRequest request;
        request.set_name(*name);
        LOCUS_ASSIGN_OR_RETURN(const v1::WorkerDetail detail, client.get_worker(request));
        choice->json ? print_json(detail) : print(render_worker(detail, {terminal().color}));
        return kExitDone;
      }
      v1::ListWorkersRequest request;
      request.set_all(*all);
      LOCUS_ASSIGN_OR_RETURN(const v1::ListWorkersResponse answer, client.list_workers(request));
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
