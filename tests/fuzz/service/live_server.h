// A whole server in memory for entries that speak to one.
#pragma once

#include "server/app/serve.h"

namespace locus::fuzz {

// Started by the first call, on free ports of loopback, without a log; ends with the program. Throws std::runtime_error where it cannot start.
const ServerAddresses& live_server();

}  // namespace locus::fuzz
