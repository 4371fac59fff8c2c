// A child for each picture.
#include "server/app/picture_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <mutex>

#include "core/base/clock.h"
#include "core/base/data_copies.h"
#include "core/base/error.h"
#include "core/limits.h"
#include "core/process/program.h"
#include "core/process/spawn.h"

namespace locus::server {
namespace {

namespace fs = std::filesystem;

constexpr auto kTime = std::chrono::seconds(90);
constexpr std::size_t kOutputBytes = static_cast<std::size_t>(kMessageBytes) - (256 << 10);
constexpr std::size_t kErrorBytes = 4096;
constexpr int kWrong = 2, kNoData = 3;               // exit statuses of the tool
constexpr std::string_view kOfATrial = "--trained";  // then a file follows, beside the weights
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

// The trainer as it is here, asked once: what it must reach is told by the folders of its libraries.
class IsolatedTrainer {
 public:
  IsolatedTrainer(fs::path program, fs::path data_root, bool isolated)
      : program_(std::move(program)), data_root_(std::move(data_root)), isolated_(isolated) {}

  const fs::path& program() const { return program_; }

  absl::StatusOr<pid_t> start(const std::vector<std::string>& arguments, Pipe& out, Pipe& err) const {
    SpawnRequest request{.arguments = {program_.string()},
                         .environment = isolated_ ? program_environment(current_environment()) : current_environment(),
                         .output = out.ends[1],
                         .error = err.ends[1]};
    request.arguments.insert(request.arguments.end(), arguments.begin(), arguments.end());
    set_variable(request.environment, "OMP_NUM_THREADS", "1");  // a page can wait, training cannot
    if (isolated_) {
      LOCUS_ASSIGN_OR_RETURN(request.isolation, Isolation::prepare(rules(arguments)));
    }
    return spawn(request);
  }

 private:
  IsolationRules rules(const std::vector<std::string>& arguments) const {
    std::call_once(asked_, [this] {
      const auto answer = run_and_capture({program_.string(), "devices"}, kTime);
      if (answer.ok()) devices_ = Json::parse(*answer, nullptr, /*allow_exceptions=*/false);
      if (!devices_.is_object()) devices_ = Json::object();
    });
    IsolationRules out = program_rules(program_, devices_);
    let_read_data(out, data_root_);
    if (arguments.size() > 2 && arguments[1] == kOfATrial) out.read.push_back(fs::path(arguments[2]).parent_path());
    if (const fs::path cache = data_cache_folder(); !cache.empty()) out.write.push_back(cache);
    return out;
  }

  const fs::path program_, data_root_;
  const bool isolated_;
  mutable std::once_flag asked_;
  mutable Json devices_;
};

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

absl::StatusOr<std::string> run(const IsolatedTrainer& isolated, const std::vector<std::string>& arguments) {
  const fs::path& trainer = isolated.program();
  if (trainer.empty() || ::access(trainer.c_str(), X_OK) != 0) return no_trainer(trainer);
  Pipe out, err;
  if (!out.open() || !err.open()) {
    return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                      "the server has no descriptors left to draw with; ask again in a moment");
  }
  const auto child = isolated.start(arguments, out, err);
  if (absl::IsNotFound(child.status())) return no_trainer(trainer);
  if (!child.ok()) return child.status();
  out.close(1), err.close(1);
  return result(wait_for(*child, out, err));
}

}  // namespace

PictureProgram make_picture_program(const fs::path& trainer, const fs::path& data_root, bool isolated) {
  std::error_code error;
  const auto size = fs::file_size(trainer, error);
  const auto written = fs::last_write_time(trainer, error).time_since_epoch().count();
  const auto one = std::make_shared<IsolatedTrainer>(trainer, data_root, isolated);
  return {[one](const std::vector<std::string>& arguments) { return run(*one, arguments); },
          error ? "" : std::to_string(size) + "-" + std::to_string(written)};
}

}  // namespace locus::server
