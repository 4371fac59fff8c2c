// A row of a patch at a time: what lies together in the image lies together in the patch.
#include "engine/fused/patches.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "engine/fused/switch.h"

namespace locus::engine::fused {
namespace {

constexpr std::int64_t kNumbersAtOnce = 32 * 1024;  // of a thread
constexpr std::int64_t kByteValues = 256;

// Calls put(to, from, channel) for each row of each patch, `patch` numbers long.
template <typename T, typename S, typename Put>
void by_patch_row(const Tensor& images, std::int64_t patch, Tensor& out, const Put& put) {
  const std::int64_t channels = images.size(1), height = images.size(2), width = images.size(3);
  const std::int64_t rows = height / patch, columns = width / patch, numbers = channels * patch * patch;
  const S* const from = images.const_data_ptr<S>();
  T* const to = out.mutable_data_ptr<T>();
  const std::int64_t band = columns * numbers;  // what a row of patches makes
  at::parallel_for(0, images.size(0) * rows,
                   std::max<std::int64_t>(1, kNumbersAtOnce / std::max<std::int64_t>(band, 1)),
                   [&](std::int64_t first, std::int64_t end) {
                     for (std::int64_t r = first; r < end; ++r) {
                       const S* const image = from + r / rows * channels * height * width;
                       for (std::int64_t line = 0; line < channels * patch; ++line) {
                         const std::int64_t channel = line / patch, y = r % rows * patch + line % patch;
                         const S* source = image + (channel * height + y) * width;
                         T* target = to + r * band + line * patch;
                         for (std::int64_t c = 0; c < columns; ++c, source += patch, target += numbers)
                           put(target, source, channel);
                       }
                     }
                   });
}

template <typename T>
void copy_patches(const Tensor& images, std::int64_t patch, Tensor& out) {
  by_patch_row<T, T>(images, patch, out, [patch](T* to, const T* from, std::int64_t) { std::copy_n(from, patch, to); });
}

}  // namespace

bool takes_patches(const Tensor& images) {
  if (!images.is_cpu() || images.dim() != 4 || !images.is_contiguous()) return false;
  const at::ScalarType type = images.scalar_type();
  if (type == at::kByte) return true;
  return is_enabled() && (type == at::kFloat || type == at::kDouble) &&
         !(images.requires_grad() && at::GradMode::is_enabled());
}

Tensor patch_rows(const Tensor& images, std::int64_t patch, const Tensor& values) {
  const std::int64_t channels = images.size(1), count = images.size(2) / patch * (images.size(3) / patch);
  const bool bytes = images.scalar_type() == at::kByte;
  if (bytes != values.defined()) throw std::invalid_argument("patches of bytes, and of these alone, need their values");
  Tensor out = at::empty({images.size(0), count, channels * patch * patch},
                         images.options().dtype(bytes ? values.scalar_type() : images.scalar_type()));
  if (!bytes) {
    images.scalar_type() == at::kDouble ? copy_patches<double>(images, patch, out)
                                        : copy_patches<float>(images, patch, out);
    return out;
  }
  if (values.size(0) != 1 && values.size(0) != channels)
    throw std::invalid_argument("values of " + std::to_string(values.size(0)) + " channels are given for images of " +
                                std::to_string(channels));
  const float* const table = values.const_data_ptr<float>();
  const std::int64_t step = values.size(0) == 1 ? 0 : kByteValues;
  by_patch_row<float, std::uint8_t>(images, patch, out, [=](float* to, const std::uint8_t* from, std::int64_t channel) {
    const float* const of = table + channel * step;
    for (std::int64_t i = 0; i < patch; ++i) to[i] = of[from[i]];
  });
  return out;
}

}  // namespace locus::engine::fused
