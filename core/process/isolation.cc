// Landlock's interface by its numbers: headers of Debian 12 know its first three versions, kernels many more.
#include "core/process/isolation.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "core/base/error.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

// linux/landlock.h, by the version that brought it.
constexpr std::uint64_t kExecute = 1 << 0, kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadFolder = 1 << 3;
constexpr std::uint64_t kFirstVersion = (1 << 13) - 1;                 // 1: those above, removing and making
constexpr std::uint64_t kRefer = 1 << 13;                              // 2: from folder to folder
constexpr std::uint64_t kTruncate = 1 << 14;                           // 3
constexpr std::uint64_t kBindTcp = 1 << 0, kConnectTcp = 1 << 1;       // 4
constexpr std::uint64_t kControlDevice = 1 << 15;                      // 5
constexpr std::uint64_t kAbstractSockets = 1 << 0, kSignals = 1 << 1;  // 6
constexpr std::uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kControlDevice;
constexpr unsigned kAskVersion = 1;
constexpr int kBeneathPath = 1;

struct RulesetRequest {
  std::uint64_t files = 0, network = 0, scoped = 0;
};
struct __attribute__((packed)) BeneathPath {
  std::uint64_t allowed = 0;
  std::int32_t parent = -1;
};

constexpr int kClearOfDup2 = 10;  // spawn() fills the descriptors from 0 on before it comes to us
constexpr char kOutOfMemoryScore[] = "500";

std::uint64_t file_rights(int version) {
  return kFirstVersion | (version >= 2 ? kRefer : 0) | (version >= 3 ? kTruncate : 0) |
         (version >= 5 ? kControlDevice : 0);
}

absl::Status isolation_error(const std::string& doing, int error) {
  return make_error(
      absl::StatusCode::kUnavailable, ErrorReason::kLimitExceeded,
      "cannot isolate a child process: " + doing + ": " + std::strerror(error) + "; `--isolate off` starts it without",
      "isolate", {{"found", std::strerror(error)}});
}

absl::Status allow(int ruleset, const fs::path& path, std::uint64_t rights) {
  const Fd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!place) return absl::OkStatus();
  struct stat found {};
  if (::fstat(place.get(), &found) != 0) return isolation_error(path.string(), errno);
  if (!S_ISDIR(found.st_mode)) rights &= kOfFiles;
  const BeneathPath rule{rights, place.get()};
  if (::syscall(SYS_landlock_add_rule, ruleset, kBeneathPath, &rule, 0) != 0)
    return isolation_error("the rule for " + path.string(), errno);
  return absl::OkStatus();
}

absl::StatusOr<Fd> make_ruleset(const IsolationRules& rules, int version) {
  const std::uint64_t all = file_rights(version);
  RulesetRequest request{all, 0, 0};
  if (version >= 4 && rules.sockets != ChildSockets::kNetwork) request.network = kBindTcp | kConnectTcp;
  if (version >= 6) request.scoped = kAbstractSockets | kSignals;
  const Fd made(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &request, sizeof(request), 0)));
  Fd ruleset(made ? ::fcntl(made.get(), F_DUPFD_CLOEXEC, kClearOfDup2) : -1);
  if (!ruleset) return isolation_error("its rules", errno);
  for (const fs::path& path : rules.read)
    LOCUS_RETURN_IF_ERROR(allow(ruleset.get(), path, kExecute | kReadFile | kReadFolder));
  for (const fs::path& path : rules.write) LOCUS_RETURN_IF_ERROR(allow(ruleset.get(), path, all));
  for (const fs::path& path : rules.devices)
    LOCUS_RETURN_IF_ERROR(allow(ruleset.get(), path, all & (kReadFile | kWriteFile | kControlDevice | kReadFolder)));
  return ruleset;
}

// Best effort: what is in /proc of the process that calls, and has that number only now.
void allow_itself(int ruleset) noexcept {
  const int self = ::open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (self < 0) return;
  const BeneathPath rule{kExecute | kReadFile | kReadFolder, self};
  ::syscall(SYS_landlock_add_rule, ruleset, kBeneathPath, &rule, 0);
  ::close(self);
}

// Best effort: raising one's own score needs no privilege, but /proc may be missing.
void go_first_when_memory_is_short() noexcept {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, kOutOfMemoryScore, sizeof(kOutOfMemoryScore) - 1);
  ::close(file);
}

}  // namespace

std::optional<IsolationMode> parse_isolation(std::string_view word) {
  if (word == "off") return IsolationMode::kOff;
  if (word == "auto") return IsolationMode::kAuto;
  if (word == "required") return IsolationMode::kRequired;
  return std::nullopt;
}

IsolationRules basic_isolation() {
  IsolationRules rules;
  // Not /proc whole: in it are the variables of our other processes, which Landlock lets be read.
  rules.read = {"/usr",          "/lib",          "/lib64",     "/etc/ld.so.cache", "/proc/cpuinfo",
                "/proc/loadavg", "/proc/meminfo", "/proc/stat", "/proc/sys",        "/sys/devices/system"};
  rules.write = {"/dev/shm"};
  rules.devices = {"/dev/null", "/dev/urandom"};
  return rules;
}

IsolationSupport isolation_support() {
  IsolationSupport out;
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  if (version > 0) out.landlock = static_cast<int>(version);
  const std::uint32_t refuse = SECCOMP_RET_ERRNO;
  out.system_calls = !system_call_filter(ChildSockets::kNone).empty() &&
                     ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &refuse) == 0;
  return out;
}

absl::StatusOr<std::shared_ptr<const Isolation>> Isolation::prepare(const IsolationRules& rules,
                                                                    IsolationSupport support) {
  Fd ruleset;
  std::vector<SystemCallRule> filter;
  std::string held;
  const auto add = [&](const char* word) { held += (held.empty() ? "" : ", ") + std::string(word); };
  if (support.landlock > 0) {
    LOCUS_ASSIGN_OR_RETURN(ruleset, make_ruleset(rules, support.landlock));
    add("files");
  }
  if (support.system_calls) filter = system_call_filter(rules.sockets);
  if (rules.sockets != ChildSockets::kNetwork && (support.system_calls || support.landlock >= 4)) add("network");
  if (support.landlock >= 6) add("signals");
  if (support.system_calls) add("system-calls");
  if (held.empty()) held = kNoIsolation;
  return std::shared_ptr<const Isolation>(new Isolation(std::move(ruleset), std::move(filter), std::move(held)));
}

int Isolation::enter() const noexcept {
  ::umask(077);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  go_first_when_memory_is_short();
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  if (ruleset_) allow_itself(ruleset_.get());
  if (ruleset_ && ::syscall(SYS_landlock_restrict_self, ruleset_.get(), 0) != 0) return errno;
  if (filter_.empty()) return 0;
  const sock_fprog program{static_cast<unsigned short>(filter_.size()), const_cast<SystemCallRule*>(filter_.data())};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : errno;
}

}  // namespace locus
