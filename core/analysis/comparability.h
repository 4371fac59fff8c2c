// Whether numbers that an answer sets side by side were measured alike: one rule for leaderboard, pivot table
// and comparison. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace locus {

inline constexpr char kMixedDevices[] = "mixed-devices", kMixedEnvironment[] = "mixed-environment",
                      kMixedEngine[] = "mixed-engine";

// Environments of succeeded stages, each text kept once; cells name them by index.
class Environments {
 public:
  // Of a cell: indices of stage kinds and of environments.
  using OfCell = std::set<std::pair<int, int>>;
  // What one more stage of this kind ran on, JSON.
  void add(const std::string& kind, const std::string& environment, OfCell* cell);
  const std::vector<std::string>& kinds() const { return kinds_; }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> kinds_, texts_;
  std::map<std::string, int> kind_places_, text_places_;
};

struct CellEnvironments {
  Environments::OfCell stages;
  int reference = -1;  // index of the cell it is compared with; -1: none, so with all cells of its column
  int column = 0;
};

struct EnvironmentFindings {
  std::vector<std::vector<std::string>> flags;  // by cell: kMixedDevices, kMixedEngine, kMixedEnvironment
  std::vector<std::string> sentences;           // one for each property and stage kind that differs
};

// Engine (where an environment names none it is that of Locus), device kind ("cuda:1" is as good as "cuda:0"), how many devices
// computed together ("world"; none said: one; sums over several have other bits), dtype, threads and build are compared between a cell and its
// reference; the execution path within a cell only, because it follows from a prior's forms and all paths compute one
// algebra. `noun` is what sentences call a cell: "row".
EnvironmentFindings compare_environments(const Environments& environments, const std::vector<CellEnvironments>& cells,
                                         const std::string& noun);

}  // namespace locus
