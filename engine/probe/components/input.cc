// Inputs: an image as training without augmentation, or an evaluation, hands it to a model.
#include "engine/inputs/input.h"

#include "engine/probe/components/beside_image.h"
#include "engine/probe/components/components.h"

namespace locus::engine::components {
namespace {

constexpr const char *kMean = "mean", *kDeviation = "deviation";

std::vector<double> numbers(const NamedTensors& given, const char* name, std::int64_t channels, double otherwise) {
  const auto found = given.find(name);
  if (found == given.end()) return std::vector<double>(static_cast<std::size_t>(channels), otherwise);
  const Tensor values = found->second.to(at::kDouble).contiguous();
  if (values.dim() != 1 || values.size(0) != channels)
    throw std::invalid_argument(std::string(name) + " needs a number for each of the image's channels");
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + channels};
}

NamedTensors run(const InputItem& item, const ComponentSpecification& specification, const NamedTensors& given) {
  const Tensor& image = given.at(kImage);
  if (image.dim() != 3 || image.scalar_type() != at::kByte)
    throw std::invalid_argument("image must be uint8 [C, H, W], not " + c10::str(image.sizes()));
  const Json facts = {{"channels", image.size(0)}, {"extent", {image.size(1), image.size(2)}}};
  const Normalization own{numbers(given, kMean, image.size(0), 0), numbers(given, kDeviation, image.size(0), 1)};
  const auto input = item.make({facts, own}, specification.options);
  const ViewRequest request{.resolution = specification.json.value("resolution", std::int64_t{0}),
                            .resize = specification.json.value("resize", "plain"),
                            .interpolation = specification.json.value("interpolation", "bilinear")};
  const InputView view = input->view(request);
  const RandomStreams random(0);
  Sample sample = beside_image(given);
  sample[kImage] = image;
  for (const auto& step : view.transforms) sample = step->apply(std::move(sample), StreamDraws(random, 0, 0));
  const Tensor pixels = sample.at(kImage);
  Tensor out = normalized(pixels.unsqueeze(0), input->normalization(), at::kCPU);
  if (view.transforms.empty() && view.view.extent[0] > 0) out = resized(out, view.view.extent, view.view.interpolation);
  NamedTensors all = beside_image(sample);
  all.insert({{"pixels", pixels}, {kImage, out.squeeze(0)}});
  return all;
}

}  // namespace

std::vector<Component> input() {
  std::vector<Component> out;
  for (const InputItem& item : input_items()) {
    Component made{.item = item.item,
                   .inputs = {{kImage, "uint8 [1 or 3, H, W]: as it was decoded"},
                              {kMean, "float64 [C]: the dataset's own of pixels / 255; 0 where it is left out", true},
                              {kDeviation, "float64 [C]: likewise; 1 where it is left out", true}},
                   .draws = {},
                   .outputs = {{"pixels",
                                "uint8 [C, S, S]: resized and cropped. The specification's `resolution` is that of an "
                                "evaluation, with its `resize` and `interpolation`; absent: as in training"},
                               {kImage, "float32 [C, S, S]: normalized, as the model takes it"}},
                   .run = [&item](const ComponentSpecification& specification, const NamedTensors& given) {
                     return run(item, specification, given);
                   }};
    add_beside_image(made);
    out.push_back(std::move(made));
  }
  return out;
}

}  // namespace locus::engine::components
