// locus pause: no new stages of an experiment are granted.
#include "cli/steering.h"

namespace locus {

void add_pause(Program& app) {
  add_steering(app,
               {"pause",
                kSteerGroup,
                "Stop granting an experiment's stages; running ones go on",
                "Nothing is lost: what runs ends as usual, what waits goes on waiting until `locus resume`.",
                {{"locus pause fashion-mnist-priors", "Let others go first"}}},
               &Client::pause_experiment);
}

}  // namespace locus
