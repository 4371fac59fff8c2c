// What people call a cell.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/experiment/plan/expansion.h"

namespace locus {

// Calls a prior by its ids, "learned-absolute + violin", with the options that are not at their defaults or
// tell it from others of the same ids, "violin (curves=hilbert,snake)"; then the other varied factors,
// "lr=0.001". Labels the user gave replace a value's text.
class CellLabels {
 public:
  CellLabels(const std::vector<CellDraft>& cells, const Specification& spec, const Values& values, Resolver& resolver);
  std::string label(const CellDraft& cell) const;
  // One value of a path by itself: "violin (curves=snake)", "0.001".
  std::string value(const std::string& path, const Setting& setting) const;

 private:
  std::string prior_text(const Setting& setting) const;
  std::string make_text(const Setting& setting) const;

  const Specification& spec_;
  const Values& values_;
  Resolver& resolver_;
  std::map<const Setting*, std::string> texts_;                        // of priors; cells share them
  std::map<std::string, std::string> short_names_;                     // varied path -> shortest unambiguous name
  std::map<std::string, std::vector<std::set<std::string>>> telling_;  // ids -> per prior, the options that differ
};

}  // namespace locus
