// What steering commands print.
#include "cli/steering.h"

#include "cli/render/progress.h"
#include "core/base/error.h"

namespace locus {

absl::StatusOr<int> show_steered(const v1::Experiment& before, const absl::StatusOr<v1::Experiment>& answer,
                                 const ServerChoice& choice) {
  if (!answer.ok()) return answer.status();
  const bool unchanged = before.state() == answer->state();
  choice.json ? print_json(*answer)
              : print(render_progress_line(*answer) + "\n" +
                      (unchanged ? "nothing changed: it was " + before.state() + " already\n" : ""));
  return kExitDone;
}

}  // namespace locus
