// Images as patches.
#include "engine/fused/patches.h"

#include "engine/backbones/backbone.h"

namespace locus::engine {

Tensor patches_of(const Tensor& images, std::int64_t patch) {
  if (images.is_floating_point() && fused::takes_patches(images)) return fused::patch_rows(images, patch, {});
  const std::int64_t batch = images.size(0), channels = images.size(1), rows = images.size(2) / patch,
                     columns = images.size(3) / patch;
  return images.reshape({batch, channels, rows, patch, columns, patch})
      .permute({0, 2, 4, 1, 3, 5})
      .reshape({batch, rows * columns, channels * patch * patch});
}

Tensor patches_of(const Inputs& inputs, std::int64_t patch) {
  return inputs.values.defined() ? fused::patch_rows(inputs.image, patch, inputs.values)
                                 : patches_of(inputs.image, patch);
}

}  // namespace locus::engine
