// What `locus claims` prints: papers, their tables, and sentences that set print and measurement side by
// side.
#pragma once

#include <string>

#include "locus/v1/analysis_service.pb.h"

namespace locus {

// One line a paper.
std::string render_papers(const v1::ListClaimsResponse& response);

// Every table as printed, with its setting; where claims carry measurements, a sentence for each below.
std::string render_claims(const v1::ListClaimsResponse& response);

}  // namespace locus
