// Whether the cells that a paper table compares were measured alike: what their stages ran on. Pure.
#pragma once

#include <string>
#include <vector>

#include "server/analysis/paper_grid.h"

namespace locus::server {

inline constexpr char kMixedDevices[] = "mixed-devices", kMixedEnvironment[] = "mixed-environment";

struct EnvironmentFindings {
  std::vector<std::vector<std::string>> flags;  // by cell
  std::vector<std::string> sentences;           // one for each property and stage kind that differs
};

// Device kind, dtype, threads and build are compared between a cell and its reference (without one, between
// all cells of a column); the execution path within a cell only, because it follows from a prior's forms and
// all paths compute one algebra.
EnvironmentFindings compare_environments(const PaperGrid& grid);

}  // namespace locus::server
