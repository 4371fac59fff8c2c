// What trials and cells were set to, side by side. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "locus/v1/analysis.pb.h"

namespace locus::server {

// Settings of the stages of a trial, JSON by path as a specification writes it: "prior", "train.lr",
// "model.dim", "evaluate.resolution", "seed". What several stages are built on is there once. `configs`: role
// and configuration of every stage.
std::map<std::string, std::string> settings_of(const std::vector<std::pair<std::string, std::string>>& configs);

struct ComparedSide {
  std::string name, experiment;  // as asked for
  std::map<std::string, std::string> settings;
  std::string prior;  // its label
};
// What differs, what is equal, and the items' titles, of items that are already there.
void fill_settings(const std::vector<ComparedSide>& sides, v1::Comparison* out);

}  // namespace locus::server
