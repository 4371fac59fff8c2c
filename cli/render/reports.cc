// Reports on one thing.
#include "cli/render/reports.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <vector>

#include "cli/render/listings.h"
#include "cli/render/numbers.h"

namespace locus {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string show_clock(const google::protobuf::Timestamp& time, const char* pattern) {
  if (time.seconds() == 0) return "";
  const std::time_t seconds = time.seconds();
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, pattern, &parts);
  return text;
}

std::string key_text(const v1::SeriesKey& key) {
  std::string out = key.metric();
  if (!key.split().empty()) out += " " + key.split();
  if (key.labels() != "{}" && !key.labels().empty()) out += " " + key.labels();
  return out;
}

template <class Values>
std::vector<std::string> settings_row(const std::string& path, const Values& values) {
  std::vector<std::string> row = {path};
  for (const std::string& value : values) row.push_back(value.empty() ? "-" : value);
  return row;
}

// A line a setting, and with `parts` another for each thing that differs within it.
Rows settings_rows(const google::protobuf::RepeatedPtrField<v1::ComparedSetting>& settings, bool parts) {
  Rows rows;
  for (const v1::ComparedSetting& one : settings) {
    rows.push_back(settings_row(one.path(), one.values()));
    for (int i = 0; parts && i < one.parts_size(); ++i)
      rows.push_back(settings_row("  " + one.parts(i).path(), one.parts(i).values_json()));
  }
  return rows;
}

std::string spread(double mean, double std, int decimals) {
  if (std::isnan(mean)) return "-";
  return show_fixed(mean, decimals) + (std::isnan(std) ? "" : " ± " + show_fixed(std, decimals));
}

// A count that every trial of an item agrees on.
bool counted(double mean, double std) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  return std::isnan(mean) || (mean == std::floor(mean) && std::abs(mean) < kExact && !(std > 0));
}

