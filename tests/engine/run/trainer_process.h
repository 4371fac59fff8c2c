// The real trainer as a child of the test, spoken to in frames.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/base/frame.h"

namespace locus::engine {

class TrainerProcess {
 public:
  // Starts `locus-trainer run`; throws when it cannot.
  explicit TrainerProcess(const std::string& binary) {
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) throw std::runtime_error("no socket pair");
    ::fcntl(sockets[0], F_SETFD, FD_CLOEXEC);  // of no other child, or its end would not be seen
    child_ = ::fork();
    if (child_ == 0) {
      ::close(sockets[0]);
      const std::string fd = std::to_string(sockets[1]);
      ::execl(binary.c_str(), binary.c_str(), "run", "--fd", fd.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(sockets[1]);
    fd_ = sockets[0];
  }
  ~TrainerProcess() {
    kill();
    hang_up();
  }
  TrainerProcess(const TrainerProcess&) = delete;
  TrainerProcess& operator=(const TrainerProcess&) = delete;

  int fd() const { return fd_; }  // to poll for reading
  void send(const Json& frame) { write_frame(fd_, frame); }
  std::optional<Json> receive() { return read_frame(fd_); }
  // The next frame of that type; earlier ones are dropped. Throws at end of file and on "failed" when not
  // waited for.
  Json wait_for(const std::string& type) {
    while (const auto frame = receive()) {
      if (frame->at("type") == type) return *frame;
      if (frame->at("type") == "failed") throw std::runtime_error(frame->dump());
    }
    throw std::runtime_error("the trainer ended before a frame of type " + type);
  }

  void signal(int number) { ::kill(child_, number); }
  void kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(std::exchange(child_, -1), nullptr, 0);
  }
  void hang_up() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  // Waits for the end; the exit status, or -1 when a signal ended it.
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(child_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t child_ = -1;
  int fd_ = -1;
};

inline Json start_frame(const std::string& attempt, const Json& stage, const std::filesystem::path& work,
                        const std::filesystem::path& resume, double checkpoint_seconds) {
  return {{"type", "start"},
          {"attempt", attempt},
          {"stage", stage},
          {"inputs", Json::object()},
          {"resume", resume.empty() ? Json() : Json(resume.string())},
          {"execution",
           {{"device", "cpu"},
            {"index", 0},
            {"threads", 1},
            {"data_root", "/usr/share/datasets"},
            {"work", work.string()},
            {"checkpoint_seconds", checkpoint_seconds}}}};
}

}  // namespace locus::engine
