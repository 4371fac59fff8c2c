// Hands a command over to the trainer.
#include "cli/trainer_tool.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "cli/command.h"
#include "cli/text_file.h"
#include "cli/yaml.h"
#include "core/base/error.h"
#include "core/limits.h"

namespace locus {

std::string trainer_program() {
  if (const char* named = std::getenv("LOCUS_TRAINER")) return named;
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).replace_filename("locus-trainer");
}

std::vector<std::string> trainer_words() {
  std::vector<std::string> out = {trainer_program()};
  const char* named = std::getenv("LOCUS_PLUGINS");
  std::istringstream plugins(named == nullptr ? "" : named);
  for (std::string one; std::getline(plugins, one, ':');) {
    if (!one.empty()) out.insert(out.end(), {"--plugin", one});
  }
  return out;
}

std::string readable_after_exec(const std::string& text) {
  const int fd = ::memfd_create("locus-spec", 0);
  if (fd < 0) return "";
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(fd, text.data() + done, text.size() - done);
    if (wrote <= 0) return "";
    done += static_cast<std::size_t>(wrote);
  }
  ::lseek(fd, 0, SEEK_SET);
  return "/proc/self/fd/" + std::to_string(fd);
}

namespace {

// Replaces a YAML file by the same document as JSON.
absl::Status convert(std::string& path) {
  LOCUS_ASSIGN_OR_RETURN(const std::string text, read_text(path, "a specification", kSpecBytes));
  const auto document = parse_yaml(text);
  if (!document.ok()) {
    auto detail = *error_detail(document.status());
    detail.metadata["where"] = path + ":" + detail.metadata["line"];
    return make_error(document.status().code(), detail.reason, std::string(document.status().message()), "",
                      detail.metadata);
  }
  path = readable_after_exec(document->json.dump());
  if (!path.empty()) return absl::OkStatus();
  return make_error(absl::StatusCode::kInternal, ErrorReason::kInvalidArgument,
                    "cannot hand the specification over: " + std::string(std::strerror(errno)));
}

}  // namespace

std::vector<std::string> given_arguments(const Command& command) {
  std::vector<std::string> out;
  for (const auto& argument : command.arguments()) {
    const std::string& name = argument->page().name;
    if (argument->given().empty() || name == "--json") continue;
    if (argument->is_flag()) {
      out.push_back(name);
      continue;
    }
    for (const std::string& value : argument->given()) {
      if (!argument->page().positional) out.push_back(name);
      out.push_back(value);
    }
  }
  return out;
}

int run_trainer_tool(const std::string& tool, std::vector<std::string> arguments, bool json) {
  const auto refuse = [&](const std::string& why, int status) {
    return report_error(make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, why), json,
                        nullptr, status);
  };
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] != "--spec") continue;
    if (const absl::Status wrong = convert(arguments[i + 1]); !wrong.ok()) return report_error(wrong, json);
  }
  std::vector<std::string> words = trainer_words();
  const std::string program = words.front();
  words.push_back(tool);
  arguments.insert(arguments.begin(), words.begin(), words.end());
  int said[2] = {-1, -1};
  if (json && ::pipe(said) != 0) return refuse(std::strerror(errno), kExitFailed);
  const pid_t child = ::fork();
  if (child == 0) {
    if (json) ::dup2(said[1], STDERR_FILENO);
    ::setenv("LOCUS_CALLER", ("locus " + tool).c_str(), 1);  // whose --help to name
    std::vector<char*> raw;
    for (std::string& argument : arguments) raw.push_back(argument.data());
    raw.push_back(nullptr);
    ::execv(program.c_str(), raw.data());
    std::cerr << "cannot start " << program << ": " << std::strerror(errno)
              << "; build it, or name it in LOCUS_TRAINER\n";
    ::_exit(kExitFailed);
  }
  std::string error;
  if (json) {
    ::close(said[1]);
    char bytes[4096];
    for (ssize_t n; (n = ::read(said[0], bytes, sizeof(bytes))) > 0;) error.append(bytes, static_cast<std::size_t>(n));
    ::close(said[0]);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) < 0) return refuse(std::strerror(errno), kExitFailed);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kExitFailed;
  if (!json || code == kExitDone) return code;
  std::string_view sentence = std::string_view(error).substr(0, error.find('\n'));
  if (sentence.starts_with("error: ")) sentence.remove_prefix(7);
  return refuse(std::string(sentence), code);
}

}  // namespace locus
