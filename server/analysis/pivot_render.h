// The pivot table as a document. One place for all of them, so every format shows the same rounded numbers
// and carries the trials of every cell: LaTeX as comments, HTML as data attributes, CSV as a column, Markdown
// as a comment, JSON as it is.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "locus/v1/analysis_service.pb.h"

namespace locus::server {

// Pure. `format`: "text", "latex", "markdown", "csv", "json", "html". INVALID_ARGUMENT for another.
absl::StatusOr<std::string> render_pivot_table(const v1::PaperTable& table, const v1::GetPaperTableRequest& request);

}  // namespace locus::server
