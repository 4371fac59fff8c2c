// vfork and exec: between the two only async-signal-safe calls, so locks of other threads cannot matter.
#include "core/process/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "core/base/clock.h"
#include "core/base/error.h"

namespace locus {
namespace {

constexpr int kClearOfFixed = 10;  // sources are moved here first, so that dup2 to 0..3 overwrites none of them

absl::Status spawn_error(const std::string& path, int error) {
  return make_error(absl::ErrnoToStatusCode(error), ErrorReason::kInvalidArgument,
                    "cannot start " + path + ": " + std::strerror(error), "",
                    {{"path", path}, {"found", std::strerror(error)}});
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (const auto& s : strings) out.push_back(const_cast<char*>(s.c_str()));
  out.push_back(nullptr);
  return out;
}

Fd duplicate(int fd) { return Fd(::fcntl(fd, F_DUPFD_CLOEXEC, kClearOfFixed)); }

struct ChildSetup {
  char* const* arguments;
  char* const* environment;
  int input, output, error, inherit;
  pid_t parent;
  const Isolation* isolation;  // or none
  volatile int failure;
};

// In the child, on the parent's memory: nothing here may allocate, lock or return.
[[noreturn]] void become(ChildSetup& setup) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != setup.parent) ::_exit(127);  // died before the line above
  // Before its rules' descriptor is closed. What follows is allowed to everyone.
  if (const int refused = setup.isolation ? setup.isolation->enter() : 0; refused != 0) {
    setup.failure = refused;
    ::_exit(127);
  }
  ::dup2(setup.input, STDIN_FILENO);
  ::dup2(setup.output, STDOUT_FILENO);
  ::dup2(setup.error, STDERR_FILENO);
  unsigned first_closed = kInheritedFd;
  if (setup.inherit >= 0) {
    ::dup2(setup.inherit, kInheritedFd);
    ++first_closed;
  }
  ::close_range(first_closed, ~0U, 0);
  // exec keeps what is ignored, and we may ourselves have been started with some: SIGINT by a shell's &,
  // SIGPIPE by Python, by others even the two that the C library keeps to itself and its sigaction() refuses.
  // All zero is SIG_DFL.
  const unsigned long standard[8] = {};
  for (int signal = 1; signal < NSIG; ++signal)
    ::syscall(SYS_rt_sigaction, signal, standard, nullptr, sizeof(std::uint64_t));
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(setup.arguments[0], setup.arguments, setup.environment);
  setup.failure = errno;
  ::_exit(127);
}

}  // namespace

absl::StatusOr<pid_t> spawn(const SpawnRequest& request) {
  const auto arguments = pointers(request.arguments);
  const auto environment = pointers(request.environment);
  const Fd empty(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const Fd input = duplicate(request.input >= 0 ? request.input : empty.get());
  const Fd output = duplicate(request.output >= 0 ? request.output : empty.get());
  const Fd error = duplicate(request.error >= 0 ? request.error : empty.get());
  const Fd inherit(request.inherit >= 0 ? ::fcntl(request.inherit, F_DUPFD_CLOEXEC, kClearOfFixed) : -1);
  if (!input || !output || !error || (request.inherit >= 0 && !inherit))
    return spawn_error(request.arguments.front(), errno);
  ChildSetup setup{arguments.data(),
                   environment.data(),
                   input.get(),
                   output.get(),
                   error.get(),
                   inherit.get(),
                   ::getpid(),
                   request.isolation.get(),
                   0};
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // a handler must not run in the child on our memory
  const pid_t child = ::vfork();
  if (child == 0) become(setup);
  const int error_number = child < 0 ? errno : setup.failure;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child > 0 && error_number != 0) ::waitpid(child, nullptr, 0);
  if (error_number != 0) return spawn_error(request.arguments.front(), error_number);
  return child;
}

