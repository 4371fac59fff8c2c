// A server of its own, in a process of its own, under a fleet of synthetic workers.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/json.h"

namespace locus::bench {

// From 100,000 submitted stages to a fleet that works as fast as it can: what grants, heartbeats, memory and a restart cost
// on the way.
Json fleet(const std::filesystem::path& folder, int workers, int slots, int stages);

// That server, until a signal ends it. Returns its exit status.
int serve_fleet(const std::filesystem::path& folder, const std::string& address);

}  // namespace locus::bench
