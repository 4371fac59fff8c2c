// How much memory stages took on their device, remembered by what decides it.
#pragma once

#include <filesystem>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "core/base/json.h"

namespace locus {

inline constexpr std::int64_t kWholeDevice = std::numeric_limits<std::int64_t>::max();  // beside which nothing runs

// By the names of memory_load_of(). Kept in a file, so that a daemon knows what its predecessors saw. Thread-safe.
class LoadMemory {
 public:
  // A file that is not there, or holds something else, is none.
  explicit LoadMemory(std::filesystem::path file);

  // The most that was seen; kWholeDevice after must_be_alone(); 0: not known.
  std::int64_t needed(const std::string& load) const;
  // From a trainer's last frame: what the stage took, and of a measurement what trainings of each batch took.
  void learn(const Json& configuration, const Json& end);
  // The server says that some took so much elsewhere; 0: it does not know.
  void hear(const std::string& load, std::int64_t bytes);
  // It ran out of memory beside others. Until this daemon ends.
  void must_be_alone(const std::string& load);

 private:
  void raise(const std::string& load, std::int64_t bytes);

  const std::filesystem::path file_;
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t> most_;
  std::set<std::string> alone_;
};

}  // namespace locus
