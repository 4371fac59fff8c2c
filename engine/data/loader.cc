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

// Images as they are, beside what their bytes stand for: `values`, made where it is undefined.
Batch served_bytes(Batch batch, const Normalization& normalization, Tensor& values) {
  if (!values.defined()) values = byte_values(normalization);
  batch[kByteValues] = values;
  return batch;
}

// Whether nothing but the one image of a batch would be normalized, and from bytes.
bool holds_bytes(const Batch& batch) {
  const auto image = batch.find(kImage);
  return image != batch.end() && image->second.is_cpu() && image->second.scalar_type() == at::kByte &&
         std::count_if(batch.begin(), batch.end(), [](const auto& entry) { return is_image(entry.first); }) == 1;
}

bool gathers(const Source& source, const Transforms& transforms, const Collate& collate) {
  return source.resident() != nullptr && transforms.empty() && !collate;
}

std::vector<std::int64_t> listed(const Tensor& rows) {
  const Tensor indexes = rows.contiguous();
  return {indexes.const_data_ptr<std::int64_t>(), indexes.const_data_ptr<std::int64_t>() + indexes.numel()};
}

// Part `part` of `parts`.
BatchPlace part_of(const BatchPlace& place, std::int64_t part, std::int64_t parts) {
  const std::int64_t begin = part * place.count / parts, end = (part + 1) * place.count / parts;
  return {place.first + begin, end - begin, place.size};
}

// With a sampler, a batch that the samples can fill, and transforms for every size.
TrainingSet completed(TrainingSet set, const RandomStreams& random) {
  if (!set.sampler) set.sampler = std::make_shared<TrainingOrder>(set.dataset, set.source->size(), set.limit, random);
  set.batch = std::min(set.batch, set.sampler->samples());
  if (set.by_size.size() != set.rule.sizes.size()) {
    throw std::invalid_argument("batches of " + std::to_string(set.rule.sizes.size()) +
                                " sizes need transforms for each, and there are " + std::to_string(set.by_size.size()));
  }
  return set;
}

}  // namespace

TrainingLoader::TrainingLoader(TrainingSet set, const RandomStreams& random, at::Device device,
                               const Decoding& decoding)
    : set_(completed(std::move(set), random)),
      random_(random),
      device_(device),
      decoding_(decoding),
      cuts_(set_.sampler->samples(), set_.batch, set_.rule, random) {
  if (!set_.by_size.empty()) return;
  if (!gathers(*set_.source, set_.preparation.transforms, set_.preparation.collate)) return;
  for (const auto& [name, tensor] : *set_.source->resident()) resident_.emplace(name, tensor.to(device));
}

void TrainingLoader::take_part(std::int64_t part, std::int64_t parts) {
  if (parts < 1 || part < 0 || part >= parts) throw std::invalid_argument("there is no such part of a batch");
  part_ = part;
  parts_ = parts;
}

std::string TrainingLoader::undivided(std::int64_t parts) {
  const auto refusal = [&](const std::string& what, std::int64_t samples) {
    return what + " of " + std::to_string(samples) + " samples cannot be divided among " + std::to_string(parts) +
           " devices evenly";
  };
  if (set_.batch % parts != 0) return refusal("a batch", set_.batch) + "; choose a multiple of it for train.batch";
  const std::string advice = "; set train.keep_last to false or choose other numbers of devices";
  if (set_.rule.sizes.empty()) {
    const std::int64_t rest = set_.rule.keep_last ? images() % set_.batch : 0;
    return rest % parts == 0 ? "" : refusal("the last batch of an epoch,", rest) + advice;
  }
  if (set_.rule.keep_last) return "the last batch of an epoch, of a drawn size, cannot be divided evenly" + advice;
  for (const std::int64_t side : set_.rule.sizes) {
    const std::int64_t samples = set_.batch * set_.rule.size * set_.rule.size / (side * side);
    if (samples % parts != 0 || samples > images())
      return refusal("a batch of images of side " + std::to_string(side) + ",", samples) +
             "; choose another train.batch";
  }
  return "";
}

void TrainingLoader::seek(SamplerPosition position) {
  if (position.epoch < 0 || position.batch < 0 || position.batch > batches_in(position.epoch)) {
    throw std::invalid_argument("sampler position outside the epoch");
  }
  position_ = position;
  if (stream_) waited_ += stream_->waited_seconds();
  stream_.reset();
}

