// Lists in pages.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace locus::server {

// Page tokens: "<kind>:<last key seen>". Empty gives `first`; INVALID_ARGUMENT (PAGE_TOKEN_INVALID) for one
// of another query.
std::string make_page_token(const std::string& kind, std::int64_t key);
absl::StatusOr<std::int64_t> parse_page_token(const std::string& kind, const std::string& token, std::int64_t first);
absl::StatusOr<int> page_size(int asked);  // 0: the default; at most kPageSizeMost

}  // namespace locus::server
