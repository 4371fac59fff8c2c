// What was imported beside an experiment, as text.
#pragma once

#include <string>

#include "locus/v1/metric_service.pb.h"

namespace locus {

// A line an import, with its series.
std::string render_imports(const v1::ListForeignSeriesResponse& response, bool dry_run);

}  // namespace locus
