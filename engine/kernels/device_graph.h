// Work of a device that is recorded once and done again and again: one call in the place of thousands.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/base/torch.h"

namespace locus::engine {

// Not thread-safe.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  // Calls `work` and keeps what it asks of the device, of which nothing is done yet. What was read and written must stay where
  // it is as long as this lives; tensors that work made are kept. Throws what work throws, and std::runtime_error where
  // something cannot be recorded, as what waits for the device: then this is of no use any more.
  virtual void record(const std::function<void()>& work) = 0;
  // Does it, with what then lies in the memory. Waits for nothing.
  virtual void replay() = 0;
};

using MakeDeviceGraph = std::function<std::unique_ptr<DeviceGraph>()>;

// Graphs of the current device of CUDA, by the plugin liblocus_graphs_cuda.so (beside the executable or at $LOCUS_GRAPHS, of
// which "off" leaves none), which is loaded once and kept. Empty where it cannot be had: `why` says what for. Load CUDA torch first (device.h), and work
// on a stream of its own (OwnStream): the default one cannot be recorded. Thread-safe; what it makes throws
// std::runtime_error as above.
MakeDeviceGraph cuda_graphs(std::string& why);

// While it lives, this thread works on a stream of its own of the device, which goes on behind all that was asked of the
// device before; at the end the device has done what was asked of it. Nothing on the CPU.
class OwnStream {
 public:
  explicit OwnStream(at::Device device);
  ~OwnStream();
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

 private:
  c10::Stream before_;
};

}  // namespace locus::engine
