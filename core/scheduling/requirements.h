// What a stage asks of a worker: catalog items at exact numerics revisions, and maybe a device of its own.
// Interned, since thousands of stages ask the same.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace locus {

using Revisions = std::map<std::string, int>;  // "prior/violin" -> 1

// The text of a top-level member's value in a JSON object without insignificant spaces (canonical form);
// nothing if it is absent. Much cheaper than a document: a submission may bring a hundred thousand stages in
// one step.
std::optional<std::string_view> top_level_member(std::string_view canonical_object, std::string_view key);

// Thread-compatible.
class RequirementTable {
 public:
  // The number of this stage configuration's `revisions` and `exclusive`; equal requirements have equal numbers.
  int intern(std::string_view config_json);
  const Revisions& operator[](int requirement) const { return at(requirement).revisions; }
  // Whether nothing else may run on the device meanwhile.
  bool exclusive(int requirement) const { return at(requirement).exclusive; }

 private:
  struct Requirement {
    Revisions revisions;
    bool exclusive = false;
  };
  const Requirement& at(int requirement) const { return sets_[static_cast<std::size_t>(requirement)]; }
  std::unordered_map<std::string, int> by_text_;
  std::vector<Requirement> sets_;
};

// The first item `offered` lacks, for people: "prior/violin at revision 2 (it has 1)"; nothing if it has them
// all.
std::optional<std::string> first_missing(const Revisions& required, const Revisions& offered);

}  // namespace locus
