// The axes that a pivot table may have, and where every cell of every experiment lies on it. Pure.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/json.h"
#include "server/analysis/pivot_source.h"

namespace locus::server {

inline constexpr int kAbsent = -1;  // on an axis: has no such setting or label

struct AxisValue {
  std::string key;      // canonical JSON, as assignments and labels hold it
  std::string meaning;  // equal for values that mean the same, however written
  std::string label;
};

class PivotAxis {
 public:
  PivotAxis(std::string name, std::string kind) : name_(std::move(name)), kind_(std::move(kind)) {}
  int add(const AxisValue& value);  // its index; the first way to write a meaning is kept
  const std::string& name() const { return name_; }
  const std::string& kind() const { return kind_; }  // "factor", "label", "experiment", "metric"
  const std::vector<AxisValue>& values() const { return values_; }
  // Indices of what a filter names: a label, or JSON of the value. INVALID_ARGUMENT naming the known ones.
  absl::StatusOr<std::vector<int>> match(const std::string& text) const;
  std::vector<int> order() const;  // rank by index: numbers by value where all are numbers, otherwise as added

 private:
  std::string name_, kind_;
  std::vector<AxisValue> values_;
  std::unordered_map<std::string, int> by_meaning_;
};

// Coordinates by axis: factors, then "experiment", "metric", then labels.
struct PivotAxes {
  std::vector<PivotAxis> axes;
  std::size_t experiment = 0, metric = 0;            // their places; factors stand before, labels after
  std::vector<std::vector<std::vector<int>>> cells;  // by source, by place in PivotSource::cells: on the factors
  std::vector<std::vector<std::vector<std::vector<int>>>> labels;  // by source, metric, label set: on the labels
  std::vector<bool> matrix;                                        // by factor: of a matrix, not only fixed differently
  int find(const std::string& name) const;                         // kAbsent if there is none
};
PivotAxes make_axes(const PivotSources& sources);

}  // namespace locus::server
