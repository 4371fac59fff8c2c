// What a pivot table shows.
#include "server/analysis/pivot_selection.h"

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "core/base/invalid.h"

namespace locus::server {
namespace {

using Coordinates = std::vector<int>;  // on all axes

class Selector {
 public:
  Selector(const PivotSources& sources, const PivotAxes& axes, const v1::GetPaperTableRequest& request)
      : sources_(sources), axes_(axes), request_(request) {}

  absl::StatusOr<PivotSelection> select() {
    LOCUS_RETURN_IF_ERROR(read_filters());
    LOCUS_RETURN_IF_ERROR(read_side(request_.columns(), "columns", out_.column_axes));
    LOCUS_RETURN_IF_ERROR(read_side(request_.rows(), "rows", out_.row_axes));
    for (const PivotSource& source : sources_.experiments) {
      auto& trials = out_.trials.emplace_back();
      for (const PivotTrial& trial : source.trials) trials[trial.cell].push_back(&trial);
    }
    add_defaults();
    make_entries();
    return std::move(out_);
  }

 private:
  absl::StatusOr<int> axis_named(const std::string& name, const std::string& field) const {
    if (const int axis = axes_.find(name); axis != kAbsent) return axis;
    std::string known;
    for (const PivotAxis& axis : axes_.axes) known += (known.empty() ? "" : ", ") + axis.name();
    return invalid(field, "the experiments have no axis '" + name + "'; choose among: " + known);
  }

  absl::Status read_filters() {
    for (const v1::TableFilter& filter : request_.where()) {
      LOCUS_ASSIGN_OR_RETURN(const int axis, axis_named(filter.axis(), "where"));
      std::set<int> wanted;
      for (const std::string& value : filter.values()) {
        LOCUS_ASSIGN_OR_RETURN(const auto found, axes_.axes[static_cast<std::size_t>(axis)].match(value));
        wanted.insert(found.begin(), found.end());
      }
      if (wanted.empty())
        return invalid("where", "the filter on " + filter.axis() + " names no value; give at least one");
      const auto [at, fresh] = out_.filters.emplace(axis, wanted);
      if (!fresh) return invalid("where", "two filters on " + filter.axis() + "; list all its values in one");
    }
    return absl::OkStatus();
  }

  absl::Status read_side(const google::protobuf::RepeatedPtrField<std::string>& names, const std::string& field,
                         std::vector<int>& side) {
    for (const std::string& name : names) {
      LOCUS_ASSIGN_OR_RETURN(const int axis, axis_named(name, field));
      if (out_.used(axis)) return invalid(field, name + " stands twice among rows and columns; once is enough");
      if (field == "rows" && axis == static_cast<int>(axes_.metric))
        return invalid(field, "metrics have units and directions of their own, so they stand in the columns");
      side.push_back(axis);
    }
    return absl::OkStatus();
  }

  bool admitted(int axis, int value) const {
    const auto filter = out_.filters.find(axis);
    return filter == out_.filters.end() || filter->second.contains(value);
  }

  // The coordinates of a cell on factors and experiment; nothing where a filter leaves it out.
  std::optional<Coordinates> place(std::size_t source, std::size_t cell) const {
    Coordinates at(axes_.axes.size(), kAbsent);
    const auto& factors = axes_.cells[source][cell];
    std::copy(factors.begin(), factors.end(), at.begin());
    at[axes_.experiment] = static_cast<int>(source);
    for (std::size_t axis = 0; axis <= axes_.experiment; ++axis) {
      if (!admitted(static_cast<int>(axis), at[axis])) return std::nullopt;
    }
    return at;
  }

  // The same setting and seed measured twice and differently: the experiments are shown apart.
  void find_collisions() {
    std::map<std::pair<Coordinates, std::int64_t>, StageId> known;
    for (std::size_t s = 0; s < sources_.experiments.size(); ++s) {
      const PivotSource& source = sources_.experiments[s];
      for (std::size_t c = 0; c < source.cells.size(); ++c) {
        auto at = place(s, c);
        const auto of_cell = out_.trials[s].find(source.cells[c].ordinal);
        if (!at || of_cell == out_.trials[s].end()) continue;
        (*at)[axes_.experiment] = kAbsent;
        for (const PivotTrial* trial : of_cell->second) {
          const StageId stage = source.briefs.stages[trial->first].stage;
          out_.collide |= known.emplace(std::pair(*at, trial->seed), stage).first->second != stage;
        }
      }
    }
  }

  void add_defaults() {
    const int experiment = static_cast<int>(axes_.experiment), metric = static_cast<int>(axes_.metric);
    if (sources_.metrics.size() > 1 && !out_.used(metric)) out_.column_axes.push_back(metric);
    if (sources_.experiments.size() > 1) find_collisions();
    if (!out_.row_axes.empty()) return;
    std::vector<std::set<int>> seen(axes_.experiment);
    for (std::size_t s = 0; s < sources_.experiments.size(); ++s) {
      for (std::size_t c = 0; c < sources_.experiments[s].cells.size(); ++c) {
        const auto at = place(s, c);
        for (std::size_t axis = 0; at && axis < axes_.experiment; ++axis) seen[axis].insert((*at)[axis]);
      }
    }
    for (int axis = 0; axis < experiment; ++axis) {
      const auto place = static_cast<std::size_t>(axis);
      if (seen[place].size() > 1 && axes_.matrix[place] && !out_.used(axis)) out_.row_axes.push_back(axis);
    }
    if (out_.collide && !out_.used(experiment)) out_.row_axes.push_back(experiment);
  }

