// Hands a command over to the trainer.
#include "cli/trainer_tool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "cli/command.h"
#include "cli/yaml.h"

namespace locus {
namespace {

std::filesystem::path trainer() {
  if (const char* named = std::getenv("LOCUS_TRAINER")) return named;
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).replace_filename("locus-trainer");
}

// A name under which the trainer can read `text`; the descriptor stays open across exec. Empty on failure.
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

// Replaces a YAML file by the same document as JSON. Says what is wrong, or nothing.
std::string convert(std::string& path) {
  std::ifstream in(path);
  if (!in) return "cannot read " + path;
  std::ostringstream text;
  text << in.rdbuf();
  const auto document = parse_yaml(text.str());
  if (!document.ok()) return path + ": " + std::string(document.status().message());
  path = readable_after_exec(document->json.dump());
  return path.empty() ? "cannot hand the specification over: " + std::string(std::strerror(errno)) : "";
}

}  // namespace

int become_trainer_tool(const std::string& tool, std::vector<std::string> arguments) {
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] != "--spec") continue;
    if (const std::string wrong = convert(arguments[i + 1]); !wrong.empty()) {
      std::cerr << "locus " << tool << ": " << wrong << "\n";
      return kExitUsage;
    }
  }
  const std::string program = trainer();
  arguments.insert(arguments.begin(), {program, tool});
  std::vector<char*> raw;
  for (std::string& argument : arguments) raw.push_back(argument.data());
  raw.push_back(nullptr);
  ::execv(program.c_str(), raw.data());
  std::cerr << "locus " << tool << ": cannot start " << program << ": " << std::strerror(errno)
            << "; build it, or name it in LOCUS_TRAINER\n";
  return kExitFailed;
}

}  // namespace locus
