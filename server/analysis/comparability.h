// Whether the rows of a table may be compared: what they ran on. Pure.
#pragma once

#include <string>
#include <vector>

#include "server/analysis/table_query.h"

namespace locus::server {

// One sentence for each property (device, dtype, threads, path) that differs within the trials compared with
// one baseline.
std::vector<std::string> environment_warnings(const TableSource& source);

}  // namespace locus::server
