// The backend of processes on GPUs: NVIDIA's NCCL, found when it is wanted.
#pragma once

#include <string>

#include "engine/distributed/gang.h"
#include "engine/distributed/nccl_calls.h"

namespace locus::engine {

// That of this machine, loaded on first use and never closed: the one that CUDA torch has loaded, or which the dynamic linker
// finds. $LOCUS_NCCL names another. Thread-safe.
const Nccl& nccl();
// That in a file, or of that name.
Nccl load_nccl(const std::string& library);

// Tensors on `device` are added up by NCCL on a stream of their own, others by `of_hosts`. Processes agree on the group through
// the place's rendezvous; each must have a GPU of its own. `nccl` must outlive the group. Throws PeerLostError.
std::unique_ptr<Gang> join_nccl(const GangPlace& place, at::Device device, const Nccl& nccl,
                                std::unique_ptr<Gang> of_hosts);

}  // namespace locus::engine
