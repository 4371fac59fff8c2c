// What a child process may do: Landlock for files, TCP and signals, a filter for system calls. Both are the kernel's,
// need no privilege, hold for all that the child starts in its turn and cannot be lifted.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/fd.h"
#include "core/process/system_calls.h"

namespace locus {

enum class IsolationMode { kOff, kAuto, kRequired };  // kAuto: what this kernel can hold

// "off", "auto" and "required"; nothing for other words.
std::optional<IsolationMode> parse_isolation(std::string_view word);

struct IsolationRules {
  std::vector<std::filesystem::path> read;     // files, and folders with all below: may be read and run
  std::vector<std::filesystem::path> write;    // folders in which everything is allowed
  std::vector<std::filesystem::path> devices;  // may be opened for both, and controlled
  ChildSockets sockets = ChildSockets::kNone;
};

// What every program of ours needs to start and to look at its machine; the caller adds what this one works on.
IsolationRules basic_isolation();

struct IsolationSupport {
  int landlock = 0;  // version of its interface; 0: none
  bool system_calls = false;
};
IsolationSupport isolation_support();  // of the running kernel

// Prepared by the parent, entered by one child, which may then look at itself in /proc.
class Isolation {
 public:
  // What `support` can hold of `rules`. Paths that are not there are left out: a child cannot open them anyway.
  // UNAVAILABLE (LIMIT_EXCEEDED) when the kernel refuses a rule it should know.
  static absl::StatusOr<std::shared_ptr<const Isolation>> prepare(const IsolationRules& rules,
                                                                  IsolationSupport support = isolation_support());

  // Between fork and exec only: async-signal-safe, allocates nothing. 0, or the errno of what failed; the process must
  // then end. Sets what cannot be undone: no new privileges, no core files, files for the owner alone, and it is the
  // first to go when memory is short.
  int enter() const noexcept;

  // What holds, as attempts report it: of "files", "network", "signals" and "system-calls", separated by ", "; "none".
  const std::string& held() const { return held_; }

 private:
  Isolation(Fd ruleset, std::vector<SystemCallRule> filter, std::string held)
      : ruleset_(std::move(ruleset)), filter_(std::move(filter)), held_(std::move(held)) {}

  const Fd ruleset_;
  const std::vector<SystemCallRule> filter_;  // empty: none
  const std::string held_;
};

inline constexpr char kNoIsolation[] = "none";  // held() where nothing does

}  // namespace locus
