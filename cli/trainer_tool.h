// Commands that the trainer carries out: this program only starts it.
#pragma once

#include <string>
#include <vector>

namespace locus {

// Becomes `locus-trainer <tool> <arguments>`, the trainer beside this program (LOCUS_TRAINER names another).
// A YAML file behind --spec is handed over as JSON. Returns only when that is impossible: says why on
// standard error and returns kExitFailed or, where an argument is at fault, kExitUsage.
int become_trainer_tool(const std::string& tool, std::vector<std::string> arguments);

}  // namespace locus
