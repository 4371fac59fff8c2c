// Mixup and CutMix of a batch.
#include "engine/train/mixing.h"

#include "engine/probe/components/components.h"
#include "engine/train/recipe_options.h"

namespace locus::engine::components {
namespace {

// Numbers that were given, [elements] each, else those of the streams.
class GivenMixDraws final : public MixDraws {
 public:
  GivenMixDraws(const Json& specification, const NamedTensors& given)
      : given_(given),
        random_(specification.value("seed", std::uint64_t{0})),
        streams_(random_, specification.value("step", std::int64_t{0})) {}
  double unit(std::string_view name, std::int64_t element) const override {
    const Tensor* numbers = find(name);
    return numbers ? number(*numbers, name, element) : streams_.unit(name, element);
  }
  double beta(std::string_view name, std::int64_t element, double a) const override {
    const Tensor* numbers = find(name);
    return numbers ? number(*numbers, name, element) : streams_.beta(name, element, a);
  }

 private:
  const Tensor* find(std::string_view name) const {
    const auto found = given_.find("draws." + std::string(name));
    return found == given_.end() ? nullptr : &found->second;
  }
  static double number(const Tensor& numbers, std::string_view name, std::int64_t element) {
    const Tensor flat = numbers.to(at::kDouble).flatten();
    if (element >= flat.numel()) {
      throw std::invalid_argument("draws." + std::string(name) + " has " + std::to_string(flat.numel()) +
                                  " numbers, and the batch asks for number " + std::to_string(element + 1));
    }
    return flat[element].item<double>();
  }

  const NamedTensors& given_;
  RandomStreams random_;
  StreamMixDraws streams_;
};

NamedTensors run(const ComponentSpecification& specification, const NamedTensors& given, bool torchvision) {
  const MixingSettings settings = recipes::mixing_settings(specification.options, torchvision);
  const Tensor& image = given.at("image");
  const GivenMixDraws draws(specification.json, given);
  const std::vector<Mix> mixes = draw_mixes(settings, draws, image.size(0), image.size(2), image.size(3));
  std::vector<double> shares;
  std::vector<std::int64_t> partners, boxes;
  for (const Mix& mix : mixes) {
    shares.push_back(mix.share);
    partners.push_back(mix.partner);
    boxes.insert(boxes.end(), {mix.top, mix.bottom, mix.left, mix.right});
  }
  return {
      {"image", mixed_images(image, mixes)},
      {"target", mixed_targets(given.at("label"), specification.options.integer("classes"), settings.smoothing, mixes)},
      {"share", at::tensor(shares, at::kDouble)},
      {"partner", at::tensor(partners, at::kLong)},
      {"box", at::tensor(boxes, at::kLong).view({-1, 4})}};
}

Component mixing_of(const char* id, const char* summary, bool torchvision) {
  Item item("mixing", id, 1, summary);
  item.option(Option::integer("classes", 1000, "of the labels").minimum(1));
  recipes::add_mixing(item, torchvision, /*smoothing=*/0);
  return {
      .item = std::move(item),
      .inputs = {{"image", "float [B, C, H, W]"}, {"label", "int64 [B]"}},
      .draws = {{"mix.apply", "float64 [n] in [0, 1): mixed where below mix_probability, which is asked if below 1"},
                {"mix.kind", "float64 [n] in [0, 1): CutMix where below mix_switch, asked if both are on"},
                {"mix.lambda", "float64 [n]: of the Beta distribution"},
                {"mix.cut.y", "float64 [n] in [0, 1): the center's row over the height"},
                {"mix.cut.x", "float64 [n] in [0, 1): the center's column over the width"}},
      .outputs = {{"image", "[B, C, H, W]: mixed"},
                  {"target", "float [B, classes]"},
                  {"share", "float64 [B]: of the own label"},
                  {"partner", "int64 [B]: whom it is mixed with"},
                  {"box", "int64 [B, 4]: top, bottom, left, right, ends excluded; zeros without CutMix"}},
      .run = [torchvision](const ComponentSpecification& specification, const NamedTensors& given) {
        return run(specification, given, torchvision);
      }};
}

}  // namespace

std::vector<Component> mixing() {
  return {
      mixing_of("timm", "timm's Mixup; n counts chunks, images or pairs by mix_mode; streams by seed and step", false),
      mixing_of("torchvision", "torchvision's CutMix or MixUp; n counts chunks; streams by seed and step", true)};
}

}  // namespace locus::engine::components
