// How a stored curve is read.
#include "storage/rules/curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace locus {
namespace {

using Indices = std::vector<std::size_t>;

enum class Kind { kFinite, kNan, kPlus, kMinus };
constexpr std::size_t kKinds = 4;
constexpr std::size_t kLeastCurvePoints = 16;

Kind kind_of(double value) {
  if (std::isfinite(value)) return Kind::kFinite;
  if (std::isnan(value)) return Kind::kNan;
  return value > 0 ? Kind::kPlus : Kind::kMinus;
}

// Every non-finite point, or only the ends of runs of one kind.
Indices marks(const std::vector<Point>& points, bool ends_only) {
  Indices out;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Kind kind = kind_of(points[i].value);
    if (kind == Kind::kFinite) continue;
    const bool first = i == 0 || kind_of(points[i - 1].value) != kind;
    const bool last = i + 1 == points.size() || kind_of(points[i + 1].value) != kind;
    if (!ends_only || first || last) out.push_back(i);
  }
  return out;
}

// Adds first, last, minimum and maximum of the finite points in [begin, end), and with `with_marks` the first
// and last of each non-finite kind.
void keep_bucket(const std::vector<Point>& points, std::size_t begin, std::size_t end, bool with_marks, Indices& out) {
  constexpr auto kNone = std::numeric_limits<std::size_t>::max();
  std::array<std::size_t, kKinds> first, last;
  first.fill(kNone);
  last.fill(kNone);
  std::size_t low = kNone, high = kNone;
  for (std::size_t i = begin; i < end; ++i) {
    const Kind kind = kind_of(points[i].value);
    const auto k = static_cast<std::size_t>(kind);
    if (first[k] == kNone) first[k] = i;
    last[k] = i;
    if (kind != Kind::kFinite) continue;
    if (low == kNone || points[i].value < points[low].value) low = i;
    if (high == kNone || points[i].value > points[high].value) high = i;
  }
  Indices kept = {first[0], low, high, last[0]};
  for (std::size_t k = 1; with_marks && k < kKinds; ++k) kept.insert(kept.end(), {first[k], last[k]});
  for (const std::size_t index : kept) {
    if (index != kNone) out.push_back(index);
  }
}

}  // namespace

void sort_by_step(std::vector<Point>& points) {
  const auto by_step = [](const Point& a, const Point& b) { return a.step < b.step; };
  if (!std::is_sorted(points.begin(), points.end(), by_step)) std::stable_sort(points.begin(), points.end(), by_step);
}

std::vector<Point> reduce_points(const std::vector<Point>& points, int max_points) {
  const std::size_t most = max_points <= 0 ? points.size() : std::max<std::size_t>(max_points, kLeastCurvePoints);
  if (points.size() <= most) return points;

  Indices kept = marks(points, false);
  if (kept.size() > most / 2) kept = marks(points, true);
  const bool by_bucket = kept.size() > most / 2;  // too many even so: each bucket keeps its own
  if (by_bucket) kept.clear();
  const std::size_t per_bucket = by_bucket ? 2 * kKinds + 2 : 4;
  const std::size_t buckets = (most - kept.size()) / per_bucket;
  for (std::size_t b = 0; b < buckets; ++b) {
    keep_bucket(points, points.size() * b / buckets, points.size() * (b + 1) / buckets, by_bucket, kept);
  }
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  std::vector<Point> out;
  out.reserve(kept.size());
  for (const std::size_t index : kept) out.push_back(points[index]);
  return out;
}

}  // namespace locus
