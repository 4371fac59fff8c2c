// Experiments, trials and workers as text.
#include "cli/render/listings.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "cli/render/numbers.h"
#include "cli/render/text_table.h"
#include "cli/render/yaml_text.h"

namespace locus {
namespace {

std::string show_time(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0) return "-";
  const std::time_t seconds = time.seconds();
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

std::string seconds_between(const google::protobuf::Timestamp& a, const google::protobuf::Timestamp& b) {
  if (a.seconds() == 0 || b.seconds() == 0) return "";
  return show_duration(static_cast<double>(b.seconds() - a.seconds()) + (b.nanos() - a.nanos()) * 1e-9);
}

template <class Tags>
std::string join_tags(const Tags& tags) {
  std::string out;
  for (const std::string& tag : tags) out += (out.empty() ? "" : " ") + tag;
  return out;
}

// Tags and note below a heading.
template <class Annotated>
std::string annotation_text(const Annotated& one) {
  std::string out;
  if (one.tags_size() > 0) out += "tags: " + join_tags(one.tags()) + "\n";
  if (!one.note().empty()) out += show_note(one.note()) + "\n";
  return out;
}

// "82.31 ± 0.40 % alibi-2d": the leaderboard's first row.
std::string show_best(const v1::Experiment& one) {
  if (!one.has_best()) return "-";
  const v1::BestRow& best = one.best();
  const int decimals = decimals_for(best.unit(), best.mean());
  std::string out = show_fixed(best.mean(), decimals);
  if (best.n() > 1) out += " \u00b1 " + show_fixed(best.std(), decimals);
  if (!best.unit().empty()) out += " " + best.unit();
  return out + " " + best.label();
}

// What a stage was given, as one would write it; what is no JSON stays as it is.
std::string configuration_text(const std::string& config_json) {
  const Json json = Json::parse(config_json, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? yaml_text(json, 2) : printable(config_json) + "\n";
}

// Of a search: its state, and the trials that it holds back.
std::string deferred_text(const v1::Experiment& experiment) {
  std::string out;
  if (experiment.trials_waiting() > 0) out += show_count(experiment.trials_waiting()) + " waiting, ";
  if (experiment.trials_parked() > 0) out += show_count(experiment.trials_parked()) + " parked, ";
  return experiment.search().empty() ? out : out + "search " + printable(experiment.search()) + ", ";
}

}  // namespace

std::string show_note(const std::string& note) {
  std::string out;
  for (std::size_t begin = 0; begin <= note.size();) {
    const std::size_t end = std::min(note.find('\n', begin), note.size());
    out += (begin == 0 ? "" : "\n") + printable(note.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::string render_submission(const v1::CreateExperimentResponse& response) {
  const v1::Experiment& experiment = response.experiment();
  std::string out = printable(experiment.name());
  if (response.created()) {
    out += " submitted: ";
  } else if (response.trials_added() + response.trials_removed() + response.trials_changed() > 0) {
    out += " extended by " + show_counted(response.trials_added(), "trial");
    if (response.trials_removed() > 0) out += ", " + show_counted(response.trials_removed(), "trial") + " retired";
    if (response.trials_changed() > 0) out += ", " + show_counted(response.trials_changed(), "trial") + " changed";
    out += ": ";
  } else {
    out += " is here already: ";
  }
  return out + show_counted(experiment.cells(), "cell") + ", " + show_counted(experiment.trials(), "trial") + "; " +
         show_counted(response.stages_done(), "stage") + " done already, " + show_count(response.stages_to_run()) +
         " to run\n";
}

std::string render_experiments(const v1::ListExperimentsResponse& response, TextStyle style) {
  std::vector<std::vector<std::string>> rows;
  for (const v1::Experiment& one : response.experiments()) {
    rows.push_back({one.name(), one.state(), std::to_string(one.trials_done()) + "/" + std::to_string(one.trials()),
                    one.dataset(), one.primary_metric(), show_best(one), one.owner(), show_time(one.create_time()),
                    join_tags(one.tags())});
  }
  if (rows.empty()) return "no experiment yet; submit one with: locus submit SPECIFICATION\n";
  return render_text_table({{"experiment"},
                            kStateColumn,
                            {"trials", Align::kRight},
                            {"dataset"},
                            {"metric"},
                            {"best"},
                            {"owner"},
                            {"created"},
                            {"tags"}},
                           rows, style);
}

std::string render_experiment(const v1::Experiment& experiment, const v1::ListTrialsResponse& trials, TextStyle style) {
  std::string out =
      printable(experiment.name()) + "  " + paint_state(experiment.state(), experiment.state(), style) + "\n";
  if (!experiment.description().empty()) out += printable(experiment.description()) + "\n";
  out += annotation_text(experiment);
  out += show_counted(experiment.cells(), "cell") + ", " + std::to_string(experiment.trials_done()) + " of " +
         show_counted(experiment.trials(), "trial") + " done, " + deferred_text(experiment) + "revision " +
         std::to_string(experiment.revision()) + ", created " + show_time(experiment.create_time()) + "\n\n";
  return out + render_trials(trials, style);
}

std::string render_trials(const v1::ListTrialsResponse& trials, TextStyle style) {
  std::vector<std::vector<std::string>> rows;
  for (const v1::Trial& trial : trials.trials()) {
    std::string stages;
    for (const v1::TrialStage& stage : trial.stages()) {
      stages += (stages.empty() ? "" : ", ") + stage.role() + " " + stage.state();
      if (stage.state() == "running" && stage.steps() > 0)
        stages += " " + std::to_string(100 * stage.step() / stage.steps()) + "%";
    }
    auto& row = rows.emplace_back();
    row = {std::to_string(trial.ordinal()), trial.cell_label(), std::to_string(trial.seed()),
           trial.retired() ? "retired" : trial.state()};
    for (const double value : trial.values()) row.push_back(show_fixed(value, std::abs(value) < 10 ? 4 : 2));
    row.insert(row.end(), {stages, trial.reason(), join_tags(trial.tags())});
  }
  std::vector<Column> columns = {{"trial", Align::kRight}, {"cell"}, {"seed", Align::kRight}, kStateColumn};
  for (const v1::TrialColumn& column : trials.columns())
    columns.push_back(
        {column.key().metric() + (column.unit().empty() ? "" : " (" + column.unit() + ")"), Align::kRight});
  columns.insert(columns.end(), {{"stages"}, {"reason"}, {"tags"}});
  return render_text_table(columns, rows, style);
}

std::string render_trial(const v1::TrialDetail& detail, TextStyle style) {
  const v1::Trial& trial = detail.trial();
  std::string out = printable(trial.name()) + "  " + printable(trial.cell_label()) + ", seed " +
                    std::to_string(trial.seed()) + "  " + paint_state(trial.state(), trial.state(), style) + "\n";
  if (!trial.reason().empty()) out += printable(trial.reason()) + "\n";
  out += annotation_text(trial);
  for (const v1::StageDetail& stage : detail.stages()) {
    const auto summary = std::find_if(trial.stages().begin(), trial.stages().end(),
                                      [&stage](const v1::TrialStage& one) { return one.role() == stage.role(); });
    out += "\n" + stage.role();
    if (summary != trial.stages().end()) out += "  " + summary->state() + "  " + summary->identity();
    out += "\n" + configuration_text(stage.config_json());
    std::vector<std::vector<std::string>> rows;
    for (const v1::Attempt& attempt : stage.attempts()) {
      rows.push_back({std::to_string(attempt.number()), attempt.worker(), attempt.state(),
                      show_time(attempt.start_time()), seconds_between(attempt.start_time(), attempt.end_time()),
                      std::to_string(attempt.resume_step()), attempt.reason()});
    }
    if (!rows.empty()) {
      out += render_text_table({{"attempt", Align::kRight},
                                {"worker"},
                                kStateColumn,
                                {"started"},
                                {"took", Align::kRight},
                                {"from step", Align::kRight},
                                {"reason"}},
                               rows, style);
    }
    rows.clear();
    for (const v1::Result& result : stage.results()) {
      rows.push_back({result.key().metric(), result.key().split(), result.key().labels(), result.reducer(),
                      show_fixed(result.value(), 4), std::to_string(result.step())});
    }
    if (!rows.empty()) {
      out += render_text_table(
          {{"metric"}, {"split"}, {"labels"}, {"reducer"}, {"value", Align::kRight}, {"step", Align::kRight}}, rows);
    }
  }
  return out;
}

std::string show_data(const v1::Worker& worker) {
  if (!worker.has_data()) return "";
  std::string out;
  for (const std::string& dataset : worker.data().datasets()) out += (out.empty() ? "" : ", ") + dataset;
  return out.empty() ? "none" : out;
}

std::string show_extensions(const v1::Worker& worker) {
  constexpr std::size_t kDigestShown = 12;
  std::string out;
  for (const v1::WorkerExtension& one : worker.extensions()) {
    out += (out.empty() ? "" : ", ") + one.name() + "@" + one.digest().substr(0, kDigestShown) +
           (one.current() ? "" : " (older)");
  }
  return out;
}

std::string render_workers(const v1::ListWorkersResponse& response, TextStyle style) {
  const bool some_end = std::any_of(response.workers().begin(), response.workers().end(),
                                    [](const v1::Worker& worker) { return worker.has_end_time(); });
  std::vector<std::vector<std::string>> rows;
  for (const v1::Worker& worker : response.workers()) {
    std::string slots, running;
    for (const v1::Slot& slot : worker.slots()) {
      slots += (slots.empty() ? "" : ", ") + slot.device() + ":" + std::to_string(slot.index());
    }
    for (const v1::RunningAttempt& attempt : worker.running())
      running += (running.empty() ? "" : "; ") + attempt.title();
    rows.push_back({worker.name(), worker.state(), worker.host(), slots, show_data(worker), show_extensions(worker),
                    worker.version(), show_time(worker.seen_time()), running});
    if (some_end) rows.back().insert(rows.back().begin() + 2, show_time(worker.end_time()));
  }
  const std::string forgotten = response.forgotten() == 0 ? ""
                                                          : std::to_string(response.forgotten()) +
                                                                " not shown, offline for long or forgotten: --all\n";
  if (rows.empty() && forgotten.empty())
    return "no worker has ever registered; start one with: locus worker --server HOST:PORT\n";
  std::vector<Column> columns = {{"worker"},     kStateColumn, {"host"}, {"slots"},  {"datasets"},
                                 {"extensions"}, {"version"},  {"seen"}, {"running"}};
  if (some_end) columns.insert(columns.begin() + 2, {"works until"});
  return render_text_table(columns, rows, style) + forgotten;
}

}  // namespace locus
