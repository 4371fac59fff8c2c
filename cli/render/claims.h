// What `locus claims` prints: papers, what an experiment says of their numbers in counts, their tables, and
// sentences that set print and measurement side by side.
#pragma once

#include <string>

#include "locus/v1/analysis_service.pb.h"

namespace locus {

// One line a paper.
std::string render_papers(const v1::ListClaimsResponse& response);

// The verdicts counted: a line a paper, or a line a table where the answer is about one paper. Fits a screen.
std::string render_claims_summary(const v1::ListClaimsResponse& response, const std::string& experiment);

// Every table as printed, with its setting; where claims carry measurements, a sentence for each below.
std::string render_claims(const v1::ListClaimsResponse& response);

}  // namespace locus
