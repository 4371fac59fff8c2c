// Memory of the CPU's tensors that stays with the process.
#pragma once

#include <cstdint>

#include "engine/base/torch.h"

namespace locus::engine {

// From here on the CPU's tensors are given memory that freed ones of about their size left behind. A training step asks
// for the same sizes in the same order every time, so that from the second or third on none is fetched from the system,
// whose page faults and zeros cost about a tenth of a step. Blocks lie at multiples of 64 bytes, large ones in huge pages;
// sizes are rounded up by an eighth at most. What is kept unused never exceeds the most that was in use at one
// time: before it does, all of it goes back. Numbers do not change. Once for a process; thread-safe. What is allocated by
// other ways (scratch of the matrix library) the C library keeps, as much as it ever was.
void keep_tensor_memory();

// What became of the requests since keep_tensor_memory(); zeros without it. Thread-safe.
struct TensorMemory {
  std::int64_t requests = 0;      // blocks that tensors asked for
  std::int64_t fetched = 0;       // of these, fetched from the system
  std::int64_t live_bytes = 0;    // of blocks in use, as rounded
  std::int64_t unused_bytes = 0;  // of blocks kept for later
  std::int64_t most_bytes = 0;    // in use at one time, since memory was last released
};
TensorMemory tensor_memory();

// The most bytes that tensors of a device had in use at one time since watch_peak_memory(), or since the last release. 0 where
// nobody counts: on the CPU without keep_tensor_memory(). Thread-safe.
void watch_peak_memory(at::Device device);
std::int64_t peak_memory(at::Device device);

// Gives what is kept unused back to the system, where it is more than `bytes`, and forgets how much was in use before: for
// the end of a stage. Thread-safe.
void release_tensor_memory(std::int64_t bytes = 0);
// Gives back what the allocator of another device than the CPU keeps unused, since others may run on it. Throws c10::Error.
void release_device_memory(at::Device device);

}  // namespace locus::engine
