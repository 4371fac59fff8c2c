// The axes of the pivot table.
#include "server/analysis/pivot_axes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/base/error.h"

namespace locus::server {
namespace {

std::string shown(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// Paths of any matrix, in order of appearance, then those the experiments fix differently.
std::vector<std::string> factor_paths(const PivotSources& sources, std::vector<bool>& matrix) {
  std::vector<std::string> out;
  for (const PivotSource& source : sources.experiments) {
    for (const std::string& path : source.outline->factors) {
      if (std::find(out.begin(), out.end(), path) == out.end()) out.push_back(path);
    }
  }
  matrix.assign(out.size(), true);
  std::map<std::string, std::set<std::string>> fixed;
  for (const PivotSource& source : sources.experiments) {
    for (const auto& [path, value] : source.outline->settings) fixed[path].insert(value.key);
  }
  for (const char* always : {"dataset", "prior"}) {  // what people look for first, varied or not
    if (std::find(out.begin(), out.end(), always) != out.end()) continue;
    out.emplace_back(always);
    matrix.push_back(fixed[always].size() > 1);
  }
  for (const auto& [path, keys] : fixed) {
    if (keys.size() < 2 || std::find(out.begin(), out.end(), path) != out.end()) continue;
    out.push_back(path);
    matrix.push_back(false);
  }
  return out;
}

// The value of a path in one cell.
int place(PivotAxis& axis, const Outline& outline, const Json& assignment) {
  const auto given = assignment.find(axis.name());
  if (given == assignment.end()) {
    const auto fixed = outline.settings.find(axis.name());
    if (fixed == outline.settings.end()) return kAbsent;
    return axis.add({fixed->second.value, fixed->second.key, fixed->second.label});
  }
  const std::string key = canonical_json(*given);
  if (const auto known = outline.values.find(axis.name()); known != outline.values.end()) {
    for (const PlannedValue& value : known->second) {
      if (value.value == key) return axis.add({value.value, value.key, value.label});
    }
  }
  return axis.add({key, key, shown(*given)});
}

void place_cells(const PivotSource& source, std::size_t factors, PivotAxes& out) {
  auto& cells = out.cells.emplace_back();
  for (std::size_t f = 0; f < factors; ++f) {  // in the order of the specification, whatever order the cells are in
    const auto values = source.outline->values.find(out.axes[f].name());
    if (values == source.outline->values.end()) continue;
    for (const PlannedValue& value : values->second) out.axes[f].add({value.value, value.key, value.label});
  }
  for (const CellRow& cell : source.cells) {
    const Json assignment = Json::parse(cell.assignment_json, nullptr, /*allow_exceptions=*/false);
    auto& at = cells.emplace_back();
    for (std::size_t f = 0; f < factors; ++f) at.push_back(place(out.axes[f], *source.outline, assignment));
  }
}

void place_labels(const PivotSource& source, PivotAxes& out) {
  auto& of_source = out.labels.emplace_back();
  const std::size_t first = out.metric + 1;
  for (const MetricValues& metric : source.metrics) {
    auto& of_metric = of_source.emplace_back();
    for (const std::string& text : metric.label_sets) {
      const Json labels = Json::parse(text, nullptr, /*allow_exceptions=*/false);
      auto& at = of_metric.emplace_back(out.axes.size() - first, kAbsent);
      if (!labels.is_object()) continue;
      for (const auto& [name, value] : labels.items()) {
        const int axis = out.find(name);
        const std::string key = canonical_json(value);
        if (axis >= static_cast<int>(first)) {
          at[static_cast<std::size_t>(axis) - first] =
              out.axes[static_cast<std::size_t>(axis)].add({key, key, shown(value)});
        }
      }
    }
  }
}

}  // namespace

int PivotAxis::add(const AxisValue& value) {
  const auto [at, fresh] = by_meaning_.emplace(value.meaning, static_cast<int>(values_.size()));
  if (fresh) values_.push_back(value);
  return at->second;
}

absl::StatusOr<std::vector<int>> PivotAxis::match(const std::string& text) const {
  std::vector<int> out;
  std::string known;
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const std::string key = json.is_discarded() ? "" : canonical_json(json);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].label == text || values_[i].key == key) out.push_back(static_cast<int>(i));
    known += (known.empty() ? "" : ", ") + values_[i].label;
  }
  if (!out.empty()) return out;
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                    "'" + text + "' is no value of " + name_ + "; choose among: " + known, "where",
                    {{"axis", name_}, {"value", text}});
}

std::vector<int> PivotAxis::order() const {
  std::vector<double> numbers;
  for (const AxisValue& value : values_) {
    const Json json = Json::parse(value.key, nullptr, /*allow_exceptions=*/false);
    if (json.is_number()) numbers.push_back(json.get<double>());
  }
  std::vector<int> by_rank(values_.size());
  std::iota(by_rank.begin(), by_rank.end(), 0);
  if (numbers.size() == values_.size()) {
    std::stable_sort(by_rank.begin(), by_rank.end(), [&](int a, int b) {
      return numbers[static_cast<std::size_t>(a)] < numbers[static_cast<std::size_t>(b)];
    });
  }
  std::vector<int> out(values_.size());
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
    out[static_cast<std::size_t>(by_rank[rank])] = static_cast<int>(rank);
  return out;
}

int PivotAxes::find(const std::string& name) const {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].name() == name) return static_cast<int>(i);
  }
  return kAbsent;
}

PivotAxes make_axes(const PivotSources& sources) {
  PivotAxes out;
  for (const std::string& path : factor_paths(sources, out.matrix)) out.axes.emplace_back(path, "factor");
  const std::size_t factors = out.axes.size();
  out.experiment = factors;
  out.metric = factors + 1;
  out.axes.emplace_back("experiment", "experiment");
  out.axes.emplace_back("metric", "metric");
  std::set<std::string> labels;
  for (const PivotSource& source : sources.experiments) {
    for (const MetricValues& metric : source.metrics) {
      for (const std::string& text : metric.label_sets) {
        const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
        for (const auto& [name, value] : json.items()) labels.insert(name);
      }
    }
  }
  for (const std::string& name : labels) {
    if (out.find(name) == kAbsent) out.axes.emplace_back(name, "label");
  }
  for (const PivotSource& source : sources.experiments) {
    const std::string key = Json(source.name).dump();
    out.axes[out.experiment].add({key, key, source.name});
    place_cells(source, factors, out);
    place_labels(source, out);
  }
  for (const PivotMetric& metric : sources.metrics) {
    const std::string key = Json(metric.title).dump(-1, ' ', false, Json::error_handler_t::replace);
    out.axes[out.metric].add({key, key, metric.title});
  }
  return out;
}

}  // namespace locus::server
