// Reads /proc (proc(5)).
#include "worker/app/proc.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace locus {
namespace fs = std::filesystem;

std::optional<MachineUse> ProcReader::machine() {
  std::ifstream stat(proc_ / "stat");
  std::string word;
  stat >> word;
  if (word != "cpu") return std::nullopt;
  double total = 0, idle = 0, ticks = 0;
  for (int field = 0; field < 8 && stat >> ticks; ++field) {  // user nice system idle iowait irq softirq steal
    total += ticks;
    if (field == 3 || field == 4) idle += ticks;
  }
  std::int64_t all = 0, available = 0;
  std::ifstream memory(proc_ / "meminfo");
  for (std::string name, unit; memory >> name >> ticks && std::getline(memory, unit);) {
    if (name == "MemTotal:") all = static_cast<std::int64_t>(ticks) * 1024;
    if (name == "MemAvailable:") available = static_cast<std::int64_t>(ticks) * 1024;
  }
  const double busy = total - idle, span = total - total_;
  MachineUse out{span > 0 ? std::clamp(100 * (busy - busy_) / span, 0.0, 100.0) : 0, all - available};
  const bool first = total_ == 0;
  busy_ = busy;
  total_ = total;
  return first ? std::nullopt : std::optional(out);
}

std::map<pid_t, ProcReader::Process> ProcReader::processes() const {
  static const double per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  static const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  std::map<pid_t, Process> out;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(proc_, error)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    if (const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
        bad != std::errc() || end != name.data() + name.size())
      continue;
    std::ifstream file(entry.path() / "stat");
    std::string line;
    if (!std::getline(file, line)) continue;    // it has ended meanwhile
    const std::size_t close = line.rfind(')');  // the name before may hold anything
    if (close == std::string::npos) continue;
    std::istringstream rest(line.substr(close + 1));
    std::string state, skip;
    Process one;
    double user = 0, system = 0;
    std::int64_t pages = 0;
    rest >> state >> one.parent >> one.group;
    for (int field = 6; field < 14; ++field) rest >> skip;
    rest >> user >> system;
    for (int field = 16; field < 24; ++field) rest >> skip;
    if (!(rest >> pages)) continue;
    one.seconds = (user + system) / per_second;
    one.bytes = pages * page;
    out[pid] = one;
  }
  return out;
}

std::map<pid_t, TreeUse> ProcReader::trees(const std::vector<pid_t>& roots, double now) {
  const auto all = processes();
  const double span = now - then_;
  then_ = now;
  std::map<pid_t, std::map<pid_t, double>> before;
  before.swap(seconds_);
  std::map<pid_t, TreeUse> out;
  for (const pid_t root : roots) {
    if (!all.contains(root)) continue;
    std::set<pid_t> tree = {root};
    for (std::size_t size = 0; size != tree.size();) {
      size = tree.size();
      for (const auto& [pid, process] : all) {
        if (process.group == root || tree.contains(process.parent)) tree.insert(pid);
      }
    }
    TreeUse use;
    double seconds = 0;
    const auto known = before.find(root);
    for (const pid_t pid : tree) {
      const Process& process = all.at(pid);
      use.memory_bytes += process.bytes;
      seconds_[root][pid] = process.seconds;
      if (known == before.end()) continue;
      const auto earlier = known->second.find(pid);
      seconds += std::max(0.0, process.seconds - (earlier == known->second.end() ? 0 : earlier->second));
    }
    if (known == before.end() || span <= 0) continue;
    use.cpu_percent = 100 * seconds / span;
    out[root] = use;
  }
  return out;
}

}  // namespace locus
