// Expands the matrix.
#include "core/experiment/plan/expansion.h"

#include <algorithm>
#include <limits>
#include <set>

#include "core/experiment/plan/fields.h"
#include "core/limits.h"

namespace locus {
namespace {

using Assignment = std::map<std::string_view, const Setting*>;
using Matches = std::vector<std::pair<std::string_view, std::set<const Setting*>>>;

std::int64_t saturating_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? std::numeric_limits<std::int64_t>::max() : out;
}

std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? std::numeric_limits<std::int64_t>::max() : out;
}

// The axes an include leaves free.
std::vector<const Axis*> free_axes(const Specification& spec, const Settings& fixed) {
  std::vector<const Axis*> out;
  for (const Axis& axis : spec.axes) {
    const bool named = std::any_of(axis.begin(), axis.end(), [&](const Factor& f) { return fixed.contains(f.path); });
    if (!named) out.push_back(&axis);
  }
  return out;
}

// A zip group varies as one: an include names all of it or none.
absl::Status check_zip_whole(const Specification& spec, const Settings& fixed, const std::string& field) {
  for (const Axis& axis : spec.axes) {
    const auto named = std::count_if(axis.begin(), axis.end(), [&](const Factor& f) { return fixed.contains(f.path); });
    if (named == 0 || static_cast<std::size_t>(named) == axis.size()) continue;
    for (const Factor& factor : axis) {
      if (fixed.contains(factor.path)) continue;
      return refuse(
          ErrorReason::kInvalidSpecification,
          field + " names one factor of a zip group but not " + factor.path + "; name the whole group or none of it",
          field);
    }
  }
  return absl::OkStatus();
}

std::int64_t product(const std::vector<const Axis*>& axes) {
  std::int64_t out = 1;
  for (const Axis* axis : axes) out = saturating_multiply(out, static_cast<std::int64_t>(axis->front().values.size()));
  return out;
}

// Calls `visit` with every assignment of `axes`, the first slowest, on top of `base`.
template <class Visit>
void for_each_assignment(const std::vector<const Axis*>& axes, const Assignment& base, Visit visit) {
  std::vector<std::size_t> at(axes.size(), 0);
  while (true) {
    Assignment assignment = base;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      for (const Factor& factor : *axes[a]) assignment[factor.path] = &factor.values[at[a]];
    }
    visit(std::move(assignment));
    std::size_t a = axes.size();
    while (a > 0 && ++at[a - 1] == axes[a - 1]->front().values.size()) at[--a] = 0;
    if (a == 0) return;
  }
}

absl::StatusOr<Matches> matches_of(const Settings& partial, const Values& values, Resolver& resolver) {
  Matches out;
  for (const auto& [path, setting] : partial) {
    LOCUS_ASSIGN_OR_RETURN(const auto found, values.match(path, setting, resolver));
    out.push_back({path, {found.begin(), found.end()}});
  }
  return out;
}

bool holds(const Matches& partial, const Assignment& assignment) {
  return std::all_of(partial.begin(), partial.end(), [&](const auto& one) {
    const auto found = assignment.find(one.first);
    return found != assignment.end() && one.second.contains(found->second);
  });
}

std::string identity_of(const Assignment& assignment, const Values& values) {
  std::string out;
  for (const auto& [path, setting] : assignment)
    out.append(path).append("=").append(values.of(setting).key).append("\n");
  return out;
}

absl::Status mark_baseline(const Specification& spec, const Values& values, Resolver& resolver,
                           std::vector<CellDraft>& cells) {
  if (!spec.baseline) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(const Matches matches, matches_of(*spec.baseline, values, resolver));
  bool any = false;
  for (CellDraft& cell : cells) any |= cell.baseline = holds(matches, cell.assignment);
  if (any) return absl::OkStatus();
  return refuse(ErrorReason::kInvalidSpecification,
                "no cell is left that the baseline describes; exclusions took it out", "baseline");
}

absl::Status attach_overrides(const Specification& spec, const Values& values, Resolver& resolver,
                              std::vector<CellDraft>& cells) {
  for (const Override& one : spec.overrides) {
    LOCUS_ASSIGN_OR_RETURN(const Matches where, matches_of(one.where, values, resolver));
    for (CellDraft& cell : cells) {
      if (holds(where, cell.assignment)) cell.overrides.push_back(&one);
    }
  }
  return absl::OkStatus();
}

absl::Status check_override(const Settings& set, const Values& values) {
  Mistakes mistakes;
  for (const auto& [path, setting] : set) {
    const auto& factors = values.factors();
    if (std::find(factors.begin(), factors.end(), path) == factors.end()) continue;
    mistakes.note(refuse(ErrorReason::kInvalidSpecification,
                         path + " is a factor of the matrix and cannot be overridden; use include and exclude to "
                                "shape the matrix",
                         setting.field));
  }
  return mistakes.status();
}

