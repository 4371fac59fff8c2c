// The most memory that tensors occupied at one time.
#pragma once

#include "engine/base/torch.h"

namespace locus::engine {

// Watches the allocator of a device from here on. CUDA: the caching allocator's own statistics (bytes of
// tensors, not what the allocator keeps in reserve). CPU: torch's allocator, with a counter before it while
// this lives; what kernels allocate by other ways (scratch of the matrix library) is not seen. One at a time.
class MemoryWatch {
 public:
  explicit MemoryWatch(at::Device device);
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  // Bytes above what was there when the watch began, at most, since then or since the last reset.
  std::int64_t peak() const;
  void reset();  // the peak starts again at what is occupied now

  static std::string_view source(at::Device device);  // for the record: "allocator" ...

 private:
  at::Device device_;
  c10::Allocator* allocator_ = nullptr;  // the CPU's, outside the watch
  std::int64_t before_ = 0;
};

}  // namespace locus::engine
