// Loads liblocus_graphs_cuda.so by dlopen; streams come through torch's general interface of devices.
#include "engine/kernels/device_graph.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <stdexcept>

#include "engine/kernels/graph_abi.h"
#include "engine/kernels/library.h"

namespace locus::engine {
namespace {

constexpr const char* kGraphLibrary = "liblocus_graphs_cuda.so";

struct GraphCalls {
  locus_graph_new_fn make = nullptr;
  locus_graph_begin_fn begin = nullptr;
  locus_graph_end_fn end = nullptr;
  locus_graph_replay_fn replay = nullptr;
  locus_graph_free_fn free = nullptr;
  locus_graph_error_fn error = nullptr;

  void check(bool well) const {
    if (!well) throw std::runtime_error(std::string("CUDA graph: ") + error());
  }
};

class CudaGraph final : public DeviceGraph {
 public:
  explicit CudaGraph(const GraphCalls& calls) : calls_(calls), graph_(calls.make()) { calls.check(graph_ != nullptr); }
  ~CudaGraph() override { calls_.free(graph_); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  void record(const std::function<void()>& work) override {
    calls_.check(calls_.begin(graph_) == 0);
    try {
      work();
    } catch (...) {
      calls_.end(graph_);  // or the stream would go on recording
      throw;
    }
    calls_.check(calls_.end(graph_) == 0);
  }
  void replay() override { calls_.check(calls_.replay(graph_) == 0); }

 private:
  const GraphCalls& calls_;
  locus_graph* graph_;
};

struct GraphLibrary {
  GraphCalls calls;
  std::string missing;
};

GraphLibrary graph_library() {
  GraphLibrary out;
  const auto take = [&c = out.calls](void* library) {
    locus_graphs_abi_fn abi = nullptr;
    return resolve(library, "locus_graphs_abi", abi) && abi() == LOCUS_GRAPHS_ABI &&
           resolve(library, "locus_graph_new", c.make) && resolve(library, "locus_graph_begin", c.begin) &&
           resolve(library, "locus_graph_end", c.end) && resolve(library, "locus_graph_replay", c.replay) &&
           resolve(library, "locus_graph_free", c.free) && resolve(library, "locus_graph_error", c.error);
  };
  load_library(kGraphLibrary, "LOCUS_GRAPHS", take, out.missing);
  return out;
}

}  // namespace

MakeDeviceGraph cuda_graphs(std::string& why) {
  static const GraphLibrary loaded = graph_library();
  why = loaded.missing;
  if (!why.empty()) return {};
  return [] { return std::make_unique<CudaGraph>(loaded.calls); };
}

OwnStream::OwnStream(at::Device device) : before_(c10::Stream::DEFAULT, device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  guard.synchronizeDevice(device.index());
  before_ = guard.exchangeStream(guard.getStreamFromGlobalPool(device));
}

OwnStream::~OwnStream() {
  if (before_.device().is_cpu()) return;
  try {
    const c10::impl::VirtualGuardImpl guard(before_.device_type());
    guard.exchangeStream(before_);
    guard.synchronizeDevice(before_.device_index());
  } catch (const std::exception&) {  // of a device that is lost: whoever uses it next is told
  }
}

}  // namespace locus::engine
