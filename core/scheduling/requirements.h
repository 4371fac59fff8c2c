// What a stage asks of a worker: catalog items at exact numerics revisions, and maybe a device of its own.
// Datasets are such items, offered by who holds them. Interned, since thousands of stages ask the same.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/experiment/labels.h"
#include "core/experiment/model.h"

namespace locus {

using Revisions = std::map<std::string, int>;                 // "prior/violin" -> 1
inline constexpr std::string_view kDatasetItem = "dataset/";  // what an item's name that is one begins with

// Thread-compatible.
class RequirementTable {
 public:
  // The number of what a stage asks (null: nothing); equal requirements have equal numbers. Memory is no part of it,
  // since no rule goes by it.
  int intern(const RequirementsPtr& asked);
  // The same requirement, to be met elsewhere than on this worker, too, as long as there is another.
  int on_another_worker(int requirement, WorkerId than);
  // The same requirement, to be met where these rules say (null: anywhere).
  int placed(int requirement, const PlacementPtr& rules);
  // How many devices of one worker it takes together.
  int devices(int requirement) const { return rules(requirement) == nullptr ? 1 : rules(requirement)->devices; }
  const PlacementRules* rules(int requirement) const { return at(requirement).rules.get(); }  // null: anywhere
  const std::set<WorkerId>& avoided(int requirement) const { return at(requirement).avoided; }
  const Revisions& operator[](int requirement) const { return at(requirement).asked->revisions; }
  // Whether nothing else may run on the device meanwhile.
  bool exclusive(int requirement) const { return at(requirement).asked->exclusive; }

 private:
  struct Requirement {
    RequirementsPtr asked;
    std::set<WorkerId> avoided;
    PlacementPtr rules;
    auto key() const { return std::tie(asked->exclusive, asked->revisions, avoided); }
    bool operator<(const Requirement& other) const {
      if (key() != other.key()) return key() < other.key();
      if (!rules || !other.rules) return !rules && other.rules;
      return *rules < *other.rules;
    }
  };
  int number_of(Requirement requirement);
  const Requirement& at(int requirement) const { return sets_[static_cast<std::size_t>(requirement)]; }
  std::map<Requirement, int> numbers_;
  std::vector<Requirement> sets_;
};

// The id of the first dataset that `offered` lacks.
std::optional<std::string> missing_dataset(const Revisions& required, const Revisions& offered);

// The first item `offered` lacks, for people: "prior/violin at revision 2 (it has 1)"; nothing if it has them
// all.
std::optional<std::string> first_missing(const Revisions& required, const Revisions& offered);

}  // namespace locus
