// The tables printed in papers, alone or beside what an experiment measured.
#include "server/rpc/claims_query.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/error.h"
#include "core/claims/match.h"
#include "core/statistics/table.h"
#include "server/rpc/measurements.h"
#include "server/rpc/queries.h"
#include "server/rpc/reduce.h"
#include "server/rpc/table_query.h"

namespace locus::server {
namespace {

constexpr double kLevel = 0.95;
constexpr std::size_t kMatchesMost = 8;  // of one claim: an answer is for people
using BySeed = std::map<std::int64_t, double>;

// An experiment as claims are set beside it.
class Beside {
 public:
  static absl::StatusOr<Beside> load(Store& store, OutlineCache& outlines, const Catalog& catalog,
                                     const std::string& name) {
    LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store.experiment(name));
    Beside out;
    out.name_ = row.name;
    LOCUS_ASSIGN_OR_RETURN(out.outline_, outlines.get(row));
    LOCUS_ASSIGN_OR_RETURN(TableSource source,
                           read_table_source(store, outlines, row));  // the table's numbers
    out.trials_ = std::move(source.trials);
    out.results_ = std::move(source.results);
    std::erase_if(out.trials_,
                  [](const TrialView& trial) { return trial.trial.retired || trial.stages.empty(); });
    for (std::size_t i = 0; i < out.trials_.size(); ++i) out.by_cell_[out.trials_[i].trial.cell].push_back(i);
    for (const CellRow& cell : source.cells) LOCUS_RETURN_IF_ERROR(out.add(store, row.id, cell, catalog));
    return out;
  }

  const std::string& name() const { return name_; }
  const std::vector<ExperimentCell>& cells() const { return cells_; }
  const std::string& label(std::size_t cell) const { return labels_[cell]; }
  bool knows(const std::string& metric) const {
    if (metric == outline_->metric.name) return true;
    return std::any_of(outline_->metrics.begin(), outline_->metrics.end(),
                       [&](const Json& one) { return one.value("name", "") == metric; });
  }

  // The labels results stand under at the training resolution or `scale` times it; nothing when nobody
  // evaluated there.
  std::optional<std::string> result_labels(const std::string& metric, std::optional<double> scale) {
    auto [sets, fresh] = sets_.try_emplace(metric);
    if (fresh) sets->second = label_sets(trials_, results_, metric, outline_->metric.reports);
    const auto has = [&](const std::string& labels) {
      return std::find(sets->second.begin(), sets->second.end(), labels) != sets->second.end();
    };
    if (!scale) {
      if (has(outline_->evaluation_labels) || sets->second.empty()) return outline_->evaluation_labels;
      return has("{}") ? "{}" : sets->second.front();
    }
    Json labels = Json::parse(outline_->evaluation_labels, nullptr, false);
    if (!labels.is_object() || !labels.contains("resolution") || !labels["resolution"].is_number())
      return std::nullopt;
    const double size = labels["resolution"].get<double>() * *scale;
    if (std::abs(size - std::round(size)) > 1e-6) return std::nullopt;  // 320 / 224 has no end
    labels["resolution"] = std::llround(size);
    const std::string out = canonical_json(labels);
    return has(out) ? std::optional(out) : std::nullopt;
  }

  const BySeed& values(std::size_t cell, const std::string& metric, const std::string& labels) {
    auto [found, fresh] = values_.try_emplace({cell, metric, labels});
    if (!fresh) return found->second;
    const MetricContract& contract = outline_->metric;
    for (const std::size_t i : by_cell_.at(cells_[cell].ordinal)) {
      const TrialView& trial = trials_[i];
      if (const auto value = measured(trial, results_, {metric, contract.reports, labels},
                                      default_reduce(contract, metric, contract.reports)))
        found->second[trial.trial.seed] = *value;
    }
    return found->second;
  }

 private:
  absl::Status add(Store& store, ExperimentId experiment, const CellRow& row, const Catalog& catalog) {
    const auto of_cell = by_cell_.find(row.ordinal);
    if (of_cell == by_cell_.end()) return absl::OkStatus();
    // A table's trials are without configurations: one trial of each cell is read whole.
    const std::int64_t first = trials_[of_cell->second.front()].trial.ordinal;
    LOCUS_ASSIGN_OR_RETURN(const auto read, store.trials(experiment, first - 1, 1));
    if (read.empty() || read.front().stages.empty()) return absl::OkStatus();  // retired meanwhile
    const TrialView& trial = read.front();
    const auto train = std::find_if(trial.stages.begin(), trial.stages.end(),
                                    [](const TrialStageView& stage) { return stage.link.role == "train"; });
    const TrialStageView& stage = train == trial.stages.end() ? trial.stages.front() : *train;
    Json rest = Json::parse(row.assignment_json, nullptr, false);
    if (rest.is_object()) rest.erase("prior");
    Json config = Json::parse(stage.stage.config_json, nullptr, false);
    ClaimSetting setting = setting_of(config, catalog);
    cells_.push_back({row.ordinal, rest.dump(), std::move(config), std::move(setting)});
    labels_.push_back(label_of(*outline_, row));
    return absl::OkStatus();
  }

