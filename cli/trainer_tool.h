// Commands that the trainer carries out: this program only starts it.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments/program.h"

namespace locus {

std::string trainer_program();  // the trainer beside this program; LOCUS_TRAINER names another
// How it is started: the program, and the plugins that LOCUS_PLUGINS names, separated by colons.
std::vector<std::string> trainer_words();

// A name under which the trainer can read `text`; the descriptor stays open across exec. Empty on failure.
std::string readable_after_exec(const std::string& text);

// What was given to `command`, as the trainer takes it: options under their own names, all but --json.
std::vector<std::string> given_arguments(const Command& command);

// Runs `locus-trainer <tool> <arguments>`, the trainer beside this program (LOCUS_TRAINER names another), and
// returns its exit status. A YAML file behind --spec is handed over as JSON. What the trainer says on
// standard error stays as it is, or becomes an error document with `json`.
int run_trainer_tool(const std::string& tool, std::vector<std::string> arguments, bool json);

}  // namespace locus