Rows result_rows(const v1::Comparison& comparison) {
  Rows rows;
  for (const v1::ComparedResult& one : comparison.results()) {
    std::vector<std::string> row = {key_text(one.key())};
    const auto std_of = [&](int i) { return i < one.std_size() ? one.std(i) : NAN; };
    bool counts = true;
    double size = 0;
    for (int i = 0; i < one.mean_size(); ++i) {
      counts = counts && counted(one.mean(i), std_of(i));
      if (std::isfinite(one.mean(i))) size = std::max(size, std::abs(one.mean(i)));
    }
    for (int i = 0; i < one.mean_size(); ++i) {
      const bool exact = counts && !std::isnan(one.mean(i));
      row.push_back(exact ? show_count(static_cast<std::int64_t>(one.mean(i)))
                          : spread(one.mean(i), std_of(i), decimals_for("", size)));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// The title where there is one: shorter, and it says what is compared.
std::string name_of(const v1::ComparedItem& item) { return item.title().empty() ? item.name() : item.title(); }

std::string paired_text(const v1::Comparison& comparison) {
  int decimals = 4;
  for (const v1::ComparedItem& item : comparison.items()) {
    for (const v1::SeedValue& one : item.values())
      decimals = std::min(decimals, decimals_for(comparison.unit(), one.value()));
  }
  Rows rows;
  for (const v1::PairedDifference& one : comparison.paired()) {
    if (one.item() < 0 || one.item() >= comparison.items_size()) continue;
    rows.push_back(
        {name_of(comparison.items(one.item())), std::to_string(one.n()), spread(one.mean(), one.std(), decimals),
         one.n() < 2 ? "-" : "[" + show_fixed(one.low(), decimals) + ", " + show_fixed(one.high(), decimals) + "]",
         show_p(one.p_sign_flip()), show_p(one.p_floor())});
  }
  if (rows.empty()) return "";
  return "\n" + printable(comparison.metric()) + (comparison.split().empty() ? "" : " on " + comparison.split()) +
         ", difference from " + printable(name_of(comparison.items(0))) + " by seed\n" +
         render_text_table({{"item"},
                            {"pairs", Align::kRight},
                            {"difference", Align::kRight},
                            {"95% CI", Align::kRight},
                            {"p", Align::kRight},
                            {"lowest p", Align::kRight}},
                           rows);
}

// Means over the best seeds beside those of all, where the contract has such.
std::string top_text(const v1::Comparison& comparison) {
  if (comparison.top_seeds() == 0) return "";
  Rows rows;
  for (const v1::ComparedItem& item : comparison.items()) {
    const auto shown = [&](double mean) {
      return std::isnan(mean) ? std::string("-") : show_fixed(mean, decimals_for(comparison.unit(), mean));
    };
    rows.push_back({printable(name_of(item)), shown(item.mean()), shown(item.mean_all())});
  }
  const std::string best = "mean of the best " + std::to_string(comparison.top_seeds());
  return "\n" + render_text_table({{"item"}, {best, Align::kRight}, {"of all", Align::kRight}}, rows);
}

}  // namespace

std::string show_bytes(std::int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double size = static_cast<double>(bytes);
  int unit = 0;
  while (size >= 1024 && unit < 4) size /= 1024, ++unit;
  return show_fixed(size, unit == 0 ? 0 : 1) + " " + kUnits[unit];
}

std::string render_explanation(const v1::Explanation& explanation, TextStyle style) {
  std::string out = printable(explanation.subject()) + "  " +
                    paint_state(explanation.state(), explanation.state(), style) + "\n" +
                    printable(explanation.sentence()) + "\n";
  for (const v1::StageExplanation& stage : explanation.stages()) {
    out += "\n" + printable(stage.role().empty() ? stage.kind() : stage.role()) + "  " +
           paint_state(stage.state(), stage.state(), style);
    if (!stage.failure_class().empty()) out += "  " + printable(stage.failure_class());
    out += "\n  " + printable(stage.sentence()) + "\n";
    if (const std::string at = show_clock(stage.expected_time(), "%H:%M"); !at.empty())
      out += "  expected about " + at + "\n";
    if (!stage.remedy().empty()) out += "  what to do: " + printable(stage.remedy()) + "\n";
  }
  return out;
}

std::string render_comparison(const v1::Comparison& comparison, bool all) {
  std::vector<Column> columns = {{"setting"}};
  std::string out;
  for (const v1::ComparedItem& item : comparison.items()) {
    const bool same = item.label().empty() || item.label() == item.name();
    out += printable(name_of(item)) + ": " + printable(item.name() + (same ? "" : " (" + item.label() + ")")) + "\n";
    columns.push_back({printable(name_of(item))});
  }
  out += "\n";
  const Rows differing = settings_rows(comparison.differing(), all);
  out += differing.empty() ? "every setting is equal\n" : render_text_table(columns, differing);
  if (all && comparison.common_size() > 0) {
    out += "\nequal everywhere\n";
    for (const v1::ComparedSetting& one : comparison.common())
      out += "  " + printable(one.path()) + ": " + printable(one.values_size() > 0 ? one.values(0) : "") + "\n";
  } else if (comparison.common_size() > 0) {
    out += show_counted(comparison.common_size(), "equal setting") + " left out; --all shows them\n";
  }
  columns[0].title = "result";
  for (std::size_t c = 1; c < columns.size(); ++c) columns[c].align = Align::kRight;
  if (comparison.results_size() > 0) out += "\n" + render_text_table(columns, result_rows(comparison));
  out += top_text(comparison) + paired_text(comparison);
  for (const std::string& warning : comparison.warnings()) out += "warning: " + printable(warning) + "\n";
  return out;
}

std::string render_artifacts(const v1::ListArtifactsResponse& response) {
  Rows rows;
  for (const v1::Artifact& one : response.artifacts()) {
    std::string notes = one.best() ? "best" : "";
    if (one.pinned()) notes += notes.empty() ? "pinned" : ", pinned";
    if (!one.present()) notes += notes.empty() ? "let go" : ", let go";
    rows.push_back({one.trial(), one.role(), one.slot().empty() ? one.kind() : one.slot(), show_count(one.step()),
                    show_bytes(one.bytes()), one.sha256(), notes});
  }
  if (rows.empty()) return "nothing has been made yet\n";
  return render_text_table(
      {{"trial"}, {"stage"}, {"what"}, {"step", Align::kRight}, {"size", Align::kRight}, {"sha256"}, {"notes"}}, rows);
}

std::string render_worker(const v1::WorkerDetail& detail, TextStyle style) {
  const v1::Worker& worker = detail.worker();
  std::string out = printable(worker.name()) + "  " + paint_state(worker.state(), worker.state(), style) + "  " +
                    printable(worker.host()) + ", " + std::to_string(worker.slots_busy()) + " of " +
                    show_counted(worker.slots_size(), "slot") + " busy\n";
  if (!worker.reason().empty()) out += printable(worker.reason()) + "\n";
  if (worker.has_data()) out += "datasets: " + printable(show_data(worker)) + "\n";
  if (worker.extensions_size() > 0) out += "extensions: " + printable(show_extensions(worker)) + "\n";
  for (const auto& [dataset, why] : worker.data().missing())
    out += "lacks " + printable(dataset) + ": " + printable(why) + "\n";
  Rows rows;
  for (const v1::RunningAttempt& one : worker.running()) {
    rows.push_back({one.title(), std::to_string(one.attempt()), one.phase(),
                    one.steps() > 0 ? std::to_string(100 * one.step() / one.steps()) + "%" : ""});
  }
  if (!rows.empty())
    out += "\n" + render_text_table({{"runs"}, {"attempt", Align::kRight}, {"phase"}, {"done", Align::kRight}}, rows);
  rows.clear();
  for (const v1::WorkerAttempt& one : detail.attempts()) {
    rows.push_back({one.title().empty() ? "stages/" + std::to_string(one.stage()) : one.title(), one.kind(),
                    std::to_string(one.attempt()), one.state(), show_clock(one.start_time(), "%Y-%m-%d %H:%M:%S"),
                    one.reason()});
  }
  if (rows.empty()) return out;
  return out + "\n" +
         render_text_table({{"ran"}, {"stage"}, {"attempt", Align::kRight}, kStateColumn, {"started"}, {"reason"}},
                           rows, style);
}

std::string render_rerun(const v1::RerunExperimentResponse& response) {
  const std::string name = printable(response.experiment().name());
  if (response.stages() == 0) return name + ": nothing to run again: no stage failed, is held or was cancelled\n";
  return name + ": " + show_counted(response.stages(), "stage") + " of " +
         show_counted(response.trials_size(), "trial") + " queued again\n";
}

std::string render_deletion(const v1::DeleteExperimentResponse& response) {
  std::string out = printable(response.name()) + (response.deleted() ? " is deleted: " : " would go with ") +
                    show_counted(response.trials(), "trial") + ", " + show_counted(response.stages(), "stage") + ", " +
                    show_counted(response.attempts(), "attempt") + ", " + show_counted(response.points(), "point") +
                    " and " + show_counted(response.artifacts(), "artifact") + " (" + show_bytes(response.bytes()) +
                    ")\n";
  if (response.stages_kept() > 0) {
    std::string names;
    for (const std::string& one : response.kept_for()) names += (names.empty() ? "" : ", ") + printable(one);
    out += show_counted(response.stages_kept(), "stage") +
           (response.deleted() ? " stayed, needed by " : " would stay, needed by ") + names + "\n";
  }
  if (response.purging()) out += "its rows and blobs are being taken away; other work goes on meanwhile\n";
  if (response.stages_unfinished() > 0 && !response.deleted())
    out += show_counted(response.stages_unfinished(), "stage") + " waiting or running: --force cancels them first\n";
  return out;
}

std::string render_check(const v1::CheckReport& report) {
  std::string out;
  for (const v1::CheckProblem& one : report.problems())
    out += printable(one.subject()) + ": " + printable(one.sentence()) + "\n";
  const std::string size = "schema " + std::to_string(report.schema_version()) + ", database " +
                           show_bytes(report.database_bytes()) + ", " + show_counted(report.artifacts(), "artifact") +
                           " of " + show_bytes(report.artifact_bytes());
  return out + (report.ok() ? "nothing found wrong: " : show_counted(report.problems_size(), "problem") + ": ") + size +
         "\n";
}

}  // namespace locus
