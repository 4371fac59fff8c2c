// Position tables on other grids, one component for each manner of resizing.
#include "engine/layers/position_table.h"

#include "engine/probe/components/components.h"

namespace locus::engine::components {
namespace {

Component resize(const char* manner, const char* summary) {
  Item item("position-table", manner, 1, summary);
  item.option(Option::list("from", "integer", Json::array({14, 14}), "rows and columns of the table").minimum(1));
  item.option(Option::list("to", "integer", Json::array({7, 7}), "rows and columns wanted").minimum(1));
  return {.item = std::move(item),
          .inputs = {{"table", "float32 or float64 [N, D]: the rows of patches in raster order"}},
          .draws = {},
          .outputs = {{"table", "[N', D], in the type given"}},
          .run = [manner = std::string(manner)](const ComponentSpecification& specification,
                                                const NamedTensors& given) -> NamedTensors {
            const Options& options = specification.options;
            return {{"table",
                     resized_positions(given.at("table"), options.integers("from"), options.integers("to"), manner)}};
          }};
}

}  // namespace

std::vector<Component> position_table() {
  return {resize("deit", "Bicubic to the exact size, a = -0.75: DeiT, MAE, rope-vit, Hugging Face"),
          resize("dino", "Bicubic with the sampling factor (new + 0.1) / old: DINO, DINOv2"),
          resize("timm", "Bicubic, antialiased, a = -0.5: timm, DINOv2 with registers")};
}

}  // namespace locus::engine::components
