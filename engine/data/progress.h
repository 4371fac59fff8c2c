// Word of long reading.
#pragma once

#include <cstdint>
#include <functional>

namespace locus::engine {

// How far it is: files done and all of them. Called in the thread that waits for it; may throw, which ends the reading.
using DataProgress = std::function<void(std::int64_t done, std::int64_t all)>;

}  // namespace locus::engine
