// A child in a process group of its own.
#include "server/app/alert_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/utf8.h"

extern char** environ;

namespace locus::server {
namespace {

constexpr std::size_t kSaidMost = 1000;
constexpr int kLookEveryMs = 100;  // milliseconds, for `stop`

absl::Status problem(const std::string& what) {
  return make_error(absl::StatusCode::kUnavailable, ErrorReason::kServerUnavailable, "the alert command " + what);
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> out;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string text = *one;
    if (!variables.contains(text.substr(0, text.find('=')))) out.push_back(text);
  }
  for (const auto& [name, value] : variables) out.push_back(name + "=" + value);
  return out;
}

// The child's pid, or -1 with errno. Its output goes nowhere but standard error, which is `said`.
pid_t spawn_shell(const std::string& command, const std::map<std::string, std::string>& variables, int input,
                  int said) {
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, input, 0);
  ::posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, said, 2);
  ::posix_spawn_file_actions_addclosefrom_np(&files, 3);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none, usual;
  ::sigemptyset(&none);
  ::sigemptyset(&usual);
  for (const int number : {SIGPIPE, SIGTERM, SIGINT, SIGCHLD}) ::sigaddset(&usual, number);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> texts = environment_with(variables);
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  std::string shell = "/bin/sh", flag = "-c", line = command;
  char* arguments[] = {shell.data(), flag.data(), line.data(), nullptr};
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, "/bin/sh", &files, &attributes, arguments, pointers.data());
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  errno = error;
  return error == 0 ? pid : -1;
}

void read_said(int fd, std::string* said) {
  char bytes[1024];
  for (ssize_t n = 0; (n = ::read(fd, bytes, sizeof bytes)) > 0;) {
    said->append(bytes, static_cast<std::size_t>(n));
    if (said->size() > kSaidMost) said->erase(0, said->size() - kSaidMost);
  }
}

std::string last_words(const std::string& said) {
  const std::size_t end = said.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  const std::size_t before = said.find_last_of('\n', end);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return "; it said: " + valid_utf8(said.substr(begin, end - begin + 1));
}

}  // namespace

absl::Status run_alert_command(const std::string& command, const std::map<std::string, std::string>& variables,
                               const std::string& input, std::chrono::milliseconds limit,
                               const std::atomic<bool>& stop) {
  int sockets[2], pipe[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return problem(std::string("cannot be started: ") + std::strerror(errno));
  Fd ours(sockets[0]), theirs(sockets[1]), said_to_us, said_by_it;
  if (::pipe2(pipe, O_CLOEXEC | O_NONBLOCK) != 0)
    return problem(std::string("cannot be started: ") + std::strerror(errno));
  said_to_us = Fd(pipe[0]);
  said_by_it = Fd(pipe[1]);
  const pid_t pid = spawn_shell(command, variables, theirs.get(), said_by_it.get());
  if (pid < 0) return problem(std::string("cannot be started: ") + std::strerror(errno));
  theirs = Fd();
  said_by_it = Fd();
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  // A socket, not a pipe: a command that does not read must not end us by SIGPIPE, nor hold us up.
  [[maybe_unused]] const ssize_t sent = ::send(ours.get(), input.data(), input.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ours = Fd();
  const Microseconds end = system_clock().steady() + std::chrono::microseconds(limit).count();
  std::string said;
  bool ended = false;
  while (!ended && !stop && system_clock().steady() < end) {
    pollfd fds[] = {{process.get(), POLLIN, 0}, {said_to_us.get(), POLLIN, 0}};
    ::poll(fds, said_to_us.get() < 0 ? 1 : 2, kLookEveryMs);
    read_said(said_to_us.get(), &said);
    if (fds[1].revents == POLLHUP) said_to_us = Fd();  // or it would wake us at once, again and again
    ended = (fds[0].revents & POLLIN) != 0;
  }
  ::kill(-pid, SIGKILL);  // what it left behind, or all of it
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!ended)
    return problem(stop ? "was ended: the server stops"
                        : "took longer than " + std::to_string(limit.count() / 1000) + " s and was ended" +
                              last_words(said));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  return problem((WIFEXITED(status) ? "exited with status " + std::to_string(WEXITSTATUS(status))
                                    : "was ended by signal " + std::to_string(WTERMSIG(status))) +
                 last_words(said));
}

}  // namespace locus::server
