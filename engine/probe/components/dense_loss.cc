// Losses of maps, with their gradients.
#include "engine/tasks/dense_losses.h"

#include "engine/data/sample.h"
#include "engine/probe/components/components.h"

namespace locus::engine::components {
namespace {

Component pixel_loss() {
  Item item("loss", "pixel-cross-entropy", 1, "Cross-entropy of logits enlarged to a mask, over its labeled pixels");
  item.option(Option::text("average", "labeled", "what the sum is divided by: labeled pixels, or all")
                  .choices({"labeled", "all"}));
  return {.item = std::move(item),
          .inputs = {{"logits", "float [B, C, h, w]"}, {kMask, "uint8 [B, H, W]: classes, 255 where none counts"}},
          .draws = {},
          .outputs = {{"loss", "float []"}, {"gradient", "float [B, C, h, w]: of the logits"}},
          .run = [](const ComponentSpecification& specification, const NamedTensors& given) -> NamedTensors {
            const Tensor logits = given.at("logits").clone().set_requires_grad(true);
            const bool all = specification.options.text("average") == "all";
            const Tensor loss =
                pixel_cross_entropy(logits, given.at(kMask), all ? PixelAverage::kAll : PixelAverage::kLabeled);
            loss.backward();
            return {{"loss", loss.detach()}, {"gradient", logits.grad()}};
          }};
}

Component depths() {
  Item item("loss", "depth", 1, "L1 of depths brought together image by image, and of differences of neighbors");
  item.option(Option::text("align", "mean-deviation", "how they are brought together")
                  .choices({"mean-deviation", "scale-shift", "none"}));
  item.option(Option::number("gradient_weight", 0.5, "of the differences of neighbors at four scales").minimum(0.0));
  return {.item = std::move(item),
          .inputs = {{"prediction", "float [B, H, W]"}, {kDepth, "float [B, H, W]: 0 where it is not known"}},
          .draws = {},
          .outputs = {{"loss", "float []"}, {"gradient", "float [B, H, W]: of the prediction"}},
          .run = [](const ComponentSpecification& specification, const NamedTensors& given) -> NamedTensors {
            const Tensor prediction = given.at("prediction").clone().set_requires_grad(true);
            const std::string& align = specification.options.text("align");
            const DepthAlignment alignment = align == "none"          ? DepthAlignment::kNone
                                             : align == "scale-shift" ? DepthAlignment::kScaleShift
                                                                      : DepthAlignment::kMeanDeviation;
            const Tensor loss =
                depth_loss(prediction, given.at(kDepth), alignment, specification.options.number("gradient_weight"));
            loss.backward();
            return {{"loss", loss.detach()}, {"gradient", prediction.grad()}};
          }};
}

}  // namespace

std::vector<Component> dense_loss() { return {pixel_loss(), depths()}; }

}  // namespace locus::engine::components
