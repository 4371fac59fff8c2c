// What an attempt's trainer printed.
#pragma once

#include "absl/status/statusor.h"
#include "core/ports/store.h"
#include "locus/v1/trial.pb.h"

namespace locus::server {

// Blocks. Thread-safe.
absl::StatusOr<v1::ReadLogResponse> read_log(Store& store, const v1::ReadLogRequest& request);

// How many bytes at the end of `text` begin a character that is not whole.
std::size_t unfinished_tail(const std::string& text);

}  // namespace locus::server
