// The backend of processes on GPUs: NVIDIA's NCCL, found when it is wanted.
#pragma once

#include <array>
#include <string>

#include "engine/distributed/gang.h"

namespace locus::engine {

// The calls of libnccl.so.2 that are used, with their types as its header declares them; NCCL speaks C, so that nothing of ours
// need stand between. Constants are in nccl.cc.
struct Nccl {
  struct Id {
    std::array<char, 128> bytes;
  };
  int (*version)(int* version) = nullptr;
  int (*make_id)(Id* id) = nullptr;
  int (*join)(void** group, int world, Id id, int rank) = nullptr;
  int (*add_up)(const void* from, void* to, std::size_t count, int type, int operation, void* group,
                void* stream) = nullptr;
  int (*look)(void* group, int* error) = nullptr;
  int (*leave)(void* group) = nullptr;
  const char* (*text)(int error) = nullptr;

  std::string missing;  // why it cannot be used; empty: it can
};

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