Batch TrainingLoader::next() {
  if (position_.batch == batches_in(position_.epoch)) position_ = {position_.epoch + 1, 0};
  if (parts_ > 1) first_sample_ = part_ * cuts_.at(position_).count / parts_;
  Batch out;
  if (!resident_.empty()) {
    out = gathered();
  } else {
    if (!stream_) stream_ = stream_from(position_);
    out = *stream_->next();
  }
  ++position_.batch;
  if (bytes_ && device_.is_cpu() && holds_bytes(out))
    return served_bytes(std::move(out), set_.preparation.normalization, values_);
  return served(std::move(out), set_.preparation.normalization, device_);
}

Batch TrainingLoader::gathered() {
  if (rows_epoch_ != position_.epoch) {
    rows_ = set_.sampler->rows(position_.epoch).to(device_);
    rows_epoch_ = position_.epoch;
  }
  const BatchPlace place = part_of(cuts_.at(position_), part_, parts_);
  const Tensor rows = rows_.slice(0, place.first, place.first + place.count);
  Batch out;
  for (const auto& [name, tensor] : resident_) out.emplace(name, tensor.index_select(0, rows));
  return out;
}

std::unique_ptr<BatchStream> TrainingLoader::stream_from(SamplerPosition position) const {
  std::vector<std::shared_ptr<const Transforms>> by_size;
  for (const Transforms& one : set_.by_size) by_size.push_back(std::make_shared<const Transforms>(one));
  BatchPlan plan = [order = set_.sampler, cuts = cuts_, by_size = std::move(by_size), position, own = part_,
                    parts = parts_, rows = std::vector<std::int64_t>(), visits = std::vector<std::int64_t>(),
                    epoch = std::int64_t{-1}]() mutable -> std::optional<PlannedBatch> {
    if (position.batch == cuts.count(position.epoch)) position = {position.epoch + 1, 0};
    if (epoch != position.epoch) {
      rows = listed(order->rows(position.epoch));
      visits = listed(order->visits(position.epoch));
      epoch = position.epoch;
    }
    const BatchPlace place = part_of(cuts.at(position), own, parts);
    ++position.batch;
    const auto part = [&](const std::vector<std::int64_t>& all) {
      const auto first = all.begin() + place.first;
      return std::vector<std::int64_t>(first, first + place.count);
    };
    return PlannedBatch{epoch, part(rows), part(visits), by_size.empty() ? nullptr : by_size[place.size]};
  };
  return std::make_unique<BatchStream>(set_.source, set_.preparation.transforms, set_.preparation.collate, random_,
                                       std::move(plan), decoding_);
}

std::shared_ptr<const Source> scored_part(std::shared_ptr<const Source> split, std::string_view dataset,
                                          std::string_view name, std::int64_t images) {
  if (images <= 0 || images >= split->size()) return split;
  const std::string who = std::string(dataset) + "/" + std::string(name);
  return part_of(split, RandomStreams(0).permutation_begin(kSubset, who, 0, split->size(), images));
}

EvaluationLoader::EvaluationLoader(EvaluationSet set, std::int64_t first, std::int64_t end, std::int64_t batch,
                                   at::Device device)
    : set_(std::move(set)), row_(first), end_(end), batch_(batch), device_(device) {
  if (gathers(*set_.source, set_.transforms, set_.collate)) return;
  // A stream prepares images one by one, so that those of different extents come to stand in one batch.
  Transforms transforms = set_.transforms;
  transforms.push_back(normalizing(set_.normalization));
  if (set_.transforms.empty() && set_.view.extent[0] > 0 && first < end) {
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
  if (set_.bytes && device_.is_cpu() && holds_bytes(out)) {
    const Tensor& image = out.at(kImage);
    if (set_.view.extent[0] <= 0 || set_.view.extent == Extent{image.size(2), image.size(3)})
      return served_bytes(std::move(out), set_.normalization, values_);
  }
  out = served(std::move(out), set_.normalization, device_);
  if (set_.view.extent[0] > 0) out[kImage] = resized(out.at(kImage), set_.view.extent, set_.view.interpolation);
  return out;
}

}  // namespace locus::engine
