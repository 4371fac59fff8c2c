// Augmentations: a whole chain on one image, with the draws of a sample. The registry's items, so that an item of a plug-in
// is here, too.
#include "engine/augmentation/augmentation.h"

#include "engine/probe/components/beside_image.h"
#include "engine/probe/components/components.h"

namespace locus::engine::components {
namespace {

// Of {"extent": [rows, columns], "interpolation": "...", "mean": [...], "deviation": [...]}.
AugmentationContext context_of(const Json& specification, const Tensor& image) {
  AugmentationContext context;
  if (image.dim() != 3)
    throw std::invalid_argument("the image has the shape [C, H, W], not " + c10::str(image.sizes()));
  context.channels = image.size(0);
  context.extent = specification.value("extent", Extent{image.size(1), image.size(2)});
  if (context.extent[0] < 1 || context.extent[1] < 1) throw std::invalid_argument("extent is rows and columns, from 1");
  context.interpolation = specification.value("interpolation", context.interpolation);
  context.normalization.mean = specification.value("mean", std::vector<double>{});
  context.normalization.deviation = specification.value("deviation", std::vector<double>{});
  return context;
}

std::vector<ComponentTensor> draws() {
  const std::string tries = "float64 [tries]: ";
  return {
      {"crop.area", tries + "share of the image's area, of 0..1 over its range", true},
      {"crop.ratio", tries + "logarithm of the ratio over its range", true},
      {"crop.top", tries + "first row", true},
      {"crop.left", tries + "first column", true},
      {"pad.top", "float64 []: first row of a window of the padded image", true},
      {"pad.left", "float64 []: its first column", true},
      {"interpolation", "float64 []: bilinear below 0.5, else bicubic, where it is random", true},
      {"flip", "float64 []: flips below the probability", true},
      {"randaugment.*", "float64 []: of operation k \"<k>.op\", \"<k>.apply\", \"<k>.magnitude\", \"<k>.sign\"", true},
      {"autoaugment.*", "float64 []: \"policy\", and of operation k \"<k>.apply\", \"<k>.magnitude\", \"<k>.sign\"",
       true},
      {"trivialaugment.*", "float64 []: \"op\", \"magnitude\", \"sign\"", true},
      {"three.kind", "float64 []: grayscale, solarization or blur", true},
      {"blur.sigma", "float64 []: standard deviation of the blur over its range", true},
      {"scale", "float64 []: of images with targets, how much larger they are made, over its range", true},
      {"jitter.apply", "float64 []: of images with targets, colors change below the probability", true},
      {"gray", "float64 []: colors are taken away below the probability", true},
      {"photo.*",
       "float64 []: \"brightness\", \"contrast\", \"saturation\", \"hue\" below 1/2 happen, by \"brightness.shift\", "
       "\"contrast.factor\", \"saturation.factor\", \"hue.shift\" over their ranges; contrast comes early with "
       "\"mode\" below 1/2",
       true},
      {"jitter.order", "float64 [4]: keys of brightness, contrast, saturation and hue, the lowest first", true},
      {"jitter.*", "float64 []: \"brightness\", \"contrast\", \"saturation\", \"hue\" over their ranges", true},
      {"erase.noise", "float32 [C, H, W]: noise for erased pixels, by their position", true},
      {"erase.*",
       "float64 []: \"apply\", \"count\"; of box j [tries] \"<j>.area\", \"<j>.ratio\", \"<j>.top\", \"<j>.left\" and "
       "float32 [C] \"<j>.color\"",
       true}};
}

Component of(const AugmentationItem& augmentation) {
  Component out{
      .item = augmentation.item,
      .inputs = {{"image",
                  "uint8 [C, H, W]: the image as decoded; the specification may give \"extent\", "
                  "\"interpolation\", \"mean\" and \"deviation\" of the images that come out"}},
      .draws = draws(),
      .outputs = {{"image", "[C, rows, columns]: uint8, or float32 where the augmentation normalizes"}},
      .run = [&augmentation](const ComponentSpecification& specification, const NamedTensors& given) -> NamedTensors {
        const AugmentationContext context = context_of(specification.json, given.at("image"));
        const GivenDraws drawn(specification.json, given);
        Sample sample = beside_image(given);
        sample[kImage] = given.at("image");
        for (const auto& transform : augmentation.make(context, specification.options).transforms) {
          sample = transform->apply(std::move(sample), drawn);
        }
        NamedTensors all = beside_image(sample);
        all[kImage] = sample.at(kImage);
        return all;
      }};
  add_beside_image(out);
  return out;
}

}  // namespace

std::vector<Component> augmentation() {
  std::vector<Component> out;
  for (const AugmentationItem& item : augmentation_items()) out.push_back(of(item));
  return out;
}

}  // namespace locus::engine::components
