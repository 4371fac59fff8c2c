// NCCL's calls with their types, for who makes them and for who stands in for NCCL in tests.
#pragma once

#include <array>
#include <cstddef>
#include <string>

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

}  // namespace locus::engine
