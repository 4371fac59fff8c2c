// The backend of processes on the CPUs of one machine.
#pragma once

#include "engine/distributed/gang.h"

namespace locus::engine {

// By c10d's Gloo over the loopback interface; processes find one another through the place's rendezvous. Throws
// PeerLostError.
std::unique_ptr<Gang> join_gloo(const GangPlace& place);

}  // namespace locus::engine
