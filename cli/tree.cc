// Reads the command tree back out of CLI11.
#include "cli/tree.h"

#include <algorithm>

namespace locus {
namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    out.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return out;
}

// CLI11 writes what a check says behind the type's name: "FORMAT:{a,b}", "COUNT:INT in [1 - 9]",
// "COUNT:POSITIVE".
void read_type(const std::string& type, OptionPage& page) {
  std::size_t end = type.size();
  for (const char* mark : {":{", ":INT in [", ":POSITIVE"}) end = std::min(end, type.find(mark));
  page.value = type.substr(0, end);
  const std::string check = type.substr(end);
  if (check.starts_with(":{")) page.choices = split(check.substr(2, check.find('}') - 2));
  if (check.starts_with(":POSITIVE")) page.range = "1 or more";
  if (const std::size_t open = check.find('['); open != std::string::npos) {
    page.range = check.substr(open + 1, check.find(']') - open - 1);
    if (const std::size_t dash = page.range.find(" - "); dash != std::string::npos) page.range.replace(dash, 3, " to ");
  }
}

// A path is written with quotes.
std::string unquoted(const std::string& text) {
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

OptionPage describe(const CLI::Option& option) {
  OptionPage page;
  page.positional = option.get_positional();
  page.name = option.get_name(page.positional, false);
  page.help = option.get_description();
  page.initial = unquoted(option.get_default_str());
  page.variable = option.get_envname();
  page.required = option.get_required();
  page.repeatable = option.get_items_expected_max() > 1;
  read_type(option.get_items_expected_max() == 0 ? "" : option.get_type_name(), page);
  if (page.positional) page.value.clear();
  if (page.value.empty() && option.get_items_expected_max() > 0 && !page.positional) page.value = "TEXT";
  if (page.initial == "[]") page.initial.clear();
  return page;
}

}  // namespace

CommandPage describe(const Command& command) {
  CommandPage page{command.text.name,    command.text.group, command.text.summary, command.text.details, {}, {},
                   command.text.examples};
  for (const CLI::Option* option : command.get_options()) {
    if (option == command.get_help_ptr()) continue;
    (option->get_positional() ? page.positionals : page.options).push_back(describe(*option));
  }
  return page;
}

ProgramPage describe(const CLI::App& program) {
  ProgramPage page{program.get_name(), program.get_description(), {}};
  for (const CLI::App* command : program.get_subcommands({})) {
    if (const auto* ours = dynamic_cast<const Command*>(command)) page.commands.push_back(describe(*ours));
  }
  return page;
}

}  // namespace locus
