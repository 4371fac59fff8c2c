// Batches sized by pixels: large enough to amortize the calls, small enough for the activations to stay in
// cache.
#include "engine/train/evaluation.h"

#include <algorithm>

namespace locus::engine {
namespace {

constexpr std::int64_t kPixelsPerBatchCpu = 100'000;
constexpr std::int64_t kPixelsPerBatchCuda = 50'000'000;

std::int64_t batch_size(const EvaluationSet& set, std::int64_t first, at::Device device) {
  if (set.view.apart) return 1;
  const Extent& extent = set.view.extent;
  std::int64_t pixels = extent[0] * extent[1];
  if (pixels == 0) {
    const Tensor image = set.source->read(first).at(kImage);
    pixels = image.size(1) * image.size(2);
  }
  const std::int64_t most = device.is_cpu() ? kPixelsPerBatchCpu : kPixelsPerBatchCuda;
  return std::clamp<std::int64_t>(most / std::max<std::int64_t>(pixels, 1), 1, 4096);
}

}  // namespace

Decoding decoding_of(const Execution& execution) { return {execution.decode_threads, execution.decode_bytes}; }

bool visit_range(const EvaluationSet& set, std::int64_t first, std::int64_t end, at::Device device,
                 const std::function<void(const Batch&)>& visit, const std::function<bool(std::int64_t done)>& go_on) {
  // Not inference mode: what priors keep per layout must stay usable by a training step that follows.
  at::NoGradGuard no_gradient;
  if (first >= end) return true;
  const std::int64_t size = batch_size(set, first, device);
  EvaluationLoader batches(set, first, end, size, device);
  for (std::int64_t row = first; row < end; row += size) {
    if (!go_on(row - first)) return false;
    visit(*batches.next());
  }
  return true;
}

bool evaluate_range(Task& task, const EvaluationSet& set, std::int64_t first, std::int64_t end, at::Device device,
                    const ForwardContext& context, Accumulator& accumulator,
                    const std::function<bool(std::int64_t done)>& go_on) {
  EvaluationSet looked_at = set;
  looked_at.bytes = task.takes_bytes();
  return visit_range(
      looked_at, first, end, device, [&](const Batch& batch) { task.evaluate(batch, context, accumulator); }, go_on);
}

}  // namespace locus::engine
