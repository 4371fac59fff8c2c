// What a command line may say.
#include "cli/arguments/program.h"

#include <cstdio>
#include <stdexcept>

namespace locus {
namespace {

// A number as people write it: 0.95, not 0.950000.
std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

struct ShowValue {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
  std::string operator()(const int* value) const { return std::to_string(*value); }
  std::string operator()(const std::int64_t* value) const { return std::to_string(*value); }
  std::string operator()(const double* value) const { return short_number(*value); }
  std::string operator()(const std::string* value) const { return *value; }
  std::string operator()(const std::filesystem::path* value) const { return value->string(); }
  std::string operator()(const std::optional<std::string>* value) const { return value->value_or(""); }
  std::string operator()(const std::vector<std::string>* value) const {
    std::string out;
    for (const std::string& one : *value) out += (out.empty() ? "" : ",") + one;
    return out;
  }
};

}  // namespace

Argument::Argument(Kind kind, std::string name, Target target, std::string help) : kind_(kind), target_(target) {
  page_.positional = !name.starts_with("-");
  page_.name = std::move(name);
  page_.help = std::move(help);
  page_.repeatable = std::holds_alternative<std::vector<std::string>*>(target_);
  if (kind == Kind::kOption && !page_.positional) page_.value = "TEXT";
}

Argument* Argument::type_name(const std::string& word) {
  if (!page_.positional) page_.value = word;
  return this;
}

Argument* Argument::required() {
  page_.required = true;
  return this;
}

Argument* Argument::range(int least, int most) {
  range_ = {least, most};
  page_.range = std::to_string(least) + " to " + std::to_string(most);
  return this;
}

Argument* Argument::one_of(std::vector<std::string> choices) {
  page_.choices = std::move(choices);
  return this;
}

Argument* Argument::expected(int fewest, int most) {
  expected_ = {fewest, most};
  page_.repeatable = most > 1;
  return this;
}

Argument* Argument::delimiter(char between) {
  delimiter_ = between;
  return this;
}

Argument* Argument::one_value_each() {
  one_value_each_ = true;
  return this;
}

Argument* Argument::envname(const std::string& variable) {
  page_.variable = variable;
  return this;
}

Argument* Argument::excludes(Argument* other) {
  excluded_.push_back(other);
  return this;
}

Argument* Argument::needs(Argument* other) {
  needed_.push_back(other);
  return this;
}

Argument* Argument::clears() {
  clears_ = true;
  return this;
}

Argument* Argument::show_default() {
  page_.initial = std::visit(ShowValue(), target_);
  return this;
}

Argument* Command::add(Argument::Kind kind, const std::string& name, Argument::Target target, const std::string& help) {
  return arguments_.emplace_back(std::make_unique<Argument>(kind, name, target, help)).get();
}

Argument* Command::add_option(const std::string& name, const std::string& help) {
  return add(Argument::Kind::kOption, name, {}, help);
}

Argument* Command::add_flag(const std::string& name, bool& target, const std::string& help) {
  return add(Argument::Kind::kFlag, name, &target, help);
}

Argument* Command::add_flag(const std::string& name, const std::string& help) {
  return add(Argument::Kind::kFlag, name, {}, help);
}

const Argument& Command::argument(const std::string& name) const {
  for (const auto& one : arguments_) {
    if (one->page().name == name) return *one;
  }
  throw std::logic_error("locus " + text.name + " declares no argument " + name);
}

Command& add_command(Program& program, Command::Text text) {
  return *program.commands.emplace_back(std::make_unique<Command>(std::move(text)));
}

CommandPage describe(const Command& command) {
  CommandPage page{command.text.name,    command.text.group, command.text.summary, command.text.details, {}, {},
                   command.text.examples};
  for (const auto& argument : command.arguments())
    (argument->page().positional ? page.positionals : page.options).push_back(argument->page());
  return page;
}

ProgramPage describe(const Program& program) {
  ProgramPage page{program.name, program.summary, {}};
  for (const auto& command : program.commands) page.commands.push_back(describe(*command));
  return page;
}

}  // namespace locus
