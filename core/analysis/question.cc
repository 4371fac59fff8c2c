// Completes and checks what is asked for.
#include "core/analysis/question.h"

#include <algorithm>
#include <set>
#include <vector>

#include "core/analysis/measurements.h"
#include "core/analysis/reduce.h"
#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/base/text.h"
#include "core/catalog/catalog.h"
#include "core/experiment/series_labels.h"

namespace locus {
namespace {

// Without the empty one, which stands for "none".
std::vector<std::string> named(const std::set<std::string>& words) {
  std::vector<std::string> out(words.begin(), words.end());
  std::erase(out, "");
  return out;
}

absl::Status unknown(const std::string& field, const std::string& what, const std::string& asked,
                     const std::set<std::string>& known) {
  const std::vector<std::string> names = named(known);
  const auto nearest = nearest_name(asked, names);
  const std::string list = joined(names);
  return make_error(
      absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
      "the experiment has no " + what + " '" + asked + "'" +
          (nearest ? "; did you mean '" + *nearest + "'? (known: " + list + ")" : "; choose one of: " + list),
      field, {{field, asked}, {"known", list}});
}

Json parsed(const std::string& labels) {
  const Json out = Json::parse(labels, nullptr, /*allow_exceptions=*/false);
  return out.is_object() ? out : Json::object();
}

// What the assignment gives a path, as people read it.
std::string value_text(const Outline& outline, const Json& assignment, const std::string& path) {
  const auto given = assignment.find(path);
  const auto known = outline.values.find(path);
  if (given == assignment.end() || known == outline.values.end()) return "";
  const std::string key = canonical_json(*given);
  for (const PlannedValue& value : known->second) {
    if (value.value == key) return path == "prior" ? value.label : path + "=" + value.label;
  }
  return "";
}

}  // namespace

MetricFacts metric_facts(const Outline& outline, const std::string& metric) {
  if (metric == outline.metric.name) return {outline.metric.unit, outline.metric.direction};
  for (const Json& one : outline.metrics) {
    if (one.value("name", "") == metric) return {one.value("unit", ""), one.value("direction", "")};
  }
  return {};
}

void KnownNames::add(const Outline& outline) {
  metrics_.insert(outline.metric.name);
  for (const Json& one : outline.metrics) metrics_.insert(one.value("name", ""));
  splits_.insert({"train", "validation", "test", outline.metric.reports});
  for (const auto& [name, values] : outline.labels) planned_[name].insert(values.begin(), values.end());
  const Json usual = parsed(outline.evaluation_labels);
  for (const auto& [name, value] : usual.items()) planned_[name].insert(canonical_json(value));
}

void KnownNames::add(const SeriesKey& key) {
  metrics_.insert(key.metric);
  splits_.insert(key.split);
  splits_of_[key.metric].insert(key.split);
  measured_.insert(key);
}

void KnownNames::add(const ResultsByStage& results) {
  for (const auto& [stage, list] : results) {
    for (const Result& result : list) add(result.key);
  }
}

absl::Status KnownNames::check_metric(const std::string& metric, const std::string& field) const {
  return metrics_.contains(metric) ? absl::OkStatus() : unknown(field, "metric", metric, metrics_);
}

absl::Status KnownNames::check_split(const std::string& metric, const std::string& split,
                                     const std::string& field) const {
  const auto of_metric = splits_of_.find(metric);
  const bool none = of_metric == splits_of_.end();
  if (!split.empty() || none || of_metric->second.contains(split))
    return splits_.contains(split) || split.empty() ? absl::OkStatus() : unknown(field, "split", split, splits_);
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kMissingKey,
                    metric + " is measured by split; name one of: " + joined(named(of_metric->second)), field,
                    {{"metric", metric}});
}

absl::Status KnownNames::check_labels(const SeriesKey& key, const std::string& field) const {
  const Json labels = parsed(key.labels);
  if (labels.empty() || measured_.contains(key)) return absl::OkStatus();
  std::map<std::string, std::set<std::string>> known = planned_;
  for (const SeriesKey& one : measured_) {
    if (one.metric != key.metric || one.split != key.split) continue;
    const Json there = parsed(one.labels);
    for (const auto& [name, value] : there.items()) known[name].insert(canonical_json(value));
  }
  std::set<std::string> names;
  for (const auto& [name, values] : known) names.insert(name);
  for (const auto& [name, value] : labels.items()) {
    if (!known.contains(name)) return unknown(field, "label", name, names);
    const std::string text = canonical_json(value);
    if (!known[name].contains(text)) return unknown(field, name, text, known[name]);
  }
  return absl::OkStatus();
}

absl::StatusOr<Question> complete_question(const Outline& outline, const std::vector<TrialView>& trials,
                                           const ResultsByStage& results, const Asked& asked) {
  const MetricContract& contract = outline.metric;
  KnownNames known;
  known.add(outline);
  known.add(results);
  Question out;
  out.key.metric = asked.metric.empty() ? contract.name : asked.metric;
  out.key.split = asked.split.empty() ? contract.reports : asked.split;
  LOCUS_RETURN_IF_ERROR(known.check_metric(out.key.metric));
  LOCUS_RETURN_IF_ERROR(known.check_split(out.key.metric, out.key.split));
  out.reducer = default_reduce(contract, out.key.metric, out.key.split);
  const MetricFacts facts = metric_facts(outline, out.key.metric);
  out.unit = facts.unit;
  out.direction = facts.direction;
  if (!asked.labels.empty()) {
    LOCUS_ASSIGN_OR_RETURN(out.key.labels, canonical_labels(asked.labels, "labels"));
    LOCUS_RETURN_IF_ERROR(known.check_labels(out.key));
    return out;
  }
  const auto sets = label_sets(trials, results, out.key.metric, out.key.split);
  const auto has = [&](const std::string& labels) { return std::find(sets.begin(), sets.end(), labels) != sets.end(); };
  out.key.labels = outline.evaluation_labels;
  if (!has(out.key.labels) && !sets.empty()) out.key.labels = has("{}") ? "{}" : sets.front();
  return out;
}

std::string baseline_text(const Outline& outline) {
  const OutlineCell* baseline = nullptr;
  std::set<std::int64_t> groups;
  for (const OutlineCell& cell : outline.cells) {
    groups.insert(cell.pair_group);
    if (cell.baseline && baseline == nullptr) baseline = &cell;
  }
  if (baseline == nullptr) return "";
  if (groups.size() == 1) return baseline->label;
  const Json assignment = parsed(baseline->assignment_json);
  std::string out, same;
  for (const std::string& path : outline.factors) {
    const bool compared = std::find(outline.compared.begin(), outline.compared.end(), path) != outline.compared.end();
    const auto values = outline.values.find(path);
    if (compared) {
      if (const std::string text = value_text(outline, assignment, path); !text.empty())
        out += (out.empty() ? "" : ", ") + text;
    } else if (values != outline.values.end() && values->second.size() > 1) {
      same += (same.empty() ? "" : ", ") + path;
    }
  }
  if (out.empty()) out = baseline->label;
  return same.empty() ? out : out + ", same " + same;
}

}  // namespace locus
