// The bounds a stored specification puts on running its stages. No identity depends on them.
#pragma once

#include <cstdint>
#include <string>

namespace locus {

// Its limits.stage_seconds; 0: none. Never fails: what is stored was checked when it was submitted, and text
// that cannot be read has no limits. Pure.
std::int64_t stage_seconds_of(const std::string& spec_json);

}  // namespace locus
