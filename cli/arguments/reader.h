// Reads a command line by what a program declares.
#pragma once

#include <string>

#include "cli/arguments/program.h"

namespace locus {

// What a command line asks for.
struct Reading {
  enum class Outcome { kRun, kHelp, kVersion, kRefused };

  Outcome outcome = Outcome::kRefused;
  const Command* command = nullptr;  // the one it names; none: the program itself, or a line without a command
  std::string refusal;               // of kRefused: what was asked, what was found, what to do
};

// Reads argv[1] and on, and the environment where the line lacks an option. Fills the targets of the command's arguments
// and their `given`; where the line is refused they may hold some of it. Once for each program.
Reading read_command_line(Program& program, int argc, const char* const* argv);

}  // namespace locus
