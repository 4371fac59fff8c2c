// Searches under kill -9: their logs and all that came of them are those of a run that nobody disturbed.
#pragma once

#include <filesystem>

namespace locus::chaos {

struct SearchedOptions {
  std::filesystem::path bin, specification, work;
  int cycles = 20;  // kills of trainers, workers and the server, at random
  unsigned seed = 1;
};

// Says on standard output what was done and found; whether nothing was wrong. Throws std::runtime_error where something does
// not start.
bool disturb_searches(const SearchedOptions& options);

}  // namespace locus::chaos
