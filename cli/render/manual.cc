// Help and the reference page.
#include "cli/render/manual.h"

#include <algorithm>

#include "cli/render/text_table.h"

namespace locus {
namespace {

constexpr char kExitStatuses[] =
    "0 done; 1 refused or failed, with a sentence on standard error; 2 the command line is wrong";

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

std::string with_value(const OptionPage& option) {
  return option.name + (option.value.empty() ? "" : " " + option.value);
}

// The help with what is true of the value: choices, default, variable.
std::string full_help(const OptionPage& option) {
  std::string out = option.help;
  if (!option.choices.empty()) {
    out += ": ";
    for (std::size_t i = 0; i < option.choices.size(); ++i)
      out += (i == 0 ? "" : i + 1 == option.choices.size() ? " or " : ", ") + option.choices[i];
  }
  std::string facts;
  if (!option.range.empty()) facts = option.range;
  if (!option.initial.empty()) facts += (facts.empty() ? "" : "; ") + ("default " + option.initial);
  if (!option.variable.empty()) facts += (facts.empty() ? "" : "; ") + ("environment " + option.variable);
  return facts.empty() ? out : out + " (" + facts + ")";
}

std::string escape_cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

std::vector<std::string> groups_of(const ProgramPage& program) {
  std::vector<std::string> out;
  for (const CommandPage& command : program.commands) {
    if (std::find(out.begin(), out.end(), command.group) == out.end()) out.push_back(command.group);
  }
  return out;
}

Json option_json(const OptionPage& option) {
  Json out = {{"name", option.name},
              {"help", option.help},
              {"required", option.required},
              {"repeatable", option.repeatable},
              {"flag", !option.positional && option.value.empty()}};
  if (!option.value.empty()) out["value"] = option.value;
  if (!option.initial.empty()) out["default"] = option.initial;
  if (!option.variable.empty()) out["environment"] = option.variable;
  if (!option.range.empty()) out["range"] = option.range;
  if (!option.choices.empty()) out["choices"] = option.choices;
  return out;
}

}  // namespace

std::string usage_line(const std::string& program, const CommandPage& command) {
  std::string out = program + " " + command.name;
  if (!command.options.empty()) out += " [OPTIONS]";
  for (const OptionPage& one : command.positionals) {
    std::string word = upper(one.name) + (one.repeatable ? "..." : "");
    out += " " + (one.required ? word : "[" + word + "]");
  }
  return out;
}

std::string render_help(const std::string& program, const CommandPage& command, int width) {
  std::string out = "NAME\n" + wrap_text(program + " " + command.name + " - " + command.summary, 4, width) +
                    "\nSYNOPSIS\n" + wrap_text(usage_line(program, command), 4, width);
  if (!command.details.empty()) out += "\nDESCRIPTION\n" + wrap_text(command.details, 4, width);
  if (!command.positionals.empty()) {
    out += "\nARGUMENTS\n";
    for (const OptionPage& one : command.positionals)
      out += "    " + upper(one.name) + "\n" + wrap_text(full_help(one), 8, width);
  }
  out += "\nOPTIONS\n";
  for (const OptionPage& one : command.options)
    out += "    " + with_value(one) + "\n" + wrap_text(full_help(one), 8, width);
  out += "    --help\n        Print this page\n";
  if (!command.examples.empty()) {
    out += "\nEXAMPLES\n";
    for (const auto& [line, what] : command.examples) out += "    " + line + "\n" + wrap_text(what, 8, width);
  }
  return out + "\nEXIT STATUS\n" + wrap_text(kExitStatuses, 4, width);
}

std::string render_program_help(const ProgramPage& program, int width) {
  std::string out = wrap_text(program.summary, 0, width) + "\nUsage: " + program.name + " COMMAND [OPTIONS]\n";
  std::size_t longest = 0;
  for (const CommandPage& command : program.commands) longest = std::max(longest, command.name.size());
  for (const std::string& group : groups_of(program)) {
    out += "\n" + group + "\n";
    for (const CommandPage& command : program.commands) {
      if (command.group != group) continue;
      out += "  " + command.name + std::string(longest - command.name.size() + 2, ' ') +
             wrap_text(command.summary, static_cast<int>(longest) + 4, width).substr(longest + 4);
    }
  }
  return out + "\n`" + program.name + " COMMAND --help` describes it, with examples. Every command takes --json.\n" +
         "Start with: locus serve, locus worker, locus submit examples/fashion-mnist-priors.yaml --watch\n";
}

std::string render_command_reference(const ProgramPage& program) {
  std::string out =
      "# The command line\n\n"
      "Written by `tools/docs` from the commands themselves: edit `cli/commands`, not this page.\n\n" +
      program.summary +
      "\n\n"
      "- Every command takes `--json`: one JSON document on standard output, or one a line from those that "
      "go on; an error is\n"
      "  `{\"error\": {code, message, reason, field, where, metadata}}` on standard error.\n"
      "- Exit status: " +
      std::string(kExitStatuses) +
      ".\n"
      "- The server's address comes from `--server`, else `LOCUS_SERVER`, else the configuration file, else "
      "`127.0.0.1:7171`.\n"
      "- The configuration file is `~/.config/locus/config.yaml` (`$XDG_CONFIG_HOME/locus/config.yaml` where "
      "that is set), with the keys\n"
      "  `server` (HOST:PORT) and `owner` (of what you submit).\n"
      "- Colors appear on a terminal alone, and not where `NO_COLOR` is set.\n";
  for (const std::string& group : groups_of(program)) {
    out += "\n## " + group + "\n";
    for (const CommandPage& command : program.commands) {
      if (command.group != group) continue;
      out += "\n### locus " + command.name + "\n\n" + command.summary + ".\n\n";
      if (!command.details.empty()) out += command.details + "\n\n";
      out += "    " + usage_line(program.name, command) + "\n\n| argument or option | meaning |\n|---|---|\n";
      for (const OptionPage& one : command.positionals)
        out += "| `" + upper(one.name) + "` | " + escape_cell(full_help(one)) + " |\n";
      for (const OptionPage& one : command.options)
        out += "| `" + with_value(one) + "` | " + escape_cell(full_help(one)) + " |\n";
      if (command.examples.empty()) continue;
      out += "\n```sh\n";
      for (const auto& [line, what] : command.examples) out += "# " + what + "\n" + line + "\n";
      out += "```\n";
    }
  }
  return out;
}

Json manual_json(const ProgramPage& program) {
  Json commands = Json::array();
  for (const CommandPage& command : program.commands) {
    Json one = {{"name", command.name},
                {"group", command.group},
                {"summary", command.summary},
                {"details", command.details},
                {"usage", usage_line(program.name, command)}};
    one["arguments"] = one["options"] = one["examples"] = Json::array();
    for (const OptionPage& option : command.positionals) one["arguments"].push_back(option_json(option));
    for (const OptionPage& option : command.options) one["options"].push_back(option_json(option));
    for (const auto& [line, what] : command.examples) one["examples"].push_back({{"line", line}, {"what", what}});
    commands.push_back(std::move(one));
  }
  return {{"program", program.name}, {"summary", program.summary}, {"commands", std::move(commands)}};
}

}  // namespace locus
