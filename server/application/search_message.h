// A search as a message: phases, rungs, units, choices, read from the fold of its log. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/ports/store.h"
#include "core/search/fold.h"
#include "locus/v1/search_service.pb.h"

namespace locus::server {

struct SearchSource {
  const ExperimentRow& experiment;
  const SearchRow& row;
  const Fold& fold;
  std::map<std::int64_t, CellRow> cells;  // by ordinal
  std::vector<std::string> phases;        // names, by the specification; one without a name where it has none
  double slot_hours = 0;                  // of ended attempts
  // Of the split that selects, by the group of a choice; absent: unknown.
  std::map<std::string, std::int64_t> images;
  std::string trouble;  // why the last decision could not be made
};

// `trial`: the unit of this one alone. Otherwise every unit with `all_units`, and without it those of phases that have few.
v1::Search search_message(const SearchSource& source, std::optional<std::int64_t> trial, bool all_units);

// The standard error of a share of `images` images, in percent points: what luck with the images alone does to a score that
// is one. Nothing of other metrics, and where the images are not known (W. G. Cochran, Sampling Techniques, 3rd edition 1977, 3.2).
std::optional<double> image_error(const std::string& metric, double value, std::int64_t images);

// The names of an experiment's phases.
std::vector<std::string> phase_names(const std::string& spec_json);

}  // namespace locus::server
