// What the commands about one thing print: explanations, comparisons, artifacts, a worker, deletions, checks.
#pragma once

#include <string>

#include "cli/render/text_table.h"
#include "locus/v1/admin_service.pb.h"
#include "locus/v1/analysis.pb.h"
#include "locus/v1/artifact_service.pb.h"
#include "locus/v1/experiment_service.pb.h"
#include "locus/v1/trial.pb.h"
#include "locus/v1/worker_service.pb.h"

namespace locus {

std::string render_explanation(const v1::Explanation& explanation, TextStyle style = {});
// Settings that are equal everywhere are left out unless `all`.
std::string render_comparison(const v1::Comparison& comparison, bool all);
std::string render_artifacts(const v1::ListArtifactsResponse& response);
std::string render_worker(const v1::WorkerDetail& detail, TextStyle style = {});
std::string render_rerun(const v1::RerunExperimentResponse& response);
std::string render_deletion(const v1::DeleteExperimentResponse& response);
std::string render_check(const v1::CheckReport& report);
std::string show_bytes(std::int64_t bytes);  // "1.4 MiB"

}  // namespace locus