  // Which label sets a cell shows: all along label axes of the table, elsewhere those of the training
  // resolution, those without labels, or the first.
  std::vector<int> choose_sets(std::size_t source, std::size_t metric, const std::set<int>& available) {
    const auto& labels = axes_.labels[source][metric];
    const std::size_t first = axes_.metric + 1;
    std::map<Coordinates, std::vector<int>> by_rest;  // coordinates on labels that are no axis -> sets
    for (const int set : available) {
      Coordinates rest = labels[static_cast<std::size_t>(set)];
      bool keep = true;
      for (std::size_t i = 0; i < rest.size(); ++i) {
        const int axis = static_cast<int>(first + i);
        keep &= rest[i] == kAbsent || admitted(axis, rest[i]);  // a filter says nothing of metrics without the label
        if (out_.used(axis)) rest[i] = kAbsent;
      }
      if (keep) by_rest[rest].push_back(set);
    }
    if (by_rest.empty()) return {};
    Coordinates wanted(axes_.axes.size() - first, kAbsent);
    const Json usual = Json::parse(sources_.experiments[source].outline->evaluation_labels, nullptr, false);
    for (const auto& [name, value] : usual.items()) {
      const int axis = axes_.find(name);
      if (axis < static_cast<int>(first) || out_.used(axis)) continue;
      const auto found = axes_.axes[static_cast<std::size_t>(axis)].match(canonical_json(value));
      if (found.ok()) wanted[static_cast<std::size_t>(axis) - first] = found->front();
    }
    auto chosen = by_rest.find(wanted);
    if (chosen == by_rest.end()) chosen = by_rest.begin();  // kAbsent sorts first: no labels before any
    out_.labels_dropped |= by_rest.size() > 1;
    for (std::size_t i = 0; i < chosen->first.size(); ++i) {
      if (chosen->first[i] != kAbsent) out_.fixed_labels[static_cast<int>(first + i)].insert(chosen->first[i]);
    }
    return chosen->second;
  }

  void make_entries() {
    for (std::size_t s = 0; s < sources_.experiments.size(); ++s) {
      const PivotSource& source = sources_.experiments[s];
      for (std::size_t c = 0; c < source.cells.size(); ++c) {
        const auto at = place(s, c);
        const auto of_cell = out_.trials[s].find(source.cells[c].ordinal);
        if (!at || of_cell == out_.trials[s].end()) continue;
        for (std::size_t m = 0; m < sources_.metrics.size(); ++m) add_entries(s, c, m, of_cell->second, *at);
      }
    }
  }

  void add_entries(std::size_t s, std::size_t c, std::size_t m, const std::vector<const PivotTrial*>& trials,
                   Coordinates at) {
    const PivotSource& source = sources_.experiments[s];
    std::set<int> own, all;
    for (const PivotTrial* trial : trials) {
      for (std::size_t i = trial->first; i < trial->last; ++i) {
        const auto found = source.metrics[m].by_stage.find(source.briefs.stages[i].stage);
        if (found == source.metrics[m].by_stage.end()) continue;
        for (const auto& [set, value] : found->second) own.insert(set);
      }
    }
    for (std::size_t i = 0; i < source.metrics[m].label_sets.size(); ++i) all.insert(static_cast<int>(i));
    at[axes_.metric] = static_cast<int>(m);
    std::vector<int> sets = choose_sets(s, m, own.empty() ? all : own);
    if (sets.empty()) sets.push_back(kAbsent);
    for (const int set : sets) {
      Coordinates here = at;
      if (set != kAbsent) {
        const auto& labels = axes_.labels[s][m][static_cast<std::size_t>(set)];
        std::copy(labels.begin(), labels.end(), here.begin() + static_cast<std::ptrdiff_t>(axes_.metric) + 1);
      }
      out_.entries.push_back({s, c, m, set, std::move(here)});
    }
  }

  const PivotSources& sources_;
  const PivotAxes& axes_;
  const v1::GetPaperTableRequest& request_;
  PivotSelection out_;
};

}  // namespace

bool PivotSelection::used(int axis) const {
  const auto has = [axis](const std::vector<int>& side) {
    return std::find(side.begin(), side.end(), axis) != side.end();
  };
  return has(row_axes) || has(column_axes);
}

bool PivotSelection::pinned(int axis, int value) const {
  const auto filter = filters.find(axis);
  return filter != filters.end() && filter->second == std::set<int>{value};
}

absl::StatusOr<PivotSelection> select_entries(const PivotSources& sources, const PivotAxes& axes,
                                              const v1::GetPaperTableRequest& request) {
  return Selector(sources, axes, request).select();
}

}  // namespace locus::server
