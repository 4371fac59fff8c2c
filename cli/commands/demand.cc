// locus demand: what waits for a device.
#include "cli/render/demand.h"
#include "cli/command.h"
#include "core/base/error.h"

namespace locus {

void add_demand(Program& app) {
  Command& command =
      add_command(app, {"demand",
                        kFleetGroup,
                        "Say what waits for a device, and for how long it would keep one",
                        "Stages that only wait for a place to run, by what they ask of a worker, with how many workers "
                        "could run them. Times are estimated by stages that ran; where none tells, that is said.",
                        {{"locus demand", "Is another worker worth it?"}}});
  auto choice = std::make_shared<ServerChoice>();
  add_server_options(command, *choice);
  command.body = [choice] {
    return ask_server(*choice, [&](Client& client) -> absl::StatusOr<int> {
      LOCUS_ASSIGN_OR_RETURN(const v1::Demand demand, client.get_demand());
      choice->json ? print_json(demand) : print(render_demand(demand, {terminal().color}));
      return kExitDone;
    });
  };
}

}  // namespace locus
