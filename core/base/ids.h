// Random identifiers for requests and sessions.
#pragma once

#include <string>
#include <string_view>

namespace locus {

// A random UUID (version 4) from the system's entropy: "3f2b8c1e-5d0a-4c7e-9b1f-0a2d4e6f8a10". Thread-safe.
std::string random_uuid();

// A user-visible name: ^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$
bool valid_name(std::string_view name);

}  // namespace locus
