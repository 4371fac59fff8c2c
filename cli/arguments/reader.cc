// Reads command lines with CLI11, which no other file knows.
#include "cli/arguments/reader.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <type_traits>

#include "core/base/nearest.h"

namespace locus {

// A program as CLI11 declares it.
class CommandLineReader {
 public:
  explicit CommandLineReader(Program& program) : program_(program), app_(program.summary, program.name) {
    app_.set_version_flag("--version", program.version);
    app_.require_subcommand(1);
    for (const auto& command : program.commands) add(*command);
  }

  // Throws CLI::ParseError, and what CLI11 derives from it for --help and --version.
  void read(int argc, const char* const* argv) {
    app_.parse(argc, argv);
    for (const auto& [argument, option] : options_) argument->given_ = option->results();
  }

  // The command that the words named, if one of them does.
  const Command* chosen() const {
    const auto parsed = app_.get_subcommands();
    if (parsed.empty()) return nullptr;
    const auto named = [&](const auto& one) { return one->text.name == parsed.front()->get_name(); };
    return std::find_if(program_.commands.begin(), program_.commands.end(), named)->get();
  }

  // What was asked, what was found, what to do.
  std::string refusal(const CLI::ParseError& error) const;

 private:
  void add(const Command& command) {
    auto app = std::make_shared<CLI::App>(command.text.summary, command.text.name);
    for (const auto& argument : command.arguments()) {
      CLI::Option* option = argument->is_flag() ? flag(*app, *argument) : value(*app, *argument);
      if (argument->page_.required) option->required();
      for (Argument* other : argument->excluded_) option->excludes(options_.at(other));
      for (Argument* other : argument->needed_) option->needs(options_.at(other));
      options_.emplace(argument.get(), option);
    }
    app_.add_subcommand(app);
  }

  static CLI::Option* flag(CLI::App& app, const Argument& argument) {
    const std::string name = (argument.clears_ ? "!" : "") + argument.page_.name;
    const auto* target = std::get_if<bool*>(&argument.target_);
    CLI::Option* option = target ? app.add_flag(name, **target) : app.add_flag(name);
    return option->envname(argument.page_.variable);
  }

  static CLI::Option* value(CLI::App& app, const Argument& argument) {
    const OptionPage& page = argument.page_;
    CLI::Option* option = std::visit(
        [&](auto target) {
          if constexpr (std::is_same_v<decltype(target), std::monostate>) {
            return app.add_option(page.name);
          } else {
            return app.add_option(page.name, *target);
          }
        },
        argument.target_);
    option->type_name(page.value)->envname(page.variable)->delimiter(argument.delimiter_);
    if (argument.expected_) option->expected(argument.expected_->first, argument.expected_->second);
    if (argument.one_value_each_) option->allow_extra_args(false);
    if (argument.range_) option->check(CLI::Range(argument.range_->first, argument.range_->second));
    if (!page.choices.empty()) option->check(CLI::IsMember(page.choices));
    return option;
  }

  Program& program_;
  CLI::App app_;
  std::map<Argument*, CLI::Option*> options_;
};

namespace {

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  const auto nearest = nearest_name(word, known);
  return nearest ? "; did you mean " + *nearest + "?" : "";
}

}  // namespace

std::string CommandLineReader::refusal(const CLI::ParseError& error) const {
  const Command* command = chosen();
  const std::string& program = program_.name;
  const std::string see = "; see " + program + (command ? " " + command->text.name : "") + " --help";
  std::vector<std::string> left = app_.remaining(true);
  std::erase(left, "--json");  // it says how to answer, here too
  std::vector<std::string> known;
  if (command == nullptr) {
    for (const auto& one : program_.commands) known.push_back(one->text.name);
    const auto word = std::find_if(left.begin(), left.end(), [](const auto& w) { return !w.starts_with("-"); });
    if (word != left.end()) return program + " has no command '" + *word + "'" + suggestion(*word, known) + see;
    if (!left.empty()) return program + " has no option " + left.front() + see;
    return program + " needs a command, as in " + program + " list" + see;
  }
  const CommandPage page = describe(*command);
  const std::string here = program + " " + page.name;
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !left.empty()) {
    for (const OptionPage& one : page.options) known.push_back(one.name);
    const bool option = left.front().starts_with("-");
    return here + (option ? " has no option " : " takes no further argument ") + left.front() +
           (option ? suggestion(left.front().substr(0, left.front().find('=')), known) : "") + see;
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
    return here + ": " + error.what() + ": " + usage_line(program, page) + see;
  return here + ": " + error.what() + see;
}

Reading read_command_line(Program& program, int argc, const char* const* argv) {
  CommandLineReader reader(program);
  try {
    reader.read(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return {Reading::Outcome::kHelp, reader.chosen(), ""};
  } catch (const CLI::CallForVersion&) {
    return {Reading::Outcome::kVersion, nullptr, ""};
  } catch (const CLI::ParseError& error) {
    return {Reading::Outcome::kRefused, reader.chosen(), reader.refusal(error)};
  }
  return {Reading::Outcome::kRun, reader.chosen(), ""};
}

}  // namespace locus
