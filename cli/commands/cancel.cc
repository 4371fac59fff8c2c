// locus cancel: stops an experiment for good.
#include "cli/steering.h"

namespace locus {

void add_cancel(Program& app) {
  add_steering(app,
               {"cancel",
                kSteerGroup,
                "Cancel an experiment; stages that another experiment references go on",
                "What runs is asked to stop at once; results that are there stay. `locus rerun` takes it up again.",
                {{"locus cancel fashion-mnist-priors", "Stop it"}}},
               &Client::cancel_experiment);
}

}  // namespace locus
