// Mean and deviation over the curves of several seeds.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/statistics/samples.h"
#include "server/analysis/curves_query.h"

namespace locus::server {
namespace {

// Walks several ascending sequences side by side, by a key; of equal keys in one sequence the last counts.
template <class Item, class Key, class Take>
void walk(const std::vector<std::vector<Item>>& curves, Key key, Take take) {
  std::vector<std::size_t> at(curves.size(), 0);
  std::vector<const Item*> here;
  while (true) {
    bool any = false;
    std::int64_t next = 0;
    for (std::size_t i = 0; i < curves.size(); ++i) {
      if (at[i] == curves[i].size()) continue;
      const std::int64_t candidate = key(curves[i][at[i]]);
      if (!any || candidate < next) next = candidate;
      any = true;
    }
    if (!any) return;
    here.clear();
    std::size_t reaching = 0;
    for (std::size_t i = 0; i < curves.size(); ++i) {
      const auto& curve = curves[i];
      if (!curve.empty() && key(curve.back()) >= next) ++reaching;
      const Item* found = nullptr;
      for (; at[i] < curve.size() && key(curve[at[i]]) == next; ++at[i]) found = &curve[at[i]];
      if (found != nullptr) here.push_back(found);
    }
    if (here.size() == reaching) take(here);
  }
}

}  // namespace

std::vector<BandPoint> band_of(const std::vector<std::vector<TimedPoint>>& curves) {
  std::vector<BandPoint> out;
  std::vector<double> values;
  walk(
      curves, [](const TimedPoint& each) { return each.point.step; },
      [&](const std::vector<const TimedPoint*>& here) {
        values.clear();
        double seconds = 0;
        for (const TimedPoint* each : here) {
          values.push_back(each->point.value);
          seconds += each->seconds / static_cast<double>(here.size());
        }
        const Point& first = here.front()->point;
        out.push_back({first.step, sample_mean(values), sample_std(values), static_cast<int>(values.size()),
                       first.epoch, first.images, seconds});
      });
  return out;
}

std::vector<BandPoint> band_of_blocks(const std::vector<std::vector<TimedBlock>>& curves) {
  std::vector<BandPoint> out;
  std::vector<double> values;
  walk(
      curves, [](const TimedBlock& each) { return each.block.index; },
      [&](const std::vector<const TimedBlock*>& here) {
        values.clear();
        double seconds = 0;
        const Point* last = &here.front()->block.last;
        for (const TimedBlock* each : here) {
          values.push_back(each->block.sum / static_cast<double>(each->block.count));
          seconds += each->seconds / static_cast<double>(here.size());
          if (each->block.last.step > last->step) last = &each->block.last;
        }
        out.push_back({last->step, sample_mean(values), sample_std(values), static_cast<int>(values.size()),
                       last->epoch, last->images, seconds});
      });
  return out;
}

std::vector<BandPoint> thin(const std::vector<BandPoint>& band, int most) {
  const std::size_t size = band.size();
  if (most <= 0 || size <= static_cast<std::size_t>(most)) return band;
  if (most == 1) return {band.back()};
  if (most < 4) return {band.front(), band.back()};
  const std::size_t buckets = static_cast<std::size_t>(most - 2) / 2;
  std::set<std::size_t> kept = {0, size - 1};
  for (std::size_t b = 0; b < buckets; ++b) {
    const std::size_t begin = size * b / buckets, end = size * (b + 1) / buckets;
    if (begin == end) continue;
    std::size_t low = begin, high = begin;
    for (std::size_t i = begin; i < end; ++i) {
      if (band[i].mean < band[low].mean || (std::isnan(band[i].mean) && !std::isnan(band[low].mean))) low = i;
      if (band[i].mean > band[high].mean) high = i;
    }
    kept.insert({low, high});
  }
  std::vector<BandPoint> out;
  for (const std::size_t i : kept) out.push_back(band[i]);
  return out;
}

}  // namespace locus::server
