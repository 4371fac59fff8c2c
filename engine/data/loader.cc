// Gathers bytes, then normalizes on the device that will use them.
#include "engine/data/loader.h"

#include <algorithm>
#include <array>

namespace locus::engine {
namespace {

Tensor normalized(const Tensor& bytes, const Normalization& normalization, at::Device device) {
  Tensor image = bytes.to(device).to(at::kFloat);
  const auto channels = static_cast<std::int64_t>(normalization.mean.size());
  if (channels == 1) {  // the same affine map for all: scalars, no broadcast tensors
    const double scale = 1 / (255 * normalization.deviation[0]);
    return image.mul_(scale).sub_(normalization.mean[0] / normalization.deviation[0]);
  }
  const Tensor mean = at::tensor(normalization.mean).to(device, at::kFloat).view({channels, 1, 1});
  const Tensor deviation = at::tensor(normalization.deviation).to(device, at::kFloat).view({channels, 1, 1});
  return image.div_(255).sub_(mean).div_(deviation);
}

}  // namespace

TrainingLoader::TrainingLoader(const ImageSplit& split, const Normalization& normalization, std::string_view dataset,
                               std::int64_t batch, std::int64_t limit, const RandomStreams& random, at::Device device)
    : split_{split.images.to(device), split.labels.to(device)},
      normalization_(normalization),
      random_(random),
      device_(device) {
  images_ = limit > 0 ? std::min(limit, split.size()) : split.size();
  batch_ = std::min(batch, images_);
  kept_ = images_ == split.size()
              ? at::arange(images_, at::kLong)
              : RandomStreams(0).permutation(kSubset, dataset, 0, split.size()).slice(0, 0, images_);
}

void TrainingLoader::seek(SamplerPosition position) {
  if (position.epoch < 0 || position.batch < 0 || position.batch > batches_per_epoch()) {
    throw std::invalid_argument("sampler position outside the epoch");
  }
  position_ = position;
}

Batch TrainingLoader::next() {
  if (position_.batch == batches_per_epoch()) position_ = {position_.epoch + 1, 0};
  if (order_epoch_ != position_.epoch) {
    const auto epoch = static_cast<std::uint64_t>(position_.epoch);
    order_ = kept_.index_select(0, random_.permutation(kOrder, "train", epoch, images_)).to(device_);
    order_epoch_ = position_.epoch;
  }
  const Tensor rows = order_.slice(0, position_.batch * batch_, (position_.batch + 1) * batch_);
  ++position_.batch;
  return {{"image", normalized(split_.images.index_select(0, rows), normalization_, device_)},
          {"label", split_.labels.index_select(0, rows)}};
}

ImageSplit scored_part(const ImageSplit& split, std::string_view dataset, std::string_view name, std::int64_t images) {
  if (images <= 0 || images >= split.size()) return split;
  const std::string who = std::string(dataset) + "/" + std::string(name);
  const Tensor rows = RandomStreams(0).permutation(kSubset, who, 0, split.size()).slice(0, 0, images);
  return {split.images.index_select(0, rows), split.labels.index_select(0, rows)};
}

Batch evaluation_batch(const ImageSplit& split, const Normalization& normalization, std::int64_t first,
                       std::int64_t end, std::int64_t resolution, std::string_view interpolation, at::Device device) {
  Tensor image = normalized(split.images.slice(0, first, end), normalization, device);
  if (resolution > 0 && (image.size(2) != resolution || image.size(3) != resolution)) {
    const std::array<std::int64_t, 2> size{resolution, resolution};
    if (interpolation == "bilinear") {
      image = at::upsample_bilinear2d(image, size, /*align_corners=*/false);
    } else if (interpolation == "bicubic") {
      image = at::upsample_bicubic2d(image, size, /*align_corners=*/false);
    } else {
      throw std::invalid_argument("no interpolation '" + std::string(interpolation) + "': bilinear or bicubic");
    }
  }
  return {{"image", image}, {"label", split.labels.slice(0, first, end).to(device)}};
}

}  // namespace locus::engine
