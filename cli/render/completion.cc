// Shell completion, written from the command tree.
#include <algorithm>

#include "cli/render/manual.h"
#include "core/base/text.h"

namespace locus {
namespace {

// What may stand at a place of the command line.
enum class Stuff { kNothing, kChoices, kFiles, kFolders, kExperiments, kTrials, kWorkers, kCommands };

Stuff stuff_of(const OptionPage& option) {
  if (!option.choices.empty()) return Stuff::kChoices;
  const std::string& name = option.positional ? option.name : option.value;
  if (name == "FILE" || name == "specification") return Stuff::kFiles;
  if (name == "FOLDER" || name == "PATH" || name == "path") return Stuff::kFolders;
  if (name == "experiment" || name == "name") return Stuff::kExperiments;
  if (name == "trial" || name == "trials") return Stuff::kTrials;
  if (name == "worker" || name == "WORKER") return Stuff::kWorkers;
  return Stuff::kNothing;
}

std::vector<std::string> names_of(const ProgramPage& program) {
  std::vector<std::string> out;
  for (const CommandPage& command : program.commands) out.push_back(command.name);
  return out;
}

// ---- bash ----

std::string bash_words(const std::string& words) { return "$(compgen -W \"" + words + "\" -- \"$current\")"; }

std::string bash_stuff(const OptionPage& option) {
  switch (stuff_of(option)) {
    case Stuff::kChoices:
      return bash_words(joined(option.choices, " "));
    case Stuff::kFiles:
      return "$(compgen -f -- \"$current\")";
    case Stuff::kFolders:
      return "$(compgen -d -- \"$current\")";
    case Stuff::kExperiments:
    case Stuff::kTrials:
      return bash_words("$(locus list --quiet 2>/dev/null)");
    case Stuff::kWorkers:
      return bash_words("$(locus workers --quiet 2>/dev/null)");
    default:
      return "";
  }
}

std::string bash_command(const CommandPage& command) {
  std::string out = "    " + command.name + ")\n      case $previous in\n", flags = "--help";
  for (const OptionPage& option : command.options) {
    flags += " " + option.name;
    if (!option.value.empty())
      out += "        " + option.name + ") COMPREPLY=(" + bash_stuff(option) + "); return ;;\n";
  }
  out += "      esac\n      case $current in\n        -*) COMPREPLY=(" + bash_words(flags) + ") ;;\n";
  if (!command.positionals.empty())
    out += "        *) COMPREPLY=(" + bash_stuff(command.positionals.front()) + ") ;;\n";
  return out + "      esac ;;\n";
}

std::string bash_script(const ProgramPage& program) {
  std::string out =
      "# Completion for bash; load it with: source <(locus completion bash)\n"
      "_locus() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=(" +
      bash_words(joined(names_of(program), " ") + " --help --version") +
      ")\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n";
  for (const CommandPage& command : program.commands) out += bash_command(command);
  return out + "  esac\n}\ncomplete -o filenames -F _locus locus\n";
}

// ---- zsh ----

// Text between single quotes, where brackets and colons mean something to _arguments.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out;
}

std::string zsh_stuff(const OptionPage& option) {
  switch (stuff_of(option)) {
    case Stuff::kChoices:
      return "(" + joined(option.choices, " ") + ")";
    case Stuff::kFiles:
      return "_files";
    case Stuff::kFolders:
      return "_files -/";
    case Stuff::kExperiments:
    case Stuff::kTrials:
      return "_locus_experiments";
    case Stuff::kWorkers:
      return "_locus_workers";
    default:
      return " ";
  }
}

std::string zsh_script(const ProgramPage& program) {
  std::string out =
      "#compdef locus\n"
      "# Completion for zsh; load it with: source <(locus completion zsh)\n"
      "_locus_experiments() { compadd -- ${(f)\"$(locus list --quiet 2>/dev/null)\"} }\n"
      "_locus_workers() { compadd -- ${(f)\"$(locus workers --quiet 2>/dev/null)\"} }\n"
      "_locus() {\n"
      "  local -a commands=(\n";
  for (const CommandPage& command : program.commands)
    out += "    '" + command.name + ":" + zsh_text(command.summary) + "'\n";
  out +=
      "  )\n"
      "  if ((CURRENT == 2)); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  ((CURRENT--))\n"
      "  case $command in\n";
  for (const CommandPage& command : program.commands) {
    out += "    " + command.name + ") _arguments \\\n      '--help[Print the page of the command]'";
    for (const OptionPage& option : command.options) {
      out += " \\\n      '" + std::string(option.repeatable ? "*" : "") + option.name + "[" + zsh_text(option.help) +
             "]" + (option.value.empty() ? "" : ":" + zsh_text(option.value) + ":" + zsh_stuff(option)) + "'";
    }
    for (const OptionPage& option : command.positionals) {
      out += " \\\n      '" + std::string(option.repeatable ? "*" : "") + ":" + option.name + ":" + zsh_stuff(option) +
             "'";
    }
    out += " ;;\n";
  }
  // Installed where zsh looks, the file is the function itself when it is first asked.
  return out + "  esac\n}\nif [[ $funcstack[1] = _locus ]]; then _locus \"$@\"; else compdef _locus locus; fi\n";
}

// ---- fish ----

std::string fish_text(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

std::string fish_stuff(const OptionPage& option) {
  switch (stuff_of(option)) {
    case Stuff::kChoices:
      return " -x -a " + fish_text(joined(option.choices, " "));
    case Stuff::kFiles:
      return " -r -F";
    case Stuff::kFolders:
      return " -x -a '(__fish_complete_directories)'";
    case Stuff::kExperiments:
    case Stuff::kTrials:
      return " -x -a '(locus list --quiet 2>/dev/null)'";
    case Stuff::kWorkers:
      return " -x -a '(locus workers --quiet 2>/dev/null)'";
    default:
      return " -x";
  }
}

std::string fish_script(const ProgramPage& program) {
  std::string out =
      "# Completion for fish; load it with: locus completion fish | source\n"
      "complete -c locus -f\n";
  for (const CommandPage& command : program.commands) {
    out += "complete -c locus -n __fish_use_subcommand -a " + command.name + " -d " + fish_text(command.summary) + "\n";
    const std::string here = "complete -c locus -n '__fish_seen_subcommand_from " + command.name + "'";
    for (const OptionPage& option : command.options) {
      out += here + " -l " + option.name.substr(2) + (option.value.empty() ? "" : fish_stuff(option)) + " -d " +
             fish_text(option.help) + "\n";
    }
    for (const OptionPage& option : command.positionals) {
      if (stuff_of(option) != Stuff::kNothing) out += here + fish_stuff(option) + "\n";
    }
  }
  return out;
}

}  // namespace

std::string render_completion(const ProgramPage& program, const std::string& shell) {
  if (shell == "bash") return bash_script(program);
  if (shell == "zsh") return zsh_script(program);
  if (shell == "fish") return fish_script(program);
  return "";
}

}  // namespace locus
