// What a stage asks of a worker: catalog items at exact numerics revisions, and maybe a device of its own.
// Datasets are such items, offered by who holds them. Interned, since thousands of stages ask the same.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/canonical_text.h"
#include "core/experiment/model.h"

namespace locus {

using Revisions = std::map<std::string, int>;                 // "prior/violin" -> 1
inline constexpr std::string_view kDatasetItem = "dataset/";  // what an item's name that is one begins with

// Thread-compatible.
class RequirementTable {
 public:
  // The number of this stage configuration's `revisions` and `exclusive`; equal requirements have equal numbers.
  int intern(std::string_view config_json);
  // The same requirement, to be met elsewhere than on this worker, too, as long as there is another.
  int on_another_worker(int requirement, WorkerId than);
  const std::set<WorkerId>& avoided(int requirement) const { return at(requirement).avoided; }
  const Revisions& operator[](int requirement) const { return at(requirement).revisions; }
  // Whether nothing else may run on the device meanwhile.
  bool exclusive(int requirement) const { return at(requirement).exclusive; }

 private:
  struct Requirement {
    Revisions revisions;
    bool exclusive = false;
    std::set<WorkerId> avoided;
    std::string text;  // as which it is interned
  };
  const Requirement& at(int requirement) const { return sets_[static_cast<std::size_t>(requirement)]; }
  std::unordered_map<std::string, int> by_text_;
  std::vector<Requirement> sets_;
};

// The id of the first dataset that `offered` lacks.
std::optional<std::string> missing_dataset(const Revisions& required, const Revisions& offered);

// The first item `offered` lacks, for people: "prior/violin at revision 2 (it has 1)"; nothing if it has them
// all.
std::optional<std::string> first_missing(const Revisions& required, const Revisions& offered);

}  // namespace locus
