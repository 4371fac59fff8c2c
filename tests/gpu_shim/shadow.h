// Shared memory that knows who touched it: for every two bytes, who wrote last, who read since, and whether a copy is
// on its way.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace locus::gpu_shim {

// Accesses say the thread; -1 - warp means all lanes of a warp together. Each gives what is wrong with it, empty:
// nothing. Two accesses are in order when a barrier of the block lies between them, or one of the warp where both are
// of it.
class Shadow {
 public:
  Shadow(int bytes, int threads);

  std::string read(int thread, int at, int bytes);
  std::string write(int thread, int at, int bytes);
  // A copy of 16 bytes from global memory (zeros where `from` is null) that arrives when the thread waits for its
  // group. Nobody may touch the place before.
  std::string copy_later(int thread, int at, const void* from);
  void commit(int thread);                        // closes a group of copies
  std::string wait(int thread, int groups_left);  // all but the youngest groups arrive
  std::string finish(int thread);                 // at the thread's end: nothing may be on its way

  void order_block();
  void order_warp(int warp) { ++warp_epochs_[static_cast<std::size_t>(warp)]; }

  unsigned char* data() { return memory_.data(); }
  int bytes() const { return static_cast<int>(memory_.size()); }

 private:
  static constexpr int kUnit = 2;  // bytes
  static constexpr int kNobody = -1000000, kSeveral = -1000001;
  struct Unit {
    int writer = kNobody, reader = kNobody;  // since the last barrier; several readers of several warps: kSeveral
    std::uint32_t written = 0, read = 0;     // epochs of the block
    std::uint32_t warp_written = 0, warp_read = 0;
    bool known = false, on_its_way = false;
  };
  struct Copy {
    int at;
    const void* from;
  };
  int warp_of(int thread) const { return thread < 0 ? -1 - thread : thread / 32; }
  bool in_order(int before, std::uint32_t epoch, std::uint32_t warp_epoch, int now) const;
  std::string outside(int at, int bytes) const;

  std::vector<unsigned char> memory_;
  std::vector<Unit> units_;
  std::vector<std::vector<std::vector<Copy>>> copies_;  // [thread][group]; the last group is open
  std::vector<std::uint32_t> warp_epochs_;
  std::uint32_t epoch_ = 1;
};

}  // namespace locus::gpu_shim
