// Printed tables on their way into an answer.
#include "server/analysis/claims_writer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/statistics/order_statistics.h"
#include "core/statistics/samples.h"

namespace locus::server {
namespace {

constexpr std::size_t kMatchesMost = 8;  // of one claim: an answer is for people

std::vector<double> numbers(const BySeed& values) {
  std::vector<double> out;
  for (const auto& [seed, value] : values) out.push_back(value);
  return out;
}

double mean_or_nan(const std::vector<double>& values) { return values.empty() ? kUndefined : sample_mean(values); }

double half_width_or_nan(const std::vector<double>& values) {
  return values.size() < 2 ? kUndefined : student_t_half_width(values, kConfidence);
}

const char* source(bool from_code) { return from_code ? "code" : "print"; }

template <class Message>
void fill_settings(const ClaimSetting& setting, const std::map<std::string, std::set<std::string>>& here,
                   Message* out) {
  for (const SettingName& name : setting_names()) {
    const auto value = setting.find(std::string(name.name));
    if (value == setting.end()) continue;
    v1::ClaimSetting* one = out->add_setting();
    one->set_name(value->first);
    one->set_value(value->second);
    one->set_compared(name.compared);
    one->set_from(source(false));
    const auto differing = here.find(value->first);
    if (differing == here.end()) continue;
    std::string all;
    for (const std::string& each : differing->second) all += (all.empty() ? "" : " / ") + each;
    one->set_here(all);
  }
}

void fill_counts(const std::map<std::string, int>& counts, v1::ClaimSummary* out) {
  std::vector<std::pair<std::string, int>> order(counts.begin(), counts.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [name, count] : order) {
    v1::ClaimCount* one = out->add_settings();
    one->set_name(name);
    one->set_text(name);
    one->set_count(count);
  }
}

// Verdicts by intervals first, then those whose direction is known.
int rank(const Judgment& judgment) {
  if (judgment.verdict != Verdict::kNotComparable) return 0;
  return judgment.direction != Direction::kNone ? 1 : 2;
}

}  // namespace

v1::ClaimTable ClaimTableWriter::write(bool matched_only) {
  v1::ClaimTable out;
  out.set_paper(paper_.id);
  out.set_title(paper_.title);
  out.set_table(table_.table);
  out.set_caption(table_.caption);
  out.set_note(table_.note);
  for (const ClaimLine& row : table_.rows) out.add_rows(row.label);
  for (const ClaimLine& column : table_.columns) out.add_columns(column.label);
  HereByName here;
  for (const ClaimValue& value : table_.values) {
    v1::Claim claim = write(value, &here);
    if (!matched_only || claim.measured_size() > 0) *out.add_claims() = std::move(claim);
  }
  fill_settings(table_.setting, here, &out);
  return out;
}

v1::Claim ClaimTableWriter::write(const ClaimValue& value, HereByName* table_here) {
  v1::Claim out;
  out.set_row(table_.rows[value.row].label);
  out.set_column(table_.columns[value.column].label);
  out.set_prior_json(priors_json(value.priors));
  out.set_metric(value.metric.name);
  out.set_unit(value.metric.unit);
  out.set_direction(value.metric.direction);
  out.set_value(value.value);
  out.set_std(value.std);
  out.set_n(value.n);
  out.set_baseline(value.against);
  out.set_difference(value.difference);
  out.set_difference_printed(value.printed_difference);
  out.set_note(value.note);
  out.set_unmeasured(why_unmeasured(value.metric));
  for (const SettingDifference& one : claimed_options(value)) {
    v1::ClaimSetting* option = out.add_options();
    option->set_name(one.name);
    option->set_value(one.paper);
    option->set_compared(true);
    option->set_from(source(one.from_code));
  }
  HereByName here;
  const Measure* measure = measure_of(value.metric);
  if (measured_ != nullptr) {
    std::vector<Match> matches;
    if (measure != nullptr) matches = matches_of(value, *measure);
    for (const Match& match : matches) {
      fill_match(value, match, &out);
      for (const SettingDifference& one : match.differences) {
        const std::string text = one.here.empty() ? "not known" : one.here;
        here[one.name].insert(text);
        if (!value.own.contains(one.name)) (*table_here)[one.name].insert(text);
      }
    }
    judge_number(value, matches, measure != nullptr && !matcher_->match(value).empty(), &out);
  }
  fill_settings(value.own, here, &out);
  return out;
}

// Those whose settings differ least come first.
std::vector<ClaimTableWriter::Match> ClaimTableWriter::matches_of(const ClaimValue& value, const Measure& measure) {
  std::vector<Match> out;
  for (const ClaimedCell& cell : matcher_->match(value)) {
    const auto place = measured_->place(value, measure, cell);
    if (!place) continue;
    Match match{.cell = cell,
                .place = *place,
                .measured = {},
                .top = 0,
                .values = nullptr,
                .baseline_label = {},
                .baseline_labels = {},
                .differences = cell.differences,
                .judgment = {}};
    const auto more = measured_->differences_at(value, measure, cell, *place);
    match.differences.insert(match.differences.end(), more.begin(), more.end());
    out.push_back(std::move(match));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Match& a, const Match& b) { return a.differences.size() < b.differences.size(); });
  if (out.size() > kMatchesMost) out.resize(kMatchesMost);
  const ClaimValue* baseline = baseline_of(paper_, table_, value);
  for (Match& match : out) {
    match.values = &measured_->values(match.cell.cell, measure, match.place);
    const std::vector<double> all = numbers(*match.values);
    match.measured = {.mean = mean_or_nan(all),
                      .half_width = half_width_or_nan(all),
                      .n = static_cast<int>(all.size()),
                      .has_baseline = false,
                      .difference = kUndefined,
                      .difference_half_width = kUndefined,
                      .pairs = 0};
    if (const int top = measured_->top_seeds(measure, match.place); top <= match.measured.n) match.top = top;
    if (baseline != nullptr) pair_with_baseline(*baseline, measure, &match);
    match.judgment = judge(table_, value, baseline, match.measured, match.differences);
  }
  return out;
}

