// Extensions by seeds.
#include "core/analysis/extension.h"

#include <algorithm>
#include <map>

#include "core/base/text.h"

namespace locus {

std::vector<std::int64_t> added_seeds(std::vector<TrialRow> trials, const std::set<std::int64_t>& cells) {
  std::sort(trials.begin(), trials.end(), [](const TrialRow& a, const TrialRow& b) { return a.ordinal < b.ordinal; });
  std::map<std::int64_t, std::size_t> last;  // of each cell, the place of its last trial so far
  std::set<std::int64_t> left;               // cells that were gone back to
  std::set<std::int64_t> out;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const std::int64_t cell = trials[i].cell;
    const auto [known, fresh] = last.try_emplace(cell, i);
    if (!fresh && known->second + 1 < i) left.insert(cell);
    known->second = i;
    if (left.contains(cell) && cells.contains(cell)) out.insert(trials[i].seed);
  }
  return {out.begin(), out.end()};
}

std::string extension_sentence(const std::vector<std::int64_t>& seeds) {
  if (seeds.empty()) return "";
  std::vector<std::string> names;
  for (const std::int64_t seed : seeds) names.push_back(std::to_string(seed));
  const bool one = seeds.size() == 1;
  return (one ? "seed " : "seeds ") + joined(names) + (one ? " was" : " were") +
         " added to an experiment that had others: if these were looked at before, every p here reads low, since a "
         "test "
         "assumes a number of seeds fixed beforehand (with a look after each of seeds 5 to 10, a paired t test at .05 "
         "calls 13 % of equal pairs different)";
}

}  // namespace locus
