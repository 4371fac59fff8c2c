// Warnings and notes of the pivot table.
#include "server/analysis/pivot_remarks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "core/analysis/extension.h"
#include "core/analysis/tuned.h"
#include "core/base/text.h"
#include "core/statistics/estimates.h"
#include "core/statistics/reach.h"

namespace locus::server {
namespace {

constexpr int kWarningsMost = 20;

std::string show(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string percent(double share) { return show(100 * share) + " %"; }

template <class Numbers>
std::string list_of(const Numbers& numbers) {
  std::string out;
  for (const auto number : numbers) out += (out.empty() ? "" : ", ") + std::to_string(number);
  return out;
}

std::string label_of(const v1::TableHeading& heading) {
  std::string out;
  for (const std::string& label : heading.labels()) out += (out.empty() ? "" : ", ") + label;
  return out;
}

// "'violin' at 42": a cell as people call it.
std::string name_of(const v1::PaperTable& table, int cell) {
  const int width = table.columns_size();
  const std::string row = label_of(table.rows(cell / width)), column = label_of(table.columns(cell % width));
  if (row.empty()) return column.empty() ? "the table" : "'" + column + "'";
  return "'" + row + "'" + (column.empty() || width < 2 ? "" : " at " + column);
}

bool flagged(const v1::PaperCell& cell, const char* flag) {
  return std::find(cell.flags().begin(), cell.flags().end(), flag) != cell.flags().end();
}

void warn_of_cells(const v1::PaperTable& table, std::vector<std::string>& out) {
  for (int i = 0; i < table.cells_size(); ++i) {
    const v1::PaperCell& cell = table.cells(i);
    // That a search did not run all seeds of a unit was decided, and is said of all of them at once.
    if (flagged(cell, kRaced) || flagged(cell, kStopped) || flagged(cell, kParked)) continue;
    if (cell.missing_seeds_size() > 0) {
      std::string sentence = name_of(table, i) + " has no result for seed" +
                             (cell.missing_seeds_size() == 1 ? " " : "s ") + list_of(cell.missing_seeds());
      if (cell.failed_seeds_size() > 0) sentence += ", failed: " + list_of(cell.failed_seeds());
      out.push_back(std::move(sentence));
    }
    if (flagged(cell, "not-finite"))
      out.push_back(name_of(table, i) + " has results that are not finite; its mean is shown as such");
  }
  if (out.size() <= kWarningsMost) return;
  const std::size_t more = out.size() - kWarningsMost;
  out.resize(kWarningsMost);
  out.push_back("and " + std::to_string(more) + " more cells without all their seeds");
}

void warn_of_times(const v1::PaperTable& table, std::vector<std::string>& out) {
  std::map<std::string, std::vector<int>> varying;  // by metric
  for (int i = 0; i < table.cells_size(); ++i) {
    if (flagged(table.cells(i), kVaryingTimes)) varying[table.columns(i % table.columns_size()).metric()].push_back(i);
  }
  for (const auto& [metric, cells] : varying) {
    std::vector<double> values;
    for (const v1::SeedValue& one : table.cells(cells.front()).values()) values.push_back(one.value());
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    out.push_back(
        vary_sentence(metric, name_of(table, cells.front()), *least, *most, static_cast<std::int64_t>(cells.size())));
  }
}

// "'violin' at 42 and 3 more".
std::string names_of(const v1::PaperTable& table, const std::vector<int>& cells) {
  const std::string more = cells.size() > 1 ? " and " + std::to_string(cells.size() - 1) + " more" : "";
  return name_of(table, cells.front()) + more;
}

// Which comparisons cannot be marked however clear they were, and how many pairs would do. Each metric is a
// family of its own.
void warn_of_floor(const Remarked& from, const v1::PaperTable& table, std::vector<std::string>& out) {
  if (from.input.test != PivotTest::kSignFlip) return;
  std::map<int, std::vector<int>> families;  // the cells that are compared
  std::size_t made = 0;
  for (std::size_t i = 0; i < from.numbers.cells.size(); ++i) {
    if (!in_family(from.input, from.numbers.cells[i])) continue;
    families[from.grid.columns[i % from.grid.columns.size()].metric].push_back(static_cast<int>(i));
    ++made;
  }
  for (const auto& [family, cells] : families) {
    std::vector<int> pairs;
    for (const int cell : cells) pairs.push_back(from.numbers.cells[static_cast<std::size_t>(cell)].pairs);
    for (const OutOfReach& group : out_of_reach(pairs, from.input.alpha, from.input.correct)) {
      std::vector<int> here;
      for (const std::size_t member : group.members) here.push_back(cells[member]);
      std::string which;
      if (here.size() == made) {
        which.clear();
      } else if (here.size() == cells.size()) {
        which = from.sources.metrics[static_cast<std::size_t>(family)].title;
      } else {
        which = names_of(table, here);
      }
      out.push_back(sentence_of(group, which));
    }
  }
}

std::string axis_name(const PivotAxes& axes, int axis) { return axes.axes[static_cast<std::size_t>(axis)].name(); }

// Settings that separate a cell from its reference although no axis of the table shows them.
void warn_of_unlike(const Remarked& from, const v1::PaperTable& table, std::vector<std::string>& out) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < from.numbers.cells.size(); ++i) {
    const int reference = from.input.cells[i].reference;
    if (reference < 0 || reference == static_cast<int>(i)) continue;
    const PivotCellNumbers &cell = from.numbers.cells[i],
                           &other = from.numbers.cells[static_cast<std::size_t>(reference)];
    if (!cell.values.empty() && !other.values.empty() && std::isnan(cell.difference) && cell.finite && other.finite)
      names.push_back(name_of(table, static_cast<int>(i)));
  }
  if (names.empty()) return;
  const std::size_t count = names.size();
  names.resize(std::min<std::size_t>(count, 3));
  out.push_back(joined(names) + (count > 3 ? " and " + std::to_string(count - 3) + " more" : "") +
                (count == 1 ? " is" : " are") +
                " not compared with the baseline: " + what_differs(from.sources, from.axes));
}

void warn_of_averages(const Remarked& from, std::vector<std::string>& out) {
  if (from.grid.left_out.empty()) return;
  std::vector<std::string> names;
  for (const int axis : from.grid.left_out) names.push_back(axis_name(from.axes, axis));
  out.push_back("every seed's value is the mean over " + joined(names) +
                ", which the table leaves out; make it rows or columns, or filter, to see it");
}

void warn_of_labels(const Remarked& from, std::vector<std::string>& out) {
  if (!from.grid.labels_dropped) return;
  std::vector<std::string> shown, names;
  for (const auto& [axis, values] : from.grid.fixed_labels) {
    names.push_back(axis_name(from.axes, axis));
    std::vector<std::string> labels;
    for (const int value : values)
      labels.push_back(from.axes.axes[static_cast<std::size_t>(axis)].values()[static_cast<std::size_t>(value)].label);
    shown.push_back(names.back() + " " + joined(labels));
  }
  out.push_back("results at " + (shown.empty() ? "no label" : joined(shown)) + "; there are others: make " +
                (names.empty() ? "a label" : joined(names)) + " rows or columns to see them");
}

// Scores of a part of a split are told from those of all of it, whatever the table's axes.
void warn_of_parts(const Remarked& from, std::vector<std::string>& out) {
  const int axis = from.axes.find("images");
  const auto shown = [axis](const std::vector<int>& axes) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  if (axis < 0 || shown(from.grid.row_axes) || shown(from.grid.column_axes)) return;
  std::vector<std::string> parts;
  bool any = false;
  for (const PivotSource& source : from.sources.experiments) {
    const Json labels = Json::parse(source.outline->evaluation_labels, nullptr, false);
    const bool part = labels.is_object() && labels.contains("images");
    any |= part;
    parts.push_back(source.name + (part ? " those of " + labels.at("images").dump() + " images" : " those of all"));
  }
  if (any)
    out.push_back("of the " + from.sources.experiments.front().outline->metric.reports + " split, scores are, in " +
                  joined(parts) + "; a part and the whole do not compare");
}

// What was chosen by what, and what is not tested for it: the leaderboard's sentences.
void warn_of_searches(const Remarked& from, std::vector<std::string>& out) {
  for (const PivotSource& source : from.sources.experiments) {
    std::map<std::string, std::size_t> standing;
    for (const CellRow& cell : source.cells) {
      if (const auto found = source.standing.find(cell.ordinal); found != source.standing.end())
        ++standing[found->second];
    }
    for (const PivotMetric& metric : from.sources.metrics) {
      for (std::string& sentence :
           search_warnings(*source.outline, {metric.metric, metric.split, source.one_row_a_group, standing})) {
        if (from.sources.experiments.size() > 1) sentence = source.name + ": " + sentence;
        if (std::find(out.begin(), out.end(), sentence) == out.end()) out.push_back(std::move(sentence));
      }
    }
  }
}

// Tests over seeds that were added later: the leaderboard's sentence.
void warn_of_extensions(const Remarked& from, const v1::PaperTable& table, std::vector<std::string>& out) {
  if (std::none_of(table.cells().begin(), table.cells().end(),
                   [](const v1::PaperCell& cell) { return !std::isnan(cell.p()); }))
    return;
  for (const PivotSource& source : from.sources.experiments) {
    std::vector<TrialRow> trials;
    std::set<std::int64_t> cells;
    for (const PivotTrial& trial : source.trials) trials.push_back({trial.ordinal, trial.cell, trial.seed, false});
    for (const CellRow& cell : source.cells) {
      if (source.outline->places.contains(cell.row_key)) cells.insert(cell.ordinal);
    }
    const std::string sentence = extension_sentence(added_seeds(std::move(trials), cells));
    if (!sentence.empty())
      out.push_back(from.sources.experiments.size() > 1 ? source.name + ": " + sentence : sentence);
  }
}

const char* describe(PivotTest test) {
  return test == PivotTest::kSignFlip  ? "the exact two-sided sign-flip test on differences paired by seed"
         : test == PivotTest::kPairedT ? "the two-sided paired t test on differences paired by seed"
                                       : "Welch's two-sided test, unpaired";
}

void note_summaries(const Remarked& from, const v1::PaperTable& table, std::vector<std::string>& out) {
  if (table.summaries().empty()) return;
  const auto any = [&](auto has) { return std::any_of(table.summaries().begin(), table.summaries().end(), has); };
  out.push_back("IQM: the interquartile mean over columns and seeds" +
                (any([](const v1::PaperSummary& s) { return std::isfinite(s.iqm_low()); })
                     ? ", with a " + percent(from.input.level) + " interval from " + std::to_string(kReplicates) +
                           " bootstrap replicates drawn within each column, which covers less with few seeds"
                     : "; its interval needs " + std::to_string(kIqmSeedsLeast) + " seeds in every column") +
                "; rank: the mean over columns, 1 is best.");
  if (any([](const v1::PaperSummary& s) { return s.columns() < s.columns_total(); })) {
    out.push_back(
        "A row without a finite mean in every column shows in how many it has one instead of a mean over "
        "these; where it failed or is not finite it ranks last, and while it waits for results it is not "
        "ranked.");
  }
  if (from.numbers.empty_columns.empty()) return;
  std::vector<std::string> names;
  for (const int column : from.numbers.empty_columns) names.push_back(label_of(table.columns(column)));
  out.push_back("No row has a finite mean at " + joined(names) + ": the summaries leave that out.");
}

void note_marks(const Remarked& from, const v1::PaperTable& table, std::vector<std::string>& out) {
  const auto any = [&](auto has) { return std::any_of(table.cells().begin(), table.cells().end(), has); };
  const auto any_flagged = [&](const char* flag) {
    return any([&](const v1::PaperCell& c) { return flagged(c, flag); });
  };
  if (any([](const v1::PaperCell& c) { return c.best(); }))
    out.push_back("Bold: the best mean of the column; underlined: the second.");
  if (any([](const v1::PaperCell& c) { return !std::isnan(c.p_adjusted()); })) {
    out.push_back("*: differs from " + table.baseline() + ", p at most " + show(from.input.alpha) + " by " +
                  describe(from.input.test) +
                  (table.correction().empty() ? "" : ", correction: " + table.correction()) + ".");
  }
  std::set<std::string> choosers;
  for (const v1::PaperCell& cell : table.cells()) {
    if (cell.n() > 0 && !cell.chosen_by().empty()) choosers.insert(cell.chosen_by());
  }
  for (const std::string& one : choosers) out.push_back("Chosen by " + one + ".");
  if (any_flagged("unpaired") && from.input.test != PivotTest::kWelch) {
    out.push_back(
        "Cells without a seed in common with the baseline are compared by Welch's test, outside the "
        "correction, and never marked.");
  }
  if (any_flagged("no-spread"))
    out.push_back("Where no difference varies, a t test has no p, so nothing is marked there.");
  if (any([](const v1::PaperCell& c) { return c.missing_seeds_size() > 0 || c.flags_size() > 0; }))
    out.push_back("\xE2\x80\xA0: read the warnings on this cell.");
  note_summaries(from, table, out);
}

}  // namespace

