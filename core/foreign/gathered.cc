// Gathers points and orders them.
#include "core/foreign/gathered.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/invalid.h"
#include "core/foreign/names.h"

namespace locus {
namespace {

absl::Status too_much(const std::string& what, std::int64_t found, std::int64_t most, const std::string& remedy) {
  return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kLimitExceeded,
                    "this is " + std::to_string(found) + " " + what + ", and an import holds at most " +
                        std::to_string(most) + ": " + remedy,
                    "series");
}

// By step, each once: of equal steps the last written.
ForeignSeries ordered(const SeriesKey& key, std::vector<Point> points) {
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.step < b.step; });
  ForeignSeries out{.key = key};
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i + 1 < points.size() && points[i + 1].step == points[i].step) continue;
    out.step.push_back(points[i].step);
    out.time_us.push_back(points[i].time_us);
    out.value.push_back(points[i].value);
  }
  out.points = static_cast<std::int64_t>(out.step.size());
  return out;
}

}  // namespace

absl::Status Gathered::add(const std::string& name, std::int64_t step, Microseconds time_us, double value) {
  if (step < 0) {
    return invalid("series", "\"" + name + "\" has a point at step " + std::to_string(step) + "; steps start at 0");
  }
  if (++added_ > kGatheredPointsMost)
    return too_much("points or more", added_, kForeignPointsMost, "write fewer, or import the runs one by one");
  points_[name].push_back({.step = step, .time_us = time_us, .value = value});
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ForeignSeries>> Gathered::series(const std::map<std::string, std::string>& renamed) const {
  if (points_.empty()) return invalid("series", "there is no scalar in it: nothing to import");
  for (const auto& [name, as] : renamed) {
    if (points_.contains(name)) continue;
    std::string known;
    for (const auto& [one, points] : points_) known += (known.empty() ? "" : ", ") + one;
    if (known.size() > 400) known = known.substr(0, 400) + "...";
    return invalid("rename", "there is no series \"" + name + "\" to rename; there are " + known);
  }
  if (static_cast<std::int64_t>(points_.size()) > kForeignSeriesMost) {
    return too_much("series", static_cast<std::int64_t>(points_.size()), kForeignSeriesMost, "leave some out");
  }
  std::map<SeriesKey, std::string> names;
  std::vector<ForeignSeries> out;
  std::int64_t total = 0;
  for (const auto& [name, points] : points_) {
    const auto as = renamed.find(name);
    LOCUS_ASSIGN_OR_RETURN(const SeriesKey key, series_key_of(as == renamed.end() ? name : as->second));
    if (const auto [other, fresh] = names.emplace(key, name); !fresh) {
      return invalid("series", "\"" + other->second + "\" and \"" + name + "\" are one series, " + key.metric +
                                   (key.split.empty() ? "" : " on " + key.split) + ": rename one of them");
    }
    out.push_back(ordered(key, points));
    total += out.back().points;
  }
  if (total > kForeignPointsMost)
    return too_much("points", total, kForeignPointsMost, "leave out series, or thin them");
  std::ranges::sort(out, {}, &ForeignSeries::key);
  return out;
}

}  // namespace locus
