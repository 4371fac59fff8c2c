// posix_spawn: safe to call from a process with threads, unlike fork.
#include "server/app/picture_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/limits.h"

namespace locus::server {
namespace {

namespace fs = std::filesystem;

constexpr auto kTime = std::chrono::seconds(90);
constexpr std::size_t kOutputBytes = static_cast<std::size_t>(kMessageBytes) - (256 << 10);
constexpr std::size_t kErrorBytes = 4096;
constexpr int kWrong = 2, kNoData = 3;  // exit statuses of the tool
constexpr std::string_view kSpeaks = "locus-trainer picture: ";

absl::Status no_trainer(const fs::path& trainer) {
  return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kWrongState,
                    (trainer.empty() ? std::string("this server was started without a trainer")
                                     : "this server finds no trainer at " + trainer.string()) +
                        ", which draws pictures; install locus-trainer beside locus, or name it in LOCUS_TRAINER "
                        "and start the server again",
                    "", {{"trainer", trainer.string()}});
}

// The two ends of a pipe; closed at the end. Reading does not block.
struct Pipe {
  int ends[2] = {-1, -1};
  bool open() {
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    return ::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
  }
  void close(int which) {
    if (ends[which] >= 0) ::close(ends[which]);
    ends[which] = -1;
  }
  ~Pipe() { close(0), close(1); }
};

// Appends what is there; false at the end of the stream.
bool drain(int fd, std::string& to) {
  char bytes[16384];
  while (true) {
    const ssize_t n = ::read(fd, bytes, sizeof(bytes));
    if (n > 0)
      to.append(bytes, static_cast<std::size_t>(n));
    else if (n == 0)
      return false;
    else if (errno != EINTR)
      return errno == EAGAIN;
  }
}

int start(const fs::path& trainer, const std::vector<std::string>& arguments, Pipe& out, Pipe& err, pid_t* child) {
  std::vector<std::string> words = {trainer.string()}, variables;
  words.insert(words.end(), arguments.begin(), arguments.end());
  for (char** variable = environ; variable && *variable; ++variable) {
    if (std::strncmp(*variable, "OMP_NUM_THREADS=", 16) != 0) variables.emplace_back(*variable);
  }
  variables.emplace_back("OMP_NUM_THREADS=1");  // a page can wait, training cannot
  const auto pointers = [](std::vector<std::string>& strings) {
    std::vector<char*> raw;
    for (std::string& one : strings) raw.push_back(one.data());
    raw.push_back(nullptr);
    return raw;
  };
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&how);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, out.ends[1], 1);
  ::posix_spawn_file_actions_adddup2(&files, err.ends[1], 2);
  ::posix_spawn_file_actions_addclosefrom_np(&files, 3);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&how, &none);
  ::posix_spawnattr_setsigdefault(&how, &all);
  ::posix_spawnattr_setpgroup(&how, 0);
  ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int failed =
      ::posix_spawn(child, trainer.c_str(), &files, &how, pointers(words).data(), pointers(variables).data());
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&how);
  return failed;
}

struct Ended {
  int status = 0;
  bool late = false, large = false;
  std::string out, err;
};

Ended wait_for(pid_t child, Pipe& out, Pipe& err) {
  Ended ended;
  const Microseconds end = system_clock().steady() + std::chrono::microseconds(kTime).count();
  bool reading_out = true, reading_err = true;
  while ((reading_out || reading_err) && !ended.late && !ended.large) {
    pollfd both[] = {{reading_out ? out.ends[0] : -1, POLLIN, 0}, {reading_err ? err.ends[0] : -1, POLLIN, 0}};
    const Microseconds left = end - system_clock().steady();
    ended.late = left <= 0 || ::poll(both, 2, static_cast<int>(left / 1000 + 1)) == 0;
    if (reading_out) reading_out = drain(out.ends[0], ended.out);
    if (reading_err) reading_err = drain(err.ends[0], ended.err);
    ended.large = ended.out.size() > kOutputBytes;
    if (ended.err.size() > kErrorBytes) ended.err.resize(kErrorBytes);
  }
  if (ended.late || ended.large) ::kill(-child, SIGKILL);
  while (::waitpid(child, &ended.status, 0) < 0 && errno == EINTR) {
  }
  return ended;
}

// The first line of what it said, without its name.
std::string sentence(const std::string& said) {
  std::string line = said.substr(0, said.find('\n'));
  if (line.starts_with(kSpeaks)) line.erase(0, kSpeaks.size());
  return line.empty() ? "it did not say why" : line;
}

absl::StatusOr<std::string> result(Ended ended) {
  const auto limit = [](const std::string& what) {
    return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                      "the picture took more than " + what +
                          "; ask for fewer layers, queries or images, or draw it with `locus picture`");
  };
  if (ended.large) return limit("fits in an answer");
  if (ended.late) return limit(std::to_string(kTime.count()) + " s");
  if (WIFSIGNALED(ended.status)) return limit("the time or memory a picture may have");
  const int status = WEXITSTATUS(ended.status);
  if (status == 0) {
    while (ended.out.ends_with('\n')) ended.out.pop_back();
    return std::move(ended.out);
  }
  const std::string why = sentence(ended.err);
  if (status == kNoData) {
    return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kDataFault,
                      "the picture needs what is not on the server's machine: " + why +
                          "; put the dataset there, or start the server with --data-root FOLDER");
  }
  if (status == kWrong) return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument, why);
  return make_error(absl::StatusCode::kInternal, ErrorReason::kInvariantBroken, "the trainer failed: " + why);
}

absl::StatusOr<std::string> run(const fs::path& trainer, const std::vector<std::string>& arguments) {
  if (trainer.empty() || ::access(trainer.c_str(), X_OK) != 0) return no_trainer(trainer);
  Pipe out, err;
  if (!out.open() || !err.open()) {
    return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                      "the server has no descriptors left to draw with; ask again in a moment");
  }
  pid_t child = -1;
  if (start(trainer, arguments, out, err, &child) != 0) return no_trainer(trainer);
  out.close(1), err.close(1);
  return result(wait_for(child, out, err));
}

}  // namespace

PictureProgram make_picture_program(const fs::path& trainer) {
  std::error_code error;
  const auto size = fs::file_size(trainer, error);
  const auto written = fs::last_write_time(trainer, error).time_since_epoch().count();
  return {[trainer](const std::vector<std::string>& arguments) { return run(trainer, arguments); },
          error ? "" : std::to_string(size) + "-" + std::to_string(written)};
}

}  // namespace locus::server