// With the cell of the same group that the paper's baseline is about; where both are of the same priors (from one
// table to another), with the same cell measured at the other place.
void ClaimTableWriter::pair_with_baseline(const ClaimValue& baseline, const Measure& measure, Match* match) {
  const auto& cells = measured_->cells();
  const auto same_priors = [&](std::size_t a, std::size_t b) {
    return cells[a].config.value("priors", Json()) == cells[b].config.value("priors", Json());
  };
  for (const ClaimedCell& one : matcher_->match(baseline)) {
    if (cells[one.cell].group != cells[match->cell.cell].group) continue;
    if (one.cell != match->cell.cell && same_priors(one.cell, match->cell.cell)) continue;
    const auto place = measured_->place(baseline, measure, one);
    if (one.cell == match->cell.cell && (!place || *place == match->place)) continue;
    match->measured.has_baseline = true;
    match->baseline_label = measured_->label(one.cell);
    if (place) match->baseline_labels = place->labels;
    for (const SettingDifference& each : one.differences) {
      const bool option = each.name.find('.') != std::string::npos;
      const bool known = std::any_of(match->differences.begin(), match->differences.end(),
                                     [&](const SettingDifference& other) { return other.name == each.name; });
      if (option && !known) match->differences.push_back(each);
    }
    std::vector<double> differences;
    if (place) {
      const BySeed& others = measured_->values(one.cell, measure, *place);
      for (const auto& [seed, mine] : *match->values) {
        if (const auto other = others.find(seed); other != others.end()) differences.push_back(mine - other->second);
      }
    }
    match->measured.pairs = static_cast<int>(differences.size());
    match->measured.difference = mean_or_nan(differences);
    match->measured.difference_half_width = half_width_or_nan(differences);
    return;
  }
}

void ClaimTableWriter::fill_match(const ClaimValue& value, const Match& found, v1::Claim* out) const {
  const Measured& measured = found.measured;
  v1::ClaimMatch* match = out->add_measured();
  match->set_experiment(measured_->name());
  match->set_cell(static_cast<int>(measured_->cells()[found.cell.cell].ordinal));
  match->set_label(measured_->label(found.cell.cell));
  match->set_labels(found.place.labels);
  match->set_n(measured.n);
  const double spread = measured.n < 2 ? kUndefined : sample_std(numbers(*found.values));
  const auto top = static_cast<std::size_t>(found.top);
  match->set_top_seeds(found.top);
  match->set_mean(top > 0 ? top_mean(numbers(*found.values), top, measured_->maximizes()).mean : measured.mean);
  match->set_std(top > 0 ? kUndefined : spread);
  match->set_mean_all(measured.mean);
  match->set_std_all(spread);
  match->set_baseline_label(found.baseline_label);
  match->set_baseline_labels(found.baseline_labels);
  match->set_difference(measured.difference);
  match->set_difference_low(measured.difference - measured.difference_half_width);
  match->set_difference_high(measured.difference + measured.difference_half_width);
  match->set_pairs(measured.pairs);
  std::string sentence = claim_sentence(value, measured, found.differences);
  if (top > 0) {
    char mean[32];
    std::snprintf(mean, sizeof mean, "%.2f", match->mean());
    sentence += "; by the experiment's contract " + std::string(mean) + ", " +
                top_sentence(found.top, measured.n, found.place.split, !measured_->maximizes());
  }
  match->set_sentence(std::move(sentence));
  for (const SettingDifference& one : found.differences) match->add_differences(to_string(one));
  match->set_verdict(to_string(found.judgment.verdict));
  match->set_why(to_string(found.judgment.why));
  match->set_measured_direction(to_string(found.judgment.direction));
}

void ClaimTableWriter::judge_number(const ClaimValue& value, const std::vector<Match>& matches, bool any_cell,
                                    v1::Claim* out) {
  Judgment judgment{Verdict::kNotComparable, why_unmatched(value), Direction::kNone};
  if (judgment.why == WhyNot::kNoCell && any_cell) judgment.why = WhyNot::kNoResult;  // not measured there
  static const std::vector<SettingDifference> kNone;
  const std::vector<SettingDifference>* differences = &kNone;
  const auto best = std::min_element(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
    return rank(a.judgment) < rank(b.judgment);
  });
  if (best != matches.end()) {
    judgment = best->judgment;
    differences = &best->differences;
  }
  counts_.add(judgment, *differences);
  out->set_verdict(to_string(judgment.verdict));
  out->set_why(to_string(judgment.why));
  out->set_measured_direction(to_string(judgment.direction));
}

void fill_summary(const std::string& paper, const std::string& table, const ClaimCounts& counts,
                  v1::ClaimSummary* out) {
  out->set_paper(paper);
  out->set_table(table);
  out->set_numbers(counts.numbers);
  out->set_agrees(counts.agrees);
  out->set_contradicts(counts.contradicts);
  out->set_undecided(counts.undecided);
  out->set_not_comparable(counts.not_comparable);
  out->set_same_direction(counts.same);
  out->set_opposite_direction(counts.opposite);
  out->set_open_direction(counts.open);
  std::vector<std::pair<WhyNot, int>> order(counts.why.begin(), counts.why.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [why, count] : order) {
    v1::ClaimCount* one = out->add_why();
    one->set_name(to_string(why));
    one->set_text(words(why));
    one->set_count(count);
  }
  fill_counts(counts.settings, out);
}

}  // namespace locus::server
