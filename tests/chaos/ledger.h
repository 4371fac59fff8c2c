// What a database holds, read beside the system's own code: plain SQL over the file.
#pragma once

#include <filesystem>
#include <map>
#include <set>
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
  // By experiment: what its search decided, without what names stages and attempts, which differ between two runs as the
  // order of observations does; and whether the numbers of its log have no gap.
  std::map<std::string, std::multiset<std::string>> decisions;
  std::map<std::string, std::string> searches;  // the search's state: "running", "ended"
  bool gapless = true;
};

// Throws std::runtime_error for a database that cannot be read or a point blob that is damaged.
Ledger read_ledger(const std::filesystem::path& database);

// What a ledger was found guilty of, a sentence each.
struct Findings {
  std::vector<std::string> problems;
  std::size_t acknowledged = 0, curve_points = 0;  // that were looked at
};
// Every acknowledged point is stored exactly once under its attempt, and nothing that was never sent. Sorts the points.
void check_acknowledged(Ledger& ledger, const std::map<Token, SeenAttempt>& seen, Findings& out);
// Stages ended, drew curves and made outputs as in the run that nobody disturbed, and searches decided the same.
void compare(const Ledger& calm, const Ledger& disturbed, Findings& out);

}  // namespace locus::chaos
