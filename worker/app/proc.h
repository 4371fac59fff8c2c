// What Linux says in /proc of the machine and of trees of processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

namespace locus {

struct MachineUse {
  double cpu_percent = 0;         // of all cores together, since the reading before
  std::int64_t memory_bytes = 0;  // not available to others
};
struct TreeUse {
  double cpu_percent = 0;         // 100 is one core, since the reading before
  std::int64_t memory_bytes = 0;  // resident; pages that processes share count in each
};

// Not thread-safe. A share of CPU time needs two readings: the first tells nothing.
class ProcReader {
 public:
  explicit ProcReader(std::filesystem::path proc = "/proc") : proc_(std::move(proc)) {}

  std::optional<MachineUse> machine();
  // Of each process of `roots` with those it started and their process group, by root; roots that are gone, or
  // were not there at the reading before, are left out. `now`: seconds of a steady clock.
  std::map<pid_t, TreeUse> trees(const std::vector<pid_t>& roots, double now);

 private:
  struct Process {
    pid_t parent = 0, group = 0;
    double seconds = 0;  // of CPU
    std::int64_t bytes = 0;
  };
  std::map<pid_t, Process> processes() const;

  const std::filesystem::path proc_;
  double busy_ = 0, total_ = 0;  // of the machine, in ticks, at the reading before
  double then_ = 0;
  std::map<pid_t, std::map<pid_t, double>> seconds_;  // by root, by process, at the reading before
};

}  // namespace locus
