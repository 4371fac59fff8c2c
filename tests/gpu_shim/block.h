// One block of a kernel on the CPU: its threads as fibers, its shared memory with a shadow that knows who touched
// what, and the points where threads wait for each other.
//
// The schedule is greedy by warp: a warp runs as far as it can before the next one does, warps and lanes in an order
// that a seed gives. Threads in lockstep would hide a missing barrier.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/gpu_shim/fiber.h"
#include "tests/gpu_shim/shadow.h"

namespace locus::gpu_shim {

constexpr int kWarp = 32;

// A kernel did what a GPU would not define: a race, a divergent collective, a deadlock, a read of what nobody wrote.
class KernelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Order { kAscending, kDescending, kRandom };

struct Shape {
  int x = 1, y = 1, z = 1;  // blocks
  int threads = 128;
  int shared_bytes = 0;
  Order order = Order::kAscending;
  std::uint64_t seed = 0;    // of a random order
  int without_barrier = -1;  // the one that every thread passes by, counted from 0: a defect that a test plants
};

// What a lane brings to an operation of its warp; its answers go to `out`.
struct Operands {
  std::array<std::uint32_t, 12> in{};
  std::uint32_t* out = nullptr;
};

// An operation of a warp: from the operands of all lanes to the answers of all lanes.
using Collective = void (*)(class Block&, int warp, std::array<Operands, kWarp>& lanes);

class Block {
 public:
  Block(const Shape& shape, int x, int y, int z);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Runs `body` as every thread. Throws KernelError.
  void run(const std::function<void()>& body);

  // The block whose thread is running. Null outside of kernels.
  static Block* current();

  // From within a thread.
  int thread() const { return running_; }
  const Shape& shape() const { return shape_; }
  int x() const { return x_; }
  int y() const { return y_; }
  int z() const { return z_; }
  Shadow& shadow() { return shadow_; }
  void sync_block(const std::source_location& where);
  void collective(Collective operation, const Operands& operands, const std::source_location& where);
  // Orders what the lanes of a warp did to shared memory.
  void order_warp(int warp) { shadow_.order_warp(warp); }
  // Ends the run with an error; does not return to the thread.
  [[noreturn]] void fail(const std::string& what);

 private:
  struct Wait {
    enum class At { kNothing, kCollective, kBarrier, kDone } at = At::kNothing;
    Collective operation = nullptr;
    std::source_location where;
    Operands operands;
    int barriers = 0;  // met so far
  };
  bool advance(int warp);    // runs the warp until it waits at a barrier or is done; whether anything ran
  void run_lanes(int warp);  // each lane to its next stop
  bool meet(int warp);       // carries a collective out that all lanes wait at
  void release_barrier();
  std::vector<int> ordered(int count, std::uint64_t salt) const;
  void check_failure() const;

  Shape shape_;
  int x_, y_, z_, running_ = -1;
  std::vector<Wait> waits_;
  std::string failure_;
  Shadow shadow_;
};

// Every block of a grid, one after the other.
void launch(const Shape& shape, const std::function<void()>& body);

}  // namespace locus::gpu_shim
