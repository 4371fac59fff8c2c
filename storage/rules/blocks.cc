// Points summed up in blocks of steps, and curves drawn from them.
#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "storage/rules/curve.h"

namespace locus {
namespace {

constexpr std::int64_t kWorthwhile = 4;  // so many points for each one wanted, or the points are read themselves
constexpr int kLeastShift = 6, kMostShift = 62, kKeptPerBlock = 4, kLeastPoints = 16;

void keep_low(SeriesBlock& block, const Point& point, bool first) {
  if (first || point.value < block.low.value) block.low = point;
}

void keep_high(SeriesBlock& block, const Point& point, bool first) {
  if (first || point.value > block.high.value) block.high = point;
}

bool by_step(const Point& a, const Point& b) { return a.step < b.step; }

// Everything of a point, so that equal ones lie side by side after sorting; NaN equals itself.
auto whole(const Point& point) {
  return std::tuple(point.step, point.time_us, point.images, std::bit_cast<std::uint64_t>(point.value),
                    std::bit_cast<std::uint64_t>(point.epoch));
}

}  // namespace

absl::Status check_shift(int shift) {
  if (shift >= 0 && shift <= kMostShift) return absl::OkStatus();
  return make_error(
      absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
      "the width of blocks is 2^" + std::to_string(shift) + " steps; give 0 to " + std::to_string(kMostShift), "shift");
}

SeriesBlock& BlockCollector::at(std::int64_t step) {
  const std::int64_t index = step >> shift_;
  if (newest_ == nullptr || newest_->index != index) {
    newest_ = &blocks_[index];
    newest_->index = index;
  }
  return *newest_;
}

void BlockCollector::add(const Point& point) {
  SeriesBlock& block = at(point.step);
  const bool fresh = block.count == 0;
  if (fresh || point.step < block.first.step) block.first = point;
  if (fresh || point.step >= block.last.step) block.last = point;
  if (std::isfinite(point.value)) {
    const bool only = block.finite() == 0;
    keep_low(block, point, only);
    keep_high(block, point, only);
  } else {
    block.marks.insert(std::upper_bound(block.marks.begin(), block.marks.end(), point, by_step), point);
  }
  ++block.count;
  block.sum += point.value;
}

void BlockCollector::merge(const SeriesBlock& block) {
  if (block.count > 0) merge_block(at(block.first.step), block);
}

std::vector<SeriesBlock> BlockCollector::take() {
  std::vector<SeriesBlock> out;
  out.reserve(blocks_.size());
  for (auto& [index, block] : blocks_) out.push_back(std::move(block));
  blocks_.clear();
  newest_ = nullptr;
  return out;
}

void merge_block(SeriesBlock& to, const SeriesBlock& from) {
  if (from.count == 0) return;
  const bool fresh = to.count == 0;
  if (fresh || from.first.step < to.first.step) to.first = from.first;
  if (fresh || from.last.step >= to.last.step) to.last = from.last;
  if (from.finite() > 0) {
    const bool only = to.finite() == 0;
    keep_low(to, from.low, only);
    keep_high(to, from.high, only);
  }
  to.marks.insert(to.marks.end(), from.marks.begin(), from.marks.end());
  std::stable_sort(to.marks.begin(), to.marks.end(), by_step);
  to.count += from.count;
  to.sum += from.sum;
}

std::optional<int> drawing_shift(std::int64_t stored, StepRange range, int max_points) {
  if (max_points <= 0) return std::nullopt;
  const std::int64_t most = std::max(max_points, kLeastPoints);
  if (stored <= kWorthwhile * most) return std::nullopt;
  const double width = (static_cast<double>(range.last) - static_cast<double>(range.first) + 1) /
                       (static_cast<double>(most) / kKeptPerBlock);
  if (!(width >= std::exp2(kLeastShift))) return std::nullopt;
  return std::min(kMostShift, static_cast<int>(std::floor(std::log2(width))));
}

std::optional<std::vector<Point>> draw_blocks(const std::vector<SeriesBlock>& blocks, int max_points) {
  const auto most = static_cast<std::size_t>(std::max(max_points, kLeastPoints));
  std::vector<Point> out;
  for (const SeriesBlock& block : blocks) out.insert(out.end(), block.marks.begin(), block.marks.end());
  if (out.size() > most / 2) return std::nullopt;
  const std::size_t buckets = std::min(blocks.size(), (most - out.size()) / kKeptPerBlock);
  for (std::size_t b = 0; b < buckets; ++b) {
    SeriesBlock bucket;
    for (std::size_t i = blocks.size() * b / buckets; i < blocks.size() * (b + 1) / buckets; ++i)
      merge_block(bucket, blocks[i]);
    out.insert(out.end(), {bucket.first, bucket.last});
    if (bucket.finite() > 0) out.insert(out.end(), {bucket.low, bucket.high});
  }
  const auto less = [](const Point& a, const Point& b) { return whole(a) < whole(b); };
  const auto same = [](const Point& a, const Point& b) { return whole(a) == whole(b); };
  std::sort(out.begin(), out.end(), less);
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  return out;
}

}  // namespace locus