  std::string name_;
  std::shared_ptr<const Outline> outline_;
  std::vector<TrialView> trials_;
  std::map<std::int64_t, std::vector<std::size_t>> by_cell_;  // indices into trials_
  ResultsByStage results_;
  std::vector<ExperimentCell> cells_;
  std::vector<std::string> labels_;  // of the cells
  std::map<std::string, std::vector<std::string>> sets_;
  std::map<std::tuple<std::size_t, std::string, std::string>, BySeed> values_;
};

std::vector<double> numbers(const BySeed& values) {
  std::vector<double> out;
  for (const auto& [seed, value] : values) out.push_back(value);
  return out;
}

double mean_or_nan(const std::vector<double>& values) {
  return values.empty() ? kUndefined : sample_mean(values);
}

double half_width_or_nan(const std::vector<double>& values) {
  return values.size() < 2 ? kUndefined : student_t_half_width(values, kLevel);
}

void fill_setting(const SettingName& name, const std::string& value, const std::set<std::string>& here,
                  v1::ClaimSetting* out) {
  out->set_name(std::string(name.name));
  out->set_value(value);
  out->set_compared(name.compared);
  std::string all;
  for (const std::string& one : here) all += (all.empty() ? "" : " / ") + one;
  out->set_here(all);
}

using HereByName = std::map<std::string, std::set<std::string>>;

template <class Message>
void fill_settings(const ClaimSetting& setting, const HereByName& here, Message* out) {
  static const std::set<std::string> kEqual;
  for (const SettingName& name : setting_names()) {
    const auto value = setting.find(std::string(name.name));
    if (value == setting.end()) continue;
    const auto differing = here.find(value->first);
    fill_setting(name, value->second, differing == here.end() ? kEqual : differing->second,
                 out->add_setting());
  }
}

// One table on its way into the answer.
class TableWriter {
 public:
  TableWriter(const PaperClaims& paper, const ClaimTable& table, Beside* beside, ClaimMatcher* matcher)
      : paper_(paper), table_(table), beside_(beside), matcher_(matcher) {}

