// Patch embeddings for other patches.
#include "engine/probe/components/components.h"
#include "engine/weights/fit.h"

namespace locus::engine::components {
namespace {

Component resample() {
  Item item("patch-kernel", "resample", 1, "A patch embedding for other patches, by the pseudo-inverse of resizing");
  item.option(Option::integer("patch", 8, "side of the patches wanted").minimum(1).maximum(1024).unit("pixels"));
  return {.item = std::move(item),
          .inputs = {{"kernel", "float32 or float64 [D, C, p, p]: a convolution as wide as its stride"}},
          .draws = {},
          .outputs = {{"kernel", "[D, C, patch, patch], in the type given"}},
          .run = [](const ComponentSpecification& specification, const NamedTensors& given) -> NamedTensors {
            const Tensor& kernel = given.at("kernel");
            if (kernel.dim() != 4 || kernel.size(2) != kernel.size(3))
              throw std::invalid_argument("'kernel' has the shape " + c10::str(kernel.sizes()) + ", not [D, C, p, p]");
            return {{"kernel", resampled_kernel(kernel, specification.options.integer("patch"))}};
          }};
}

}  // namespace

std::vector<Component> patch_kernel() { return {resample()}; }

}  // namespace locus::engine::components