namespace {

constexpr std::size_t kCapturedBytes = 16 << 20;

// A file in memory, at its beginning: unlike a pipe it takes all of it at once, read or not.
absl::StatusOr<Fd> text_to_read(const std::string& text) {
  Fd file(::memfd_create("input", MFD_CLOEXEC));
  std::size_t written = 0;
  while (file && written < text.size()) {
    const ssize_t n = ::write(file.get(), text.data() + written, text.size() - written);
    if (n < 0 && errno != EINTR) return spawn_error("a program with its input", errno);
    if (n > 0) written += static_cast<std::size_t>(n);
  }
  if (!file || ::lseek(file.get(), 0, SEEK_SET) != 0) return spawn_error("a program with its input", errno);
  return file;
}

// Appends what is there to read, up to what may be captured; false at end of file.
bool drain(int fd, std::string& to) {
  char bytes[4096];
  while (to.size() <= kCapturedBytes) {
    const ssize_t n = ::read(fd, bytes, sizeof(bytes));
    if (n > 0) {
      to.append(bytes, static_cast<std::size_t>(n));
    } else if (n == 0) {
      return false;
    } else if (errno != EINTR) {
      return errno == EAGAIN;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<std::string> run_and_capture(const std::vector<std::string>& arguments, std::chrono::milliseconds limit,
                                            const std::string& input,
                                            const std::map<std::string, std::string>& variables) {
  int out[2];
  int err[2];
  if (::pipe2(out, O_CLOEXEC | O_NONBLOCK) != 0) return spawn_error(arguments.front(), errno);
  Fd out_read(out[0]), out_write(out[1]);
  if (::pipe2(err, O_CLOEXEC | O_NONBLOCK) != 0) return spawn_error(arguments.front(), errno);
  Fd err_read(err[0]), err_write(err[1]);
  ::fcntl(out_write.get(), F_SETFL, 0);  // the child's ends block
  ::fcntl(err_write.get(), F_SETFL, 0);
  std::vector<std::string> environment = current_environment();
  for (const auto& [name, value] : variables) set_variable(environment, name, value);
  LOCUS_ASSIGN_OR_RETURN(const Fd text, input.empty() ? absl::StatusOr<Fd>(Fd()) : text_to_read(input));
  LOCUS_ASSIGN_OR_RETURN(const pid_t child, spawn({.arguments = arguments,
                                                   .environment = std::move(environment),
                                                   .input = text.get(),
                                                   .output = out_write.get(),
                                                   .error = err_write.get()}));
  out_write = Fd();
  err_write = Fd();
  std::string output;
  std::string errors;
  const Microseconds end = system_clock().steady() + std::chrono::microseconds(limit).count();
  bool reading_out = true;
  bool reading_err = true;
  bool late = false, large = false;
  while ((reading_out || reading_err) && !late && !large) {
    pollfd fds[] = {{reading_out ? out_read.get() : -1, POLLIN, 0}, {reading_err ? err_read.get() : -1, POLLIN, 0}};
    const Microseconds left = end - system_clock().steady();
    late = left <= 0 || ::poll(fds, 2, static_cast<int>(left / 1000 + 1)) == 0;
    if (reading_out) reading_out = drain(out_read.get(), output);
    if (reading_err) reading_err = drain(err_read.get(), errors);
    large = output.size() + errors.size() > kCapturedBytes;
  }
  if (late || large) ::kill(-child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!late && !large && WIFEXITED(status) && WEXITSTATUS(status) == 0) return output;
  const std::string found = large                 ? "more than " + std::to_string(kCapturedBytes) + " bytes"
                            : late                ? "no end within " + std::to_string(limit.count()) + " ms"
                            : WIFSIGNALED(status) ? std::string("ended by signal ") + ::strsignal(WTERMSIG(status))
                                                  : "exit status " + std::to_string(WEXITSTATUS(status));
  if (errors.size() > 500) errors.erase(0, errors.size() - 500);
  std::string command;
  for (const auto& word : arguments) command += (command.empty() ? "" : " ") + word;
  return make_error(absl::StatusCode::kUnavailable, ErrorReason::kInvalidArgument,
                    "`" + command + "`: " + found + "; " + errors, "", {{"found", found}});
}

absl::StatusOr<std::string> find_program(const std::string& name, const std::string& advice) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return make_error(
      absl::StatusCode::kNotFound, ErrorReason::kInvalidArgument,
      "there is no program " + name + " in PATH" + (path ? std::string(" (") + path + ")" : "") + "; " + advice, "",
      {{"program", name}});
}

std::vector<std::string> current_environment() {
  std::vector<std::string> out;
  for (char** variable = environ; variable && *variable; ++variable) out.emplace_back(*variable);
  return out;
}

void set_variable(std::vector<std::string>& environment, const std::string& name, const std::string& value) {
  std::erase_if(environment,
                [&](const std::string& line) { return line.compare(0, name.size() + 1, name + "=") == 0; });
  environment.push_back(name + "=" + value);
}

}  // namespace locus
