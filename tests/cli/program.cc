// Children for the tests of the program.
#include "tests/cli/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace locus {
namespace {

std::string read_all(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Starts the program; `in`, `out` and `err` become its standard streams.
int start(const std::vector<std::string>& arguments, int in, int out, int err, const Environment& environment = {}) {
  std::vector<char*> argv = {const_cast<char*>(LOCUS_PROGRAM)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const int pid = ::fork();
  if (pid != 0) return pid;
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::unsetenv("LOCUS_SERVER");
  ::setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::execv(LOCUS_PROGRAM, argv.data());
  ::_exit(127);
}

int wait_for(int pid) {
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The first line that comes out of `descriptor`, at most 60 s away.
std::string first_line(int descriptor) {
  std::string text;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (text.find('\n') == std::string::npos && std::chrono::steady_clock::now() < until) {
    pollfd ready{descriptor, POLLIN, 0};
    if (::poll(&ready, 1, 1000) <= 0) continue;
    char block[512];
    const ssize_t got = ::read(descriptor, block, sizeof block);
    if (got <= 0) break;
    text.append(block, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "locus-cli-XXXXXX").string();
  if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name) << text;
  return (path_ / name).string();
}

Outcome run_locus(const std::vector<std::string>& arguments, const std::string& standard_input,
                  const Environment& environment) {
  const TemporaryFolder folder;
  const std::string in = folder.write("in", standard_input);
  const int input = ::open(in.c_str(), O_RDONLY);
  const int output = ::open((folder.path() / "out").c_str(), O_CREAT | O_WRONLY, 0600);
  const int errors = ::open((folder.path() / "err").c_str(), O_CREAT | O_WRONLY, 0600);
  const int pid = start(arguments, input, output, errors, environment);
  for (const int descriptor : {input, output, errors}) ::close(descriptor);
  Outcome outcome;
  outcome.status = wait_for(pid);
  outcome.out = read_all(folder.path() / "out");
  outcome.err = read_all(folder.path() / "err");
  return outcome;
}

const nlohmann::json& manual() {
  static const auto tree = nlohmann::json::parse(run_locus({"reference", "command-line", "--json"}).out);
  return tree;
}

const nlohmann::json* find_command(const std::string& name) {
  for (const auto& command : manual()["commands"]) {
    if (command["name"] == name) return &command;
  }
  return nullptr;
}

RunningLocus::RunningLocus(const std::vector<std::string>& arguments, const Environment& environment) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const int errors = ::open((folder_.path() / "err").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  pid_ = start(arguments, nothing, ends[1], errors, environment);
  for (const int descriptor : {ends[1], errors, nothing}) ::close(descriptor);
  out_ = ends[0];
}

RunningLocus::~RunningLocus() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    wait_for(pid_);
  }
  ::close(out_);
}

std::string RunningLocus::first_line() { return locus::first_line(out_); }

Outcome RunningLocus::wait() {
  Outcome outcome;
  char block[512];
  for (ssize_t got; (got = ::read(out_, block, sizeof block)) > 0;)
    outcome.out.append(block, static_cast<std::size_t>(got));
  outcome.status = wait_for(pid_);
  pid_ = -1;
  outcome.err = read_all(folder_.path() / "err");
  return outcome;
}

Outcome RunningLocus::stop() {
  ::kill(pid_, SIGTERM);
  return wait();
}

LiveServer::LiveServer(const std::filesystem::path& data, const std::string& address, const std::string& catalog) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const int log = ::open((data.string() + ".log").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  const int nothing = ::open("/dev/null", O_RDONLY);
  pid_ = start({"serve", "--data", data.string(), "--grpc-address", address, "--http-address", "127.0.0.1:0",
                "--catalog", catalog, "--json"},
               nothing, ends[1], log);
  for (const int descriptor : {ends[1], log, nothing}) ::close(descriptor);
  const std::string line = first_line(ends[0]);
  ::close(ends[0]);
  const auto ready = nlohmann::json::parse(line, nullptr, false);
  if (!ready.is_object()) {
    stop();
    throw std::runtime_error("the server did not start: " + line + read_all(data.string() + ".log"));
  }
  address_ = ready["grpc"];
  http_ = ready["http"];
}

int LiveServer::stop() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    status_ = wait_for(pid_);
    pid_ = -1;
  }
  return status_;
}

}  // namespace locus
