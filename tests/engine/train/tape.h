// Recorded work on the CPU, for tests: what ATen is asked for between here and there, kept with its arguments and done again
// by asking for it once more. As on a GPU, numbers of the host stay as they were recorded, and memory is read when it is
// played. What writes memory past ATen's operations is not seen, so steps under test take types that have no passes of ours.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include "engine/kernels/device_graph.h"

namespace locus::engine::test {

class Tape final : public DeviceGraph {
 public:
  // Recording leaves `state` as it was, as on a GPU, where nothing is done yet.
  explicit Tape(std::vector<Tensor> state) : state_(std::move(state)) {}
  void record(const std::function<void()>& work) override;
  void replay() override;
  std::size_t length() const { return entries_.size(); }

  // Of an operation that was asked for while this thread records, with its arguments behind the others on the stack.
  static void note(const c10::OperatorHandle& operation, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  struct Entry {
    c10::OperatorHandle operation;
    torch::jit::Stack arguments, results;
  };
  std::vector<Tensor> state_;
  std::vector<Entry> entries_;
};

}  // namespace locus::engine::test