std::vector<std::string> cell_flags(const PivotCellNumbers& cell, const std::string& unit) {
  std::vector<std::string> out;
  if (!cell.missing.empty()) out.emplace_back("missing-seeds");
  if (!cell.failed.empty()) out.emplace_back("failed-seeds");
  if (!cell.finite) out.emplace_back("not-finite");
  if (cell.unpaired) out.emplace_back("unpaired");
  if (cell.no_spread) out.emplace_back("no-spread");
  std::vector<double> values;
  for (const SeedMean& one : cell.values) values.push_back(one.value);
  const bool timed = unit == "ms" || unit == "s" || unit == "1/s";
  if (timed && times_vary(values)) out.emplace_back(kVaryingTimes);
  return out;
}

std::string what_differs(const PivotSources& sources, const PivotAxes& axes) {
  if (sources.experiments.size() == 1) return sources.experiments.front().outline->matched;
  std::set<std::string> varied;
  for (std::size_t axis = 0; axis < axes.experiment; ++axis) {
    std::set<int> seen;
    for (const auto& source : axes.cells) {
      for (const auto& cell : source) seen.insert(cell[axis]);
    }
    if (seen.size() > 1) varied.insert(axes.axes[axis].name());
  }
  const bool priors = varied.erase("prior") > 0;
  if (varied.empty()) return priors ? "only the prior differs" : "nothing differs";
  return (priors ? "besides the prior: " : "the prior is the same; ") + joined(varied) +
         (varied.size() == 1 ? " differs" : " differ");
}

void add_remarks(const Remarked& from, v1::PaperTable* out) {
  std::vector<std::string> warnings, notes;
  warn_of_cells(*out, warnings);
  warn_of_searches(from, warnings);
  warn_of_extensions(from, *out, warnings);
  warn_of_floor(from, *out, warnings);
  warn_of_times(*out, warnings);
  warn_of_unlike(from, *out, warnings);
  warn_of_averages(from, warnings);
  warn_of_labels(from, warnings);
  warn_of_parts(from, warnings);
  for (const std::string& sentence : from.environments.sentences) {
    const char* marks = from.matched ? ", so none is marked there: the experiment declares the matched protocol"
                        : sentence.starts_with("mixed engine") ? ", so none is marked there"
                                                               : "";
    warnings.push_back(sentence + marks);
  }
  note_marks(from, *out, notes);
  for (std::string& warning : warnings) out->add_warnings(std::move(warning));
  for (std::string& note : notes) out->add_notes(std::move(note));
}

}  // namespace locus::server
