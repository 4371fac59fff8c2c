// Tables of comma-separated values, a column a series.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "core/foreign/gathered.h"

namespace locus {

inline constexpr std::int64_t kWideTableBytes = std::int64_t{64} << 20;  // of one file, the most that is read

// Adds the series of a table (RFC 4180, UTF-8, a header): the column `step`, `_step`, `global_step` or `steps`, whatever its
// letters' case, holds whole numbers; `wall time`, `wall_time` or `_timestamp`, where it is there, seconds since 1970; every
// other column is the series of its name. An empty cell is no point; "nan", "inf" and "-inf" are values. Of steps, each may
// stand in one row. INVALID_ARGUMENT with line and column for anything else, and for a long table (columns `metric` and
// `value`, a row a point), which it says how to turn into this one; errors of Gathered::add().
absl::Status read_wide_table(std::string_view text, Gathered* out);

}  // namespace locus
