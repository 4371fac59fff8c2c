// locus why: what a trial waits for, or why it ended as it did.
#include "cli/command.h"
#include "cli/render/reports.h"
#include "core/base/error.h"

namespace locus {

void add_why(Program& app) {
  Command& command =
      add_command(app, {"why",
                        kExperimentGroup,
                        "Explain the state of a trial: what it waits for and until when, or why it failed",
                        "Says for each stage of the trial what stands in its way, until about when, and what "
                        "a person can do about it.",
                        {{"locus why fashion-mnist-priors/17", "Why this one does not run"}}});
  auto choice = std::make_shared<ServerChoice>();
  auto trial = std::make_shared<std::string>();
  add_server_options(command, *choice);
  add_trial(command, *trial);
  command.body = [choice, trial] {
    return ask_server(*choice, [&](Client& client) -> absl::StatusOr<int> {
      v1::ExplainRequest request;
      request.set_trial(*trial);
      LOCUS_ASSIGN_OR_RETURN(const v1::Explanation answer, client.explain(request));
      choice->json ? print_json(answer) : print(render_explanation(answer, {terminal().color}));
      return kExitDone;
    });
  };
}

}  // namespace locus
