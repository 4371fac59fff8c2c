// What a database holds, read beside the system's own code: plain SQL over the file.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/chaos/witness.h"

namespace locus::chaos {

struct Ledger {
  std::map<Token, std::vector<SeenPoint>> points;  // as stored, superseded attempts included; order means nothing
  std::map<Token, std::int64_t> resumed_at;        // the step an attempt went on from
  // By stage identity: attempts and ids differ between two runs.
  std::map<std::string, std::vector<SeenPoint>> curves;  // live points, sorted
  std::map<std::string, std::string> outputs;            // slot and digest of everything it made
  std::map<std::string, std::string> states;
};

// Throws std::runtime_error for a database that cannot be read or a point blob that is damaged.
Ledger read_ledger(const std::filesystem::path& database);

}  // namespace locus::chaos
