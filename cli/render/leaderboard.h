// The leaderboard as text, CSV, Markdown and LaTeX. Pure functions of what GetTable answered: only rounding
// happens here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "locus/v1/experiment_service.pb.h"

namespace locus {

enum class TableFormat { kTable, kCsv, kMarkdown, kLatex };
std::optional<TableFormat> parse_table_format(std::string_view name);  // "table", "csv", "markdown", "latex"

// The leaderboard, then the sweep (not in CSV, where it would be a second table: see render_sweep_csv), then
// the warnings.
std::string render_leaderboard(const v1::Table& table, TableFormat format);
// Every label set of every row: label,labels,x,mean,std,n.
std::string render_sweep_csv(const v1::Table& table);

}  // namespace locus