  v1::ClaimTable write(bool matched_only) {
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

 private:
  v1::Claim write(const ClaimValue& value, HereByName* table_here) {
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
    out.set_note(value.note);
    HereByName here;
    if (beside_ != nullptr && beside_->knows(value.metric.name)) {
      const std::vector<ClaimedCell>& baselines = matches_of_baseline(value);
      for (ClaimedCell& cell : nearest_matches(value)) {
        note_part(value, &cell);
        if (!add_match(value, cell, baselines, &out)) continue;
        for (const SettingDifference& one : cell.differences) {
          here[one.name].insert(one.here);
          if (!value.own.contains(one.name)) (*table_here)[one.name].insert(one.here);
        }
      }
    }
    fill_settings(value.own, here, &out);
    return out;
  }

  // Those whose settings differ least come first.
  std::vector<ClaimedCell> nearest_matches(const ClaimValue& value) const {
    const std::vector<ClaimedCell>& all = matcher_->match(value);
    std::vector<const ClaimedCell*> order;
    for (const ClaimedCell& one : all) order.push_back(&one);
    std::stable_sort(order.begin(), order.end(), [](const ClaimedCell* a, const ClaimedCell* b) {
      return a->differences.size() < b->differences.size();
    });
    if (order.size() > kMatchesMost) order.resize(kMatchesMost);
    std::vector<ClaimedCell> out;
    for (const ClaimedCell* one : order) out.push_back(*one);
    return out;
  }

  // Scores of a part of the split say so beside a paper's, which are of all of it.
  void note_part(const ClaimValue& value, ClaimedCell* cell) const {
    const auto labels = beside_->result_labels(value.metric.name, cell->scale);
    const Json parsed = labels ? Json::parse(*labels, nullptr, false) : Json();
    if (parsed.is_object() && parsed.contains("images"))
      cell->differences.push_back({"images scored", "all", parsed["images"].dump()});
  }

  const std::vector<ClaimedCell>& matches_of_baseline(const ClaimValue& value) const {
    static const std::vector<ClaimedCell> kNone;
    if (value.against_value < 0) return kNone;
    return matcher_->match(table_.values[static_cast<std::size_t>(value.against_value)]);
  }

  // The cell of the same group that the paper's baseline is about, if it is another.
  const ClaimedCell* baseline_of(std::size_t cell, const std::vector<ClaimedCell>& baselines) const {
    const auto& cells = beside_->cells();
    for (const ClaimedCell& one : baselines) {
      if (one.cell != cell && cells[one.cell].group == cells[cell].group) return &one;
    }
    return nullptr;
  }

  bool add_match(const ClaimValue& value, const ClaimedCell& cell, const std::vector<ClaimedCell>& baselines,
                 v1::Claim* out) {
    const auto labels = beside_->result_labels(value.metric.name, cell.scale);
    if (!labels) return false;
    const BySeed& values = beside_->values(cell.cell, value.metric.name, *labels);
    const std::vector<double> all = numbers(values);
    Measured measured{.mean = mean_or_nan(all),
                      .half_width = half_width_or_nan(all),
                      .n = static_cast<int>(all.size()),
                      .has_baseline = false,
                      .difference = kUndefined,
                      .difference_half_width = kUndefined,
                      .pairs = 0};
    v1::ClaimMatch* match = out->add_measured();
    if (const ClaimedCell* baseline = baseline_of(cell.cell, baselines)) {
      measured.has_baseline = true;
      match->set_baseline_label(beside_->label(baseline->cell));
      const auto baseline_labels = beside_->result_labels(value.metric.name, baseline->scale);
      std::vector<double> differences;
      if (baseline_labels) {
        const BySeed& others = beside_->values(baseline->cell, value.metric.name, *baseline_labels);
        for (const auto& [seed, mine] : values) {
          if (const auto other = others.find(seed); other != others.end())
            differences.push_back(mine - other->second);
        }
      }
      measured.pairs = static_cast<int>(differences.size());
      measured.difference = mean_or_nan(differences);
      measured.difference_half_width = half_width_or_nan(differences);
    }
    match->set_experiment(beside_->name());
    match->set_cell(static_cast<int>(beside_->cells()[cell.cell].ordinal));
    match->set_label(beside_->label(cell.cell));
    match->set_labels(*labels);
    match->set_n(measured.n);
    match->set_mean(measured.mean);
    match->set_std(all.size() < 2 ? kUndefined : sample_std(all));
    match->set_difference(measured.difference);
    match->set_difference_low(measured.difference - measured.difference_half_width);
    match->set_difference_high(measured.difference + measured.difference_half_width);
    match->set_pairs(measured.pairs);
    match->set_sentence(claim_sentence(value, measured, cell.differences));
    for (const SettingDifference& one : cell.differences) match->add_differences(to_string(one));
    return true;
  }

  const PaperClaims& paper_;
  const ClaimTable& table_;
  Beside* beside_;  // null, with the matcher: the print alone
  ClaimMatcher* matcher_;
};

absl::Status unknown(const std::string& field, const std::string& asked,
                     const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                    "there is no " + field + " '" + asked + "'; choose one of: " + list, field,
                    {{field, asked}, {"known", list}});
}

// Whether what is asked for exists, so that a slip is not an empty answer.
absl::Status check_known(const std::vector<PaperClaims>& papers, const v1::ListClaimsRequest& request) {
  if (papers.empty()) return absl::OkStatus();  // installed without: nothing to choose from
  std::vector<std::string> ids, tables;
  bool paper = request.paper().empty(), table = request.table().empty();
  for (const PaperClaims& one : papers) {
    ids.push_back(one.id);
    paper |= one.id == request.paper();
    if (!request.paper().empty() && one.id != request.paper()) continue;
    for (const ClaimTable& each : one.tables) {
      if (std::find(tables.begin(), tables.end(), each.table) == tables.end()) tables.push_back(each.table);
      table |= each.table == request.table();
    }
  }
  if (!paper) return unknown("paper", request.paper(), ids);
  if (!table) return unknown("table", request.table(), tables);
  if (request.matched() && request.experiment().empty()) {
    return make_error(
        absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
        "`matched` asks for what an experiment has a cell for, but no experiment is named; name one",
        "experiment");
  }
  return absl::OkStatus();
}

void fill_paper(const PaperClaims& paper, v1::ClaimPaper* out) {
  out->set_id(paper.id);
  out->set_title(paper.title);
  for (const std::string& author : paper.authors) out->add_authors(author);
  out->set_year(paper.year);
  out->set_arxiv(paper.arxiv);
  out->set_note(paper.note);
  out->set_tables(static_cast<int>(paper.tables.size()));
  int claims = 0;
  for (const ClaimTable& table : paper.tables) claims += static_cast<int>(table.values.size());
  out->set_claims(claims);
}

}  // namespace

absl::StatusOr<v1::ListClaimsResponse> list_claims(Store& store, OutlineCache& outlines,
                                                   const Catalog& catalog,
                                                   const std::vector<PaperClaims>& papers,
                                                   const v1::ListClaimsRequest& request) {
  LOCUS_RETURN_IF_ERROR(check_known(papers, request));
  std::optional<Beside> beside;
  if (!request.experiment().empty()) {
    LOCUS_ASSIGN_OR_RETURN(beside, Beside::load(store, outlines, catalog, request.experiment()));
  }
  std::optional<ClaimMatcher> matcher;
  if (beside) matcher.emplace(beside->cells(), catalog);
  v1::ListClaimsResponse out;
  for (const PaperClaims& paper : papers) {
    fill_paper(paper, out.add_papers());
    if (!request.paper().empty() && paper.id != request.paper()) continue;
    for (const ClaimTable& table : paper.tables) {
      if (!request.table().empty() && table.table != request.table()) continue;
      v1::ClaimTable written =
          TableWriter(paper, table, beside ? &*beside : nullptr, matcher ? &*matcher : nullptr)
              .write(request.matched());
      if (!request.matched() || written.claims_size() > 0) *out.add_tables() = std::move(written);
    }
  }
  return out;
}

}  // namespace locus::server
