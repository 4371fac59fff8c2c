// Reads /proc/meminfo (proc(5)) and the limits of control groups (cgroups(7)).
#include "worker/app/memory.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

namespace locus {
namespace {

namespace fs = std::filesystem;

std::optional<std::int64_t> machine_memory(const fs::path& proc) {
  std::ifstream file(proc / "meminfo");
  std::int64_t kib = 0;
  for (std::string name, rest; file >> name >> kib && std::getline(file, rest);) {
    if (name == "MemTotal:") return kib * 1024;
  }
  return std::nullopt;
}

// A number of bytes; nothing for "max", or where there is no such file.
std::optional<std::int64_t> limit_in(const fs::path& file) {
  std::ifstream in(file);
  std::int64_t bytes = 0;
  if (!(in >> bytes) || bytes <= 0) return std::nullopt;
  return bytes;
}

// The least limit of a group and those above it, named `file` in each folder.
std::optional<std::int64_t> least_limit(const fs::path& mount, const std::string& group, const char* file) {
  std::optional<std::int64_t> least;
  const auto take = [&](const fs::path& folder) {
    const auto limit = limit_in(folder / file);
    if (limit) least = std::min(least.value_or(*limit), *limit);
  };
  take(mount);  // within a container this is its own group, whatever it is called outside
  fs::path folder = mount;
  for (const fs::path& part : fs::path(group).relative_path()) {
    if (part == "..") break;
    take(folder /= part);
  }
  return least;
}

}  // namespace

std::int64_t usable_memory(const fs::path& proc, const fs::path& groups) {
  std::optional<std::int64_t> least = machine_memory(proc);
  const auto take = [&](const std::optional<std::int64_t>& limit) {
    if (limit) least = std::min(least.value_or(*limit), *limit);
  };
  std::ifstream file(proc / "self" / "cgroup");
  for (std::string line; std::getline(file, line);) {  // "0::/group", or "9:memory:/group"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") take(least_limit(groups, group, "memory.max"));
    if (controllers.find(",memory,") != std::string::npos)
      take(least_limit(groups / "memory", group, "memory.limit_in_bytes"));
  }
  return least.value_or(0);
}

}  // namespace locus
