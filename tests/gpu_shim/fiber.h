// Threads of a block, one after the other on one thread of the machine: each has a stack and runs until it gives way.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace locus::gpu_shim {

// One stack. run() and give_way() alternate. A fiber may be dropped half way: what it holds on its stack is then
// forgotten, not destroyed, so nothing there may own memory. Not thread-safe, and bound to the thread that made it.
class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void start(const std::function<void()>* body);  // which outlives the run; nothing runs yet
  void run();                                     // until the body gives way or ends
  void give_way();                                // from within the body
  bool done() const { return done_; }

 private:
  static void enter(void* self);
  struct Context;
  std::unique_ptr<Context> context_;
  const std::function<void()>* body_ = nullptr;
  bool done_ = true;
};

}  // namespace locus::gpu_shim
