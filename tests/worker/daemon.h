// The daemon as a process that a test starts, reads and ends.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/process/spawn.h"

namespace locus {

inline std::filesystem::path beside(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

// The daemon; killed with the test if it is still there.
class Daemon {
 public:
  Daemon(const std::string& server, const std::filesystem::path& work, std::vector<std::string> more = {}) {
    log_ = work;
    log_ += ".log";
    const int log = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    std::vector<std::string> arguments = {beside("worker_process"),
                                          "server=" + server,
                                          "name=tester",
                                          "slots=1",
                                          "heartbeat=200",
                                          "work=" + work.string(),
                                          "trainer=" + beside("fake_trainer").string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    pid_ = *spawn({.arguments = arguments, .environment = current_environment(), .output = log, .error = log});
    ::close(log);
  }
  ~Daemon() {
    if (pid_ > 0) {
      signal(SIGKILL);
      wait();
    }
  }
  void signal(int number) const { ::kill(pid_, number); }
  // The exit status, or 128 + signal.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string log() const {
    std::ifstream in(log_);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  // Waits for a text in the log; false after a minute. The one place that polls: a log has nothing to wait
  // on.
  bool wait_log(const std::string& text) const {
    for (int i = 0; i < 6000 && log().find(text) == std::string::npos; ++i) ::poll(nullptr, 0, 10);
    return log().find(text) != std::string::npos;
  }

 private:
  std::filesystem::path log_;
  pid_t pid_ = 0;
};

}  // namespace locus
