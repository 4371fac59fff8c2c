// locus resume: the end of a pause.
#include "cli/steering.h"

namespace locus {

void add_resume(Program& app) {
  add_steering(app,
               {"resume",
                kSteerGroup,
                "Grant a paused experiment's stages again",
                "An experiment that was paused because its first cells failed alike has the cause in `locus why`; "
                "correct it first.",
                {{"locus resume fashion-mnist-priors", "Go on"}}},
               &Client::resume_experiment);
}

}  // namespace locus
