// One printed table as an answer: its numbers, what the experiment measured of each, and the verdicts counted.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/claims/verdict.h"
#include "locus/v1/analysis_service.pb.h"
#include "server/analysis/measured_experiment.h"

namespace locus::server {

// Not thread-safe; keeps references to all it is given.
class ClaimTableWriter {
 public:
  // `measured` and `matcher` are null together: the print alone.
  ClaimTableWriter(const PaperClaims& paper, const ClaimTable& table, MeasuredExperiment* measured,
                   ClaimMatcher* matcher)
      : paper_(paper), table_(table), measured_(measured), matcher_(matcher) {}

  v1::ClaimTable write(bool matched_only);

  // Of the numbers written, those left out of the answer too. Empty without an experiment.
  const ClaimCounts& counts() const { return counts_; }

 private:
  struct Match {
    ClaimedCell cell;
    ResultPlace place;
    Measured measured;
    int top = 0;  // MeasuredExperiment::top_seeds(), where it has as many
    const BySeed* values = nullptr;
    std::string baseline_label, baseline_labels;
    std::vector<SettingDifference> differences;  // the baseline's options too
    Judgment judgment;
  };
  using HereByName = std::map<std::string, std::set<std::string>>;

  v1::Claim write(const ClaimValue& value, HereByName* table_here);
  std::vector<Match> matches_of(const ClaimValue& value, const Measure& measure);
  void pair_with_baseline(const ClaimValue& value, const Measure& measure, Match* match);
  void fill_match(const ClaimValue& value, const Match& found, v1::Claim* out) const;
  void judge_number(const ClaimValue& value, const std::vector<Match>& matches, bool any_cell, v1::Claim* out);

  const PaperClaims& paper_;
  const ClaimTable& table_;
  MeasuredExperiment* measured_;
  ClaimMatcher* matcher_;
  ClaimCounts counts_;
};

// `table` empty: of the whole paper.
void fill_summary(const std::string& paper, const std::string& table, const ClaimCounts& counts, v1::ClaimSummary* out);

}  // namespace locus::server
