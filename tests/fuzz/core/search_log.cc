// The log of a search as a store holds it: a line "KIND JSON" a decision.
#include <stdexcept>

#include "core/search/decision.h"
#include "core/search/fold.h"
#include "tests/fuzz/fuzz.h"

namespace locus::fuzz {
namespace {

void write_again(const DecisionRow& row) {
  const auto decision = read(row);
  if (!decision.ok()) return;
  try {
    require(written(*decision).kind == row.kind, "a decision is written as the kind it is");
  } catch (const std::invalid_argument&) {  // numbers that no double holds, which no rule makes
  }
}

void look_at(const Fold& fold) {
  (void)fold.wants();
  (void)fold.due();
  (void)fold.lost();
  for (std::size_t phase = 0; phase < fold.phases(); ++phase) {
    (void)fold.units(phase);
    (void)fold.spent(phase);
    (void)fold.choice(phase);
  }
}

}  // namespace

void search_log(std::string_view bytes) {
  std::vector<DecisionRow> log;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    const std::string_view line = bytes.substr(at, end - at);
    at = end + 1;
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    DecisionRow row;
    row.number = static_cast<std::int64_t>(log.size()) + 1;
    row.kind = line.substr(0, space);
    row.json = line.substr(space + 1);
    write_again(row);
    log.push_back(std::move(row));
  }
  Fold fold;
  for (const DecisionRow& row : log) {
    if (!fold.take(row).ok()) break;
    look_at(fold);
  }
}

}  // namespace locus::fuzz
