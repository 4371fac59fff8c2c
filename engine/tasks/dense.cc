// What tasks of maps have in common.
#include "engine/tasks/dense.h"

#include <algorithm>

#include "engine/tasks/conditions.h"
#include "engine/tasks/views.h"

namespace locus::engine {
namespace {

constexpr std::string_view kBackbonePart = "backbone.", kDecoderPart = "decoder.";
constexpr std::string_view kDenseExample = "measure";  // purpose of the draws of example_images()

// Images and target alone: what else a sample has (boxes, names) is of no use here and need not stack.
Batch image_and_target(std::span<const Sample> samples, const char* target) {
  std::vector<Sample> kept;
  for (const Sample& sample : samples) {
    Sample& one = kept.emplace_back();
    for (const char* name : {kImage, target}) {
      if (const auto found = sample.find(name); found != sample.end()) one.emplace(name, found->second);
    }
    if (!one.contains(target))
      throw std::invalid_argument(std::string("the sample has no '") + target + "', which the task learns from");
  }
  return stack_samples(kept);
}

}  // namespace

DenseTask::DenseTask(const TaskContext& context, const char* target, std::int64_t outputs)
    : target_(target), channels_(context.dataset_facts.at("channels")) {
  const Json& facts = context.dataset_facts;
  const InputFacts input{channels_, facts.at("extent")};
  backbone_ = make_backbone(context.configuration, input, context.random, context.path);
  register_module("backbone", backbone_);
  check_unconditioned(*backbone_);
  const Json chosen = context.configuration.value("decoder", Json{{"id", kPlainDecoder}});
  const DecoderItem& item = decoder_item(chosen.at("id").get<std::string>());
  const Options options(item.item.json(), chosen.value("options", Json::object()));
  const std::vector<std::int64_t> taps =
      item.input == DecoderInput::kPyramid ? options.integers("taps") : std::vector<std::int64_t>{};
  maps_ = register_module("maps", std::make_shared<HostMaps>(*backbone_, item.input, taps,
                                                             MapExtent{input.extent.at(0), input.extent.at(1)}));
  decoder_ = register_module("decoder", item.make({maps_->widths(), maps_->hierarchical(), outputs}, options));
  maps_->start();
  decoder_->start(Initializer(context.random, std::string(kDecoderPart)));
}

bool DenseTask::backbone_learns() const {
  const std::vector<Tensor> parameters = backbone_->parameters();
  return std::any_of(parameters.begin(), parameters.end(), [](const Tensor& p) { return p.requires_grad(); });
}

Tensor DenseTask::filled(const Tensor& image) const {
  const std::int64_t multiple = maps_->multiple();
  const auto missing = [&](std::int64_t side) { return (multiple - side % multiple) % multiple; };
  const std::int64_t below = missing(image.size(2)), right = missing(image.size(3));
  return below + right == 0 ? image : at::constant_pad_nd(image, {0, right, 0, below}, 0);
}

DenseTask::Seen DenseTask::see(const Tensor& image, const ForwardContext& context) {
  const Tensor whole = filled(image);
  Seen out;
  if (!context.training || backbone_learns()) {
    out.features = backbone_->forward(whole, context);
  } else {
    const at::NoGradGuard no_gradient;
    out.features = backbone_->forward(whole, {context.step, context.steps, false, context.random});
  }
  out.decoded = decoder_->forward((*maps_)(out.features), {whole.size(2), whole.size(3)}, context);
  return out;
}

std::vector<Tensor> DenseTask::looks(const Tensor& image, const ForwardContext& context) {
  return maps_of_views(image, views_, [&](const Tensor& seen) { return see(seen, context).decoded.map; });
}

Tensor DenseTask::predict(const Batch& batch, const ForwardContext& context) {
  const Tensor& image = batch.at(kImage);
  return said(interpolated(see(image, context).decoded.map, {image.size(2), image.size(3)}, Alignment::kHalfPixel));
}

std::int64_t DenseTask::flops(std::int64_t height, std::int64_t width) const {
  const MapExtent image{height, width};
  return backbone_->flops(height, width) + decoder_->flops(maps_->grids(image), image);
}

Collate DenseTask::collate() const {
  return [target = target_](std::span<const Sample> samples) { return image_and_target(samples, target); };
}

void DenseTask::add_prior_losses(const Seen& seen, const ForwardContext& context, StepLosses& losses) const {
  if (!backbone_learns()) return;
  for (const AuxLoss& auxiliary : backbone_->auxiliary_losses(seen.features, context))
    losses.add(auxiliary.value, auxiliary.fields);
}

Tensor DenseTask::example_images(std::int64_t size, const Extent& extent, const RandomStreams& random) const {
  return random.normal(kDenseExample, "images", 0, {size, channels_, extent[0], extent[1]});
}

Decay DenseTask::decay(std::string_view name, const Tensor& parameter) const {
  return name.starts_with(kBackbonePart) ? backbone_->decay(name.substr(kBackbonePart.size()), parameter)
                                         : default_decay(name, parameter);
}

bool DenseTask::training_only(std::string_view name) const {
  if (name.starts_with(kBackbonePart)) return backbone_->training_only(name.substr(kBackbonePart.size()));
  return name.starts_with(kDecoderPart) && decoder_->training_only(name.substr(kDecoderPart.size()));
}

}  // namespace locus::engine
