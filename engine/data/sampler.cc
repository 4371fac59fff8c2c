// Orders of samples and cuts into batches. Batches of drawn sizes have no closed form, so epochs are counted through once.
#include "engine/data/sampler.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "engine/base/draws.h"

namespace locus::engine {
namespace {

constexpr std::string_view kResolution = "resolution";  // purpose of the draws of sizes
constexpr std::int64_t kEpochUnit = 256;                // of repeated augmentation: an epoch is a multiple of it

// The subset that `limit` leaves of a split, which no seed changes: the last one found is kept, since stages of one
// experiment ask for the same.
Tensor subset_of(std::string_view dataset, std::int64_t size, std::int64_t limit) {
  static std::mutex mutex;
  static std::tuple<std::string, std::int64_t, std::int64_t> of;
  static Tensor kept;
  const std::lock_guard lock(mutex);
  std::tuple<std::string, std::int64_t, std::int64_t> wanted(dataset, size, limit);
  if (!kept.defined() || of != wanted) {
    kept = RandomStreams(0).permutation_begin(kSubset, dataset, 0, size, limit);
    of = std::move(wanted);
  }
  return kept;
}

}  // namespace

TrainingOrder::TrainingOrder(std::string_view dataset, std::int64_t size, std::int64_t limit,
                             const RandomStreams& random)
    : random_(random) {
  kept_ = limit <= 0 || limit >= size ? at::arange(size, at::kLong) : subset_of(dataset, size, limit);
}

Tensor TrainingOrder::rows(std::int64_t epoch) const {
  return kept_.index_select(0, random_.permutation(kOrder, "train", static_cast<std::uint64_t>(epoch), samples()));
}

RepeatedOrder::RepeatedOrder(std::shared_ptr<const Sampler> order, std::int64_t repeats)
    : order_(std::move(order)), repeats_(repeats) {
  if (repeats < 1) {
    throw std::invalid_argument("samples are repeated once or more often, not " + std::to_string(repeats) + " times");
  }
}

std::int64_t RepeatedOrder::samples() const {
  const std::int64_t all = order_->samples();
  return all < kEpochUnit ? all : all / kEpochUnit * kEpochUnit;
}

Tensor RepeatedOrder::rows(std::int64_t epoch) const {
  return order_->rows(epoch).repeat_interleave(repeats_).slice(0, 0, samples());
}

Tensor RepeatedOrder::visits(std::int64_t epoch) const {
  return rows(epoch) * repeats_ + at::arange(samples(), at::kLong).remainder(repeats_);
}

BatchCuts::BatchCuts(std::int64_t samples, std::int64_t batch, BatchRule rule, const RandomStreams& random)
    : samples_(samples), batch_(batch), rule_(std::move(rule)), random_(random) {
  const bool positive = std::all_of(rule_.sizes.begin(), rule_.sizes.end(), [](std::int64_t side) { return side > 0; });
  if (!rule_.sizes.empty() && (rule_.size <= 0 || !positive))
    throw std::invalid_argument("the sides of images that batches take in turn must be positive numbers of pixels");
}

std::int64_t BatchCuts::batch_of(std::size_t size) const {
  if (rule_.sizes.empty()) return batch_;
  const std::int64_t side = rule_.sizes[size];
  return std::max<std::int64_t>(1, batch_ * rule_.size * rule_.size / (side * side));
}

std::int64_t BatchCuts::typical() const {
  if (rule_.sizes.empty()) {
    const std::int64_t whole = samples_ / batch_;
    return rule_.keep_last && samples_ % batch_ > 0 ? whole + 1 : whole;
  }
  std::int64_t sum = 0;
  for (std::size_t size = 0; size < rule_.sizes.size(); ++size) sum += batch_of(size);
  const auto kinds = static_cast<std::int64_t>(rule_.sizes.size());
  return (samples_ * kinds + sum - 1) / sum;
}

// One epoch's batches from the step `first_step` of the training on.
std::vector<BatchPlace> BatchCuts::drawn(std::int64_t first_step) const {
  std::vector<BatchPlace> out;
  const auto kinds = static_cast<double>(rule_.sizes.size());
  for (std::int64_t first = 0; first < samples_;) {
    const auto step = static_cast<std::uint64_t>(first_step) + out.size();
    const double u = draw_unit(random_, kResolution, "size", {.index = step, .element = 0, .attempt = 0});
    const std::size_t size = std::min(static_cast<std::size_t>(u * kinds), rule_.sizes.size() - 1);
    const std::int64_t wanted = batch_of(size), count = std::min(wanted, samples_ - first);
    if (count < wanted && !rule_.keep_last && first > 0) break;
    out.push_back({first, count, size});
    first += count;
  }
  return out;
}

BatchCuts::Start BatchCuts::start(std::int64_t epoch) {
  if (rule_.sizes.empty()) {
    const std::int64_t shown = rule_.keep_last ? samples_ : samples_ / batch_ * batch_;
    return {epoch * typical(), epoch * shown};
  }
  while (static_cast<std::int64_t>(starts_.size()) <= epoch) {
    const Start last = starts_.back();
    const std::vector<BatchPlace> batches = drawn(last.step);
    const std::int64_t shown = batches.empty() ? 0 : batches.back().first + batches.back().count;
    starts_.push_back({last.step + static_cast<std::int64_t>(batches.size()), last.samples + shown});
  }
  return starts_[static_cast<std::size_t>(epoch)];
}

const std::vector<BatchPlace>& BatchCuts::listed(std::int64_t epoch) {
  if (listed_epoch_ != epoch) {
    listed_ = drawn(start(epoch).step);
    listed_epoch_ = epoch;
  }
  return listed_;
}

std::int64_t BatchCuts::count(std::int64_t epoch) {
  return rule_.sizes.empty() ? typical() : static_cast<std::int64_t>(listed(epoch).size());
}

BatchPlace BatchCuts::at(SamplerPosition position) {
  if (!rule_.sizes.empty()) return listed(position.epoch).at(static_cast<std::size_t>(position.batch));
  const std::int64_t first = position.batch * batch_;
  return {first, std::min(batch_, samples_ - first), 0};
}

std::int64_t BatchCuts::steps(std::int64_t epochs) { return start(epochs).step; }

std::int64_t BatchCuts::samples_before(SamplerPosition position) {
  const std::int64_t before = start(position.epoch).samples;
  if (rule_.sizes.empty()) return before + std::min(position.batch * batch_, samples_);
  const std::vector<BatchPlace>& batches = listed(position.epoch);
  if (position.batch == 0) return before;
  const BatchPlace& last = batches.at(static_cast<std::size_t>(position.batch - 1));
  return before + last.first + last.count;
}

}  // namespace locus::engine
