// From axes, include, exclude and overrides to cells.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/experiment/plan/resolver.h"
#include "core/experiment/plan/specification.h"

namespace locus {

// A cell before its configuration is resolved. Points into the Specification.
struct CellDraft {
  std::map<std::string_view, const Setting*> assignment;
  std::vector<const Override*> overrides;
  bool baseline = false;
};

// Values in normal form, and which of a factor's values a value in include, exclude, where or baseline means.
class Values {
 public:
  // Normalizes every value of every factor and include. Notes what has no meaning, its path being unread from
  // then on, and what stands twice in a factor.
  static Values make(Specification& spec, Resolver& resolver, Mistakes& mistakes);

  const NormalValue& of(const Setting* setting) const { return normal_.at(setting); }
  // Paths that vary: those of the axes, then those only includes name.
  const std::vector<std::string>& factors() const { return factors_; }
  const std::vector<const Setting*>& values(const std::string& path) const { return values_.at(path); }
  // The values of factor `path` that `setting` means: the same value, the same label, or the same ids
  // whatever the options.
  absl::StatusOr<std::vector<const Setting*>> match(const std::string& path, const Setting& setting,
                                                    Resolver& resolver) const;

 private:
  absl::Status add(const std::string& path, const Setting& setting, Resolver& resolver);

  std::vector<std::string> factors_;
  std::map<std::string, std::vector<const Setting*>> values_;
  std::map<const Setting*, NormalValue> normal_;
};

// TOO_MANY_TRIALS (RESOURCE_EXHAUSTED) decided by arithmetic alone, exclusions not counted.
absl::Status check_trial_count(const Specification& spec);

// Notes assignments that mean nothing in the matrix: values no factor has, half a zip group, an override of a
// factor, a baseline that is more than one value. Nothing of a path that is unread.
void check_assignments(const Specification& spec, const Values& values, Resolver& resolver, Mistakes& mistakes);

// The cells in order: the matrix, the first factor slowest, then the includes. EMPTY_MATRIX when exclusions
// leave none. The assignments have been checked.
absl::StatusOr<std::vector<CellDraft>> expand(const Specification& spec, const Values& values, Resolver& resolver);

// Cells that between them hold every value that could be read once, where the matrix cannot be expanded: the
// first of each factor, then each other one and each override in turn.
std::vector<CellDraft> survey(const Specification& spec, const Values& values);

}  // namespace locus
