// Starting, reading and ending a trainer child.
#include "worker/app/trainer_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "core/base/error.h"

namespace locus {
namespace {

constexpr std::size_t kPrintedBytes = 64 << 10;
constexpr std::size_t kFreshBytes = 1 << 20;
constexpr int kSendSeconds = 30;  // a trainer that takes no frame for so long is stuck

// How often the kernel has killed for want of memory: in our control group if it counts, else on the whole
// machine. Only a difference between two readings is evidence.
std::int64_t count_oom_kills() {
  std::string group;
  std::ifstream own("/proc/self/cgroup");
  for (std::string line; std::getline(own, line);) {
    if (line.rfind("0::", 0) == 0) group = line.substr(3);
  }
  for (const std::string& file : {"/sys/fs/cgroup" + group + "/memory.events", std::string("/proc/vmstat")}) {
    std::ifstream events(file);
    std::string name;
    std::int64_t count = 0;
    while (events >> name >> count) {
      if (name == "oom_kill") return count;
    }
  }
  return 0;
}

absl::Status os_error(const std::string& doing) {
  return make_error(absl::ErrnoToStatusCode(errno), ErrorReason::kLimitExceeded,
                    "cannot " + doing + ": " + std::strerror(errno));
}

bool mentions_memory(const std::string& text) {
  return text.find("bad_alloc") != std::string::npos || text.find("out of memory") != std::string::npos ||
         text.find("Out of memory") != std::string::npos || text.find("can't allocate memory") != std::string::npos;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainerProcess>> TrainerProcess::start(const TrainerSetup& setup) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return os_error("make a socket pair");
  Fd ours(pair[0]), theirs(pair[1]);
  const timeval limit{kSendSeconds, 0};
  ::setsockopt(ours.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return os_error("make a pipe");
  Fd read_end(pipe[0]), write_end(pipe[1]);
  ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  const std::int64_t oom_kills = count_oom_kills();
  std::shared_ptr<const Isolation> isolation;
  if (setup.isolation) {
    LOCUS_ASSIGN_OR_RETURN(isolation, Isolation::prepare(setup.isolation()));
  }
  std::vector<std::string> words = {setup.executable};
  words.insert(words.end(), setup.leading.begin(), setup.leading.end());
  words.insert(words.end(), {"run", "--fd", std::to_string(kInheritedFd)});
  LOCUS_ASSIGN_OR_RETURN(const pid_t pid, spawn({.arguments = std::move(words),
                                                 .environment = setup.environment,
                                                 .output = write_end.get(),
                                                 .error = write_end.get(),
                                                 .inherit = theirs.get(),
                                                 .isolation = isolation}));
  Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return std::unique_ptr<TrainerProcess>(new TrainerProcess(pid, std::move(ours), std::move(read_end),
                                                            std::move(process), oom_kills,
                                                            isolation ? isolation->held() : kNoIsolation));
}

TrainerProcess::~TrainerProcess() {
  if (!end_) wait_end(std::chrono::milliseconds(0));
}

void TrainerProcess::send(const Json& frame) { write_frame(socket_.get(), frame); }

bool TrainerProcess::receive() {
  char bytes[64 << 10];
  while (true) {
    const ssize_t n = ::recv(socket_.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n > 0) {
      decoder_.feed({bytes, static_cast<std::size_t>(n)});
      return true;  // one piece at a time: points must not outrun the outbox
    }
    if (n == 0 || errno == ECONNRESET) return false;
    if (errno == EAGAIN) return true;
    if (errno != EINTR) throw FrameError(std::string("cannot read from the trainer: ") + std::strerror(errno));
  }
}

void TrainerProcess::read_output() {
  char bytes[4096];
  while (output_) {
    const ssize_t n = ::read(output_.get(), bytes, sizeof(bytes));
    if (n > 0) {
      printed_.append(bytes, static_cast<std::size_t>(n));
      fresh_.append(bytes, static_cast<std::size_t>(n));
      if (fresh_.size() > 2 * kFreshBytes) fresh_.erase(0, fresh_.size() - kFreshBytes);
      if (printed_.size() > kPrintedBytes) printed_.erase(0, printed_.size() - kPrintedBytes);
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else {
      if (n == 0 || errno != EAGAIN) output_ = Fd();
      return;
    }
  }
}

std::string TrainerProcess::take_output() { return std::exchange(fresh_, {}); }

std::string TrainerProcess::last_line() const {
  const auto end = printed_.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  const auto before = printed_.find_last_of('\n', end);
  return printed_.substr(before == std::string::npos ? 0 : before + 1,
                         end - (before == std::string::npos ? 0 : before + 1) + 1);
}

void TrainerProcess::signal(int number) {
  if (end_) return;
  killed_by_us_ = true;
  ::kill(-pid_, number);
}

TrainerEnd TrainerProcess::wait_end(std::chrono::milliseconds limit) {
  if (end_) return *end_;
  pollfd exited{process_.get(), POLLIN, 0};
  if (limit.count() == 0 || ::poll(&exited, 1, static_cast<int>(limit.count())) <= 0) signal(SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ::kill(-pid_, SIGKILL);  // whatever it started itself
  read_output();
  end_ = describe(status);
  return *end_;
}

TrainerEnd TrainerProcess::describe(int status) const {
  TrainerEnd end;
  const std::string line = last_line();
  const std::string printed = line.empty() ? "; it printed nothing" : "; its last line: " + line;
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    const char* name = ::sigabbrev_np(number);
    end.reason = "the trainer was ended by SIG" + std::string(name ? name : std::to_string(number));
    if (number == SIGKILL && !killed_by_us_ && count_oom_kills() > oom_kills_) {
      end.failure_class = FailureClass::kOutOfMemory;
      end.reason += " (the kernel was out of memory)";
    } else if (number == SIGKILL || number == SIGTERM) {
      // Somebody took the device back, or an operator the process: no fault of the work.
      end.failure_class = killed_by_us_ ? FailureClass::kWorkerLost : FailureClass::kPreempted;
      if (!killed_by_us_) end.reason += " from outside";
    }
  } else {
    end.reason = "the trainer exited with status " + std::to_string(WEXITSTATUS(status)) + " in the middle of its work";
  }
  if (end.failure_class == FailureClass::kCode && mentions_memory(line)) end.failure_class = FailureClass::kOutOfMemory;
  end.reason += printed;
  return end;
}

}  // namespace locus
