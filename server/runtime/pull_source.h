// Answers that are made one at a time, as fast as the reader takes them.
#pragma once

#include <functional>
#include <optional>

#include "absl/status/statusor.h"

namespace locus::server {

// The next message; nothing at the end. Called by one thread at a time; destroyed when the stream is over.
template <class Message>
using PullSource = std::function<absl::StatusOr<std::optional<Message>>()>;

}  // namespace locus::server
