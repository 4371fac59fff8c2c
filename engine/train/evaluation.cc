// Batches sized by pixels: large enough to amortize the calls, small enough for the activations to stay in
// cache.
#include "engine/train/evaluation.h"

#include <algorithm>

namespace locus::engine {
namespace {

constexpr std::int64_t kPixelsPerBatchCpu = 100'000;
constexpr std::int64_t kPixelsPerBatchCuda = 50'000'000;

std::int64_t batch_size(const ImageSplit& split, std::int64_t resolution, at::Device device) {
  const std::int64_t pixels = resolution > 0 ? resolution * resolution : split.images.size(2) * split.images.size(3);
  const std::int64_t most = device.is_cpu() ? kPixelsPerBatchCpu : kPixelsPerBatchCuda;
  return std::clamp<std::int64_t>(most / std::max<std::int64_t>(pixels, 1), 1, 4096);
}

}  // namespace

bool evaluate_range(Task& task, const ImageSplit& split, const Normalization& normalization, const EvaluationView& view,
                    std::int64_t first, std::int64_t end, at::Device device, const ForwardContext& context,
                    Accumulator& accumulator, const std::function<bool(std::int64_t done)>& go_on) {
  // Not inference mode: what priors keep per layout must stay usable by a training step that follows.
  at::NoGradGuard no_gradient;
  const std::int64_t size = batch_size(split, view.resolution, device);
  for (std::int64_t row = first; row < end; row += size) {
    if (!go_on(row - first)) return false;
    const Batch batch = evaluation_batch(split, normalization, row, std::min(row + size, end), view.resolution,
                                         view.interpolation, device);
    task.evaluate(batch, context, accumulator);
  }
  return true;
}

}  // namespace locus::engine
