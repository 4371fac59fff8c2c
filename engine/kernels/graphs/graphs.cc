// Recorded work of a GPU by torch's own graphs, whose pools and generators only torch knows how to keep. Compiled with the
// headers of CUDA and linked with none of it: what it calls is there once CUDA torch is loaded.
#include <ATen/cuda/CUDAGraph.h>

#include <memory>
#include <string>

#include "engine/kernels/graph_abi.h"

struct locus_graph {
  at::cuda::CUDAGraph graph;
};

namespace {

thread_local std::string failure;  // NOLINT: of a thread

template <typename Work>
int told(const Work& work) {
  try {
    work();
    return 0;
  } catch (const c10::Error& error) {
    failure = error.what_without_backtrace();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  return 1;
}

}  // namespace

#define LOCUS_EXPORT extern "C" __attribute__((visibility("default")))

LOCUS_EXPORT int locus_graphs_abi(void) { return LOCUS_GRAPHS_ABI; }

LOCUS_EXPORT locus_graph* locus_graph_new(void) {
  std::unique_ptr<locus_graph> made;
  return told([&] { made = std::make_unique<locus_graph>(); }) == 0 ? made.release() : nullptr;
}

LOCUS_EXPORT int locus_graph_begin(locus_graph* graph) {
  return told([&] { graph->graph.capture_begin(); });
}

LOCUS_EXPORT int locus_graph_end(locus_graph* graph) {
  return told([&] { graph->graph.capture_end(); });
}

LOCUS_EXPORT int locus_graph_replay(locus_graph* graph) {
  return told([&] { graph->graph.replay(); });
}

LOCUS_EXPORT void locus_graph_free(locus_graph* graph) {
  told([&] { delete graph; });
}

LOCUS_EXPORT const char* locus_graph_error(void) { return failure.c_str(); }
