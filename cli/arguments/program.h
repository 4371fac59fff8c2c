// What a command line may say, declared as data: a program has commands, a command has arguments. Help, the reference
// page and completion are written from it (cli/render/manual.h), and reader.h reads a command line by it. No header of
// the library that reads is needed here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/render/manual.h"

namespace locus {

// An option ("--name VALUE"), a flag ("--name") or a positional ("name"). It belongs to its command. The functions that
// declare it return the argument itself, so that they can be chained; they are called before a command line is read.
class Argument {
 public:
  // Where the value goes; nowhere: it is read with `given`. Several values come one after another into a vector.
  using Target = std::variant<std::monostate, bool*, int*, std::int64_t*, double*, std::string*, std::filesystem::path*,
                              std::optional<std::string>*, std::vector<std::string>*>;

  enum class Kind { kOption, kFlag };

  // The target must outlive the reading. A name without dashes is a positional.
  Argument(Kind kind, std::string name, Target target, std::string help);

  Argument* type_name(const std::string& word);        // what stands for the value: FILE
  Argument* required();                                // a command line without it is refused
  Argument* range(int least, int most);                // whole numbers, both ends among them
  Argument* one_of(std::vector<std::string> choices);  // nothing else is taken
  Argument* expected(int fewest, int most);            // how many values a vector takes in all
  Argument* delimiter(char between);                   // splits one word into several values
  Argument* one_value_each();                          // of a vector: a further value needs the name once more
  Argument* envname(const std::string& variable);      // read from the environment where the line lacks it
  Argument* excludes(Argument* other);                 // both together are refused; declared before this one
  Argument* needs(Argument* other);                    // refused without the other; likewise
  Argument* clears();                                  // of a flag: it sets its target to false
  Argument* show_default();                            // help shows what the target holds now

  // What help says of it.
  const OptionPage& page() const { return page_; }
  // Its values as they were given on the command line or by the environment; empty if it was not. A flag has one.
  const std::vector<std::string>& given() const { return given_; }
  bool is_flag() const { return kind_ == Kind::kFlag; }

 private:
  friend class CommandLineReader;  // which translates the declaration and fills in what was given

  Kind kind_;
  OptionPage page_;
  Target target_;
  std::vector<std::string> given_;
  std::optional<std::pair<int, int>> range_, expected_;
  std::vector<Argument*> excluded_, needed_;
  char delimiter_ = '\0';
  bool one_value_each_ = false, clears_ = false;
};

// A command with what --help, the reference page and completion say of it. It owns its arguments.
class Command {
 public:
  struct Text {
    std::string name, group, summary, details;
    std::vector<std::pair<std::string, std::string>> examples;  // command line, what it does
  };
  explicit Command(Text text_in) : text(std::move(text_in)) {}

  // Adds an argument; a name must be new. The pointers live as long as the command.
  template <class Value>
  Argument* add_option(const std::string& name, Value& target, const std::string& help) {
    return add(Argument::Kind::kOption, name, &target, help);
  }
  Argument* add_option(const std::string& name, const std::string& help);  // without a target
  Argument* add_flag(const std::string& name, bool& target, const std::string& help);
  Argument* add_flag(const std::string& name, const std::string& help);  // without a target

  const std::vector<std::unique_ptr<Argument>>& arguments() const { return arguments_; }
  // The argument of this name, which must be there.
  const Argument& argument(const std::string& name) const;
  bool has(const std::string& name) const { return !argument(name).given().empty(); }  // it was given

  const Text text;
  std::function<int()> body;  // runs after the command line was read; returns the exit status

 private:
  Argument* add(Argument::Kind kind, const std::string& name, Argument::Target target, const std::string& help);

  std::vector<std::unique_ptr<Argument>> arguments_;  // as help lists them
};

// The whole program. It owns its commands.
struct Program {
  std::string name, summary, version;
  std::vector<std::unique_ptr<Command>> commands;  // as help lists them
};

// Adds a command, which lives as long as the program.
Command& add_command(Program& program, Command::Text text);

// The declarations as pages for cli/render/manual.h.
ProgramPage describe(const Program& program);
CommandPage describe(const Command& command);

}  // namespace locus
