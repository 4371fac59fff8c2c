// The command tree as data, and what is written from it: --help, the reference page, shell completion.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"

namespace locus {

struct OptionPage {
  std::string name;                     // "--server", or the positional's: "experiment"
  std::string value;                    // "HOST:PORT"; empty for a flag and a positional
  std::string range;                    // "1 to 1024"
  std::string help, initial, variable;  // initial: the default; variable: the environment's
  std::vector<std::string> choices;
  bool required = false, repeatable = false, positional = false;
};

struct CommandPage {
  std::string name, group, summary, details;
  std::vector<OptionPage> positionals, options;
  std::vector<std::pair<std::string, std::string>> examples;
};

struct ProgramPage {
  std::string name, summary;
  std::vector<CommandPage> commands;
};

std::string usage_line(const std::string& program, const CommandPage& command);
std::string render_help(const std::string& program, const CommandPage& command, int width);
std::string render_program_help(const ProgramPage& program, int width);
std::string render_command_reference(const ProgramPage& program);  // Markdown
Json manual_json(const ProgramPage& program);

// Scripts for `bash`, `zsh` and `fish`; empty for another shell. Names of experiments are asked from the
// server while one completes.
std::string render_completion(const ProgramPage& program, const std::string& shell);

}  // namespace locus