// Of the baseline every path stands for one value.
absl::Status check_one(const std::string& path, const Setting& setting, const std::vector<const Setting*>& found,
                       const Values& values) {
  std::set<std::string> distinct;
  for (const Setting* value : found) distinct.insert(values.of(value).key);
  if (distinct.size() < 2) return absl::OkStatus();
  return refuse(ErrorReason::kInvalidSpecification,
                "the baseline's " + path + " stands for " + std::to_string(distinct.size()) +
                    " values of the matrix; give the options that name one",
                setting.field);
}

}  // namespace

void check_assignments(const Specification& spec, const Values& values, Resolver& resolver, Mistakes& mistakes) {
  const auto check = [&](const Settings& partial, bool single) {
    for (const auto& [path, setting] : partial) {
      if (!spec.knows_all_of(path)) continue;
      const auto found = mistakes.value(values.match(path, setting, resolver));
      if (found && single) mistakes.note(check_one(path, setting, *found, values));
    }
  };
  for (std::size_t i = 0; i < spec.include.size(); ++i) {
    check(spec.include[i], false);
    if (spec.unread.empty()) mistakes.note(check_zip_whole(spec, spec.include[i], indexed("include", i)));
  }
  for (const Settings& one : spec.exclude) check(one, false);
  for (const Override& one : spec.overrides) {
    check(one.where, false);
    mistakes.note(check_override(one.set, values));
  }
  if (spec.baseline) check(*spec.baseline, true);
}

std::vector<CellDraft> survey(const Specification& spec, const Values& values) {
  CellDraft base;
  for (const std::string& path : values.factors()) base.assignment[path] = values.values(path).front();
  std::vector<CellDraft> out = {base};
  for (const std::string& path : values.factors()) {
    for (const Setting* value : values.values(path)) {
      if (value == base.assignment[path]) continue;
      out.push_back(base);
      out.back().assignment[path] = value;
    }
  }
  for (const Override& one : spec.overrides) {
    out.push_back(base);
    out.back().overrides.push_back(&one);
  }
  return out;
}

absl::Status check_trial_count(const Specification& spec) {
  std::int64_t cells = product(free_axes(spec, {}));
  for (const Settings& one : spec.include) cells = saturating_add(cells, product(free_axes(spec, one)));
  const auto seeds = static_cast<std::int64_t>(spec.seeds.size());
  const std::int64_t trials = saturating_multiply(cells, seeds);
  if (trials <= kTrialsPerExperiment) return absl::OkStatus();
  const bool huge = trials == std::numeric_limits<std::int64_t>::max();
  const std::string count = huge ? "more than 9 * 10^18" : std::to_string(trials);
  return make_error(absl::StatusCode::kResourceExhausted, ErrorReason::kTooManyTrials,
                    "the matrix spans " + count + " trials (" + (huge ? "" : std::to_string(cells) + " cells, ") +
                        std::to_string(seeds) + " seeds each); an experiment holds at most " +
                        std::to_string(kTrialsPerExperiment) + ": take values out or split it",
                    "matrix", {{"trials", count}, {"limit", std::to_string(kTrialsPerExperiment)}});
}

absl::StatusOr<std::vector<CellDraft>> expand(const Specification& spec, const Values& values, Resolver& resolver) {
  std::vector<CellDraft> cells;
  std::set<std::string> seen;
  const auto add = [&](Assignment assignment) {
    if (seen.insert(identity_of(assignment, values)).second) cells.push_back({std::move(assignment), {}, false});
  };
  for_each_assignment(free_axes(spec, {}), {}, add);
  if (spec.axes.empty() && !spec.include.empty()) cells.clear(), seen.clear();  // the includes are the whole matrix
  for (std::size_t i = 0; i < spec.include.size(); ++i) {
    const Settings& one = spec.include[i];
    Assignment base;
    for (const auto& [path, setting] : one) {
      LOCUS_ASSIGN_OR_RETURN(const auto same, values.match(path, setting, resolver));
      const auto exact = std::find_if(same.begin(), same.end(), [&, asked = &setting](const Setting* s) {
        return values.of(s).key == values.of(asked).key;
      });
      base[path] = exact == same.end() ? &setting : *exact;
    }
    for_each_assignment(free_axes(spec, one), base, add);
  }
  for (const Settings& one : spec.exclude) {
    LOCUS_ASSIGN_OR_RETURN(const Matches matches, matches_of(one, values, resolver));
    std::erase_if(cells, [&](const CellDraft& cell) { return holds(matches, cell.assignment); });
  }
  if (cells.empty()) {
    return refuse(ErrorReason::kEmptyMatrix, "the exclusions leave no cell; take one out", "exclude");
  }
  LOCUS_RETURN_IF_ERROR(attach_overrides(spec, values, resolver, cells));
  LOCUS_RETURN_IF_ERROR(mark_baseline(spec, values, resolver, cells));
  return cells;
}

}  // namespace locus
