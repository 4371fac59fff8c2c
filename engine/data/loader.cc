// What is in memory is gathered where it is used; what is not comes from a stream of batches.
#include "engine/data/loader.h"

#include <algorithm>

namespace locus::engine {
namespace {

// To the device, images normalized there.
Batch served(Batch batch, const Normalization& normalization, at::Device device) {
  for (auto& [name, tensor] : batch)
    tensor = is_image(name) ? normalized(tensor, normalization, device) : tensor.to(device);
  return batch;
}

bool gathers(const Source& source, const Transforms& transforms, const Collate& collate) {
  return source.resident() != nullptr && transforms.empty() && !collate;
}

std::vector<std::int64_t> listed(const Tensor& rows) {
  const Tensor indexes = rows.contiguous();
  return {indexes.const_data_ptr<std::int64_t>(), indexes.const_data_ptr<std::int64_t>() + indexes.numel()};
}

}  // namespace

TrainingOrder::TrainingOrder(std::string_view dataset, std::int64_t size, std::int64_t limit,
                             const RandomStreams& random)
    : random_(random) {
  kept_ = limit <= 0 || limit >= size ? at::arange(size, at::kLong)
                                      : RandomStreams(0).permutation(kSubset, dataset, 0, size).slice(0, 0, limit);
}

Tensor TrainingOrder::rows(std::int64_t epoch) const {
  return kept_.index_select(0, random_.permutation(kOrder, "train", static_cast<std::uint64_t>(epoch), samples()));
}

TrainingLoader::TrainingLoader(TrainingSet set, const RandomStreams& random, at::Device device,
                               const Decoding& decoding)
    : set_(std::move(set)), random_(random), device_(device), decoding_(decoding) {
  if (!set_.sampler)
    set_.sampler = std::make_shared<TrainingOrder>(set_.dataset, set_.source->size(), set_.limit, random);
  set_.batch = std::min(set_.batch, set_.sampler->samples());
  if (!gathers(*set_.source, set_.preparation.transforms, set_.preparation.collate)) return;
  for (const auto& [name, tensor] : *set_.source->resident()) resident_.emplace(name, tensor.to(device));
}

void TrainingLoader::seek(SamplerPosition position) {
  if (position.epoch < 0 || position.batch < 0 || position.batch > batches_per_epoch()) {
    throw std::invalid_argument("sampler position outside the epoch");
  }
  position_ = position;
  if (stream_) waited_ += stream_->waited_seconds();
  stream_.reset();
}

Batch TrainingLoader::next() {
  if (position_.batch == batches_per_epoch()) position_ = {position_.epoch + 1, 0};
  Batch out;
  if (!resident_.empty()) {
    out = gathered();
  } else {
    if (!stream_) stream_ = stream_from(position_);
    out = *stream_->next();
  }
  ++position_.batch;
  return served(std::move(out), set_.preparation.normalization, device_);
}

Batch TrainingLoader::gathered() {
  if (rows_epoch_ != position_.epoch) {
    rows_ = set_.sampler->rows(position_.epoch).to(device_);
    rows_epoch_ = position_.epoch;
  }
  const std::int64_t batch = batch_size();
  const Tensor rows = rows_.slice(0, position_.batch * batch, (position_.batch + 1) * batch);
  Batch out;
  for (const auto& [name, tensor] : resident_) out.emplace(name, tensor.index_select(0, rows));
  return out;
}

std::unique_ptr<BatchStream> TrainingLoader::stream_from(SamplerPosition position) const {
  BatchPlan plan = [order = set_.sampler, batch = batch_size(), position, rows = std::vector<std::int64_t>(),
                    epoch = std::int64_t{-1}]() mutable -> std::optional<PlannedBatch> {
    if (position.batch == order->samples() / batch) position = {position.epoch + 1, 0};
    if (epoch != position.epoch) {
      rows = listed(order->rows(position.epoch));
      epoch = position.epoch;
    }
    const auto first = rows.begin() + position.batch * batch;
    ++position.batch;
    return PlannedBatch{epoch, {first, first + batch}};
  };
  return std::make_unique<BatchStream>(set_.source, set_.preparation.transforms, set_.preparation.collate, random_,
                                       std::move(plan), decoding_);
}

std::shared_ptr<const Source> scored_part(std::shared_ptr<const Source> split, std::string_view dataset,
                                          std::string_view name, std::int64_t images) {
  if (images <= 0 || images >= split->size()) return split;
  const std::string who = std::string(dataset) + "/" + std::string(name);
  return part_of(split, RandomStreams(0).permutation(kSubset, who, 0, split->size()).slice(0, 0, images));
}

EvaluationLoader::EvaluationLoader(EvaluationSet set, std::int64_t first, std::int64_t end, std::int64_t batch,
                                   at::Device device)
    : set_(std::move(set)), row_(first), end_(end), batch_(batch), device_(device) {
  if (gathers(*set_.source, {}, set_.collate)) return;
  // A stream prepares images one by one, so that those of different extents come to stand in one batch.
  Transforms transforms{normalizing(set_.normalization)};
  if (set_.view.extent[0] > 0 && first < end) {
    const std::int64_t channels = set_.source->read(first).at(kImage).size(0);
    transforms.push_back(resizing(set_.view.extent, channels, set_.view.interpolation));
  }
  BatchPlan plan = [row = first, end, batch]() mutable -> std::optional<PlannedBatch> {
    if (row >= end) return std::nullopt;
    PlannedBatch out;
    for (const std::int64_t stop = std::min(row + batch, end); row < stop; ++row) out.rows.push_back(row);
    return out;
  };
  stream_ = std::make_unique<BatchStream>(set_.source, std::move(transforms), set_.collate, RandomStreams(0),
                                          std::move(plan), set_.decoding);
}

std::optional<Batch> EvaluationLoader::next() {
  if (stream_) {
    std::optional<Batch> batch = stream_->next();
    if (!batch) return std::nullopt;
    for (auto& entry : *batch) entry.second = entry.second.to(device_);
    return batch;
  }
  if (row_ >= end_) return std::nullopt;
  const std::int64_t stop = std::min(row_ + batch_, end_);
  Batch out;
  for (const auto& [name, tensor] : *set_.source->resident()) out.emplace(name, tensor.slice(0, row_, stop));
  row_ = stop;
  out = served(std::move(out), set_.normalization, device_);
  if (set_.view.extent[0] > 0) out[kImage] = resized(out.at(kImage), set_.view.extent, set_.view.interpolation);
  return out;
}

}  // namespace locus::engine
