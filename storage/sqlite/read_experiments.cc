// Reads of experiments: rows, trials with their stages, counts, results.
#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "storage/rules/refusals.h"
#include "storage/sqlite/columns.h"
#include "storage/sqlite/queries.h"

namespace locus::sqlite {
namespace {

// The distinct stages of an experiment's unretired trials.
#define LOCUS_STAGES_OF_EXPERIMENT                                                                          \
  "(SELECT DISTINCT l.stage_id AS id FROM trial t JOIN trial_stage l ON l.experiment_id = t.experiment_id " \
  "AND "                                                                                                    \
  "l.trial = t.ordinal WHERE t.experiment_id = ? AND t.retired = 0)"

bool has_experiment(Connection& db, ExperimentId id) {
  return db.prepare("SELECT 1 FROM experiment WHERE id = ? AND deleted = 0").bind(id).step();
}

}  // namespace

absl::StatusOr<ExperimentRow> find_experiment(Connection& db, ExperimentId id) {
  auto s = db.prepare("SELECT " LOCUS_EXPERIMENT_COLUMNS " FROM experiment WHERE id = ? AND deleted = 0");
  if (!s.bind(id).step()) return refusal::experiment_not_found(id);
  return read_experiment(s);
}

absl::StatusOr<ExperimentRow> find_experiment(Connection& db, const std::string& name) {
  auto s = db.prepare("SELECT " LOCUS_EXPERIMENT_COLUMNS " FROM experiment WHERE name = ? AND deleted = 0");
  if (!s.bind(name).step()) return refusal::experiment_not_found(name);
  return read_experiment(s);
}

std::vector<ExperimentRow> list_experiments(Connection& db, ExperimentId before, int limit) {
  auto s = db.prepare("SELECT " LOCUS_EXPERIMENT_COLUMNS
                      " FROM experiment WHERE id < ? AND deleted = 0 ORDER BY id DESC LIMIT ?");
  s.bind(before == 0 ? std::numeric_limits<ExperimentId>::max() : before, std::max(limit, 0));
  std::vector<ExperimentRow> out;
  while (s.step()) out.push_back(read_experiment(s));
  return out;
}

// One pass over trials, their stages and the stages' attempts; a stage that several trials share counts once.
absl::StatusOr<StageCounts> count_stages(Connection& db, ExperimentId id) {
  if (!has_experiment(db, id)) return refusal::experiment_not_found(id);
  auto s = db.prepare(
      "SELECT t.ordinal, s.id, s.state, s.kind, a.started_us, a.ended_us, l.role, l.until_step FROM trial t "
      "LEFT JOIN trial_stage l ON l.experiment_id = t.experiment_id AND l.trial = t.ordinal "
      "LEFT JOIN stage s ON s.id = l.stage_id LEFT JOIN attempt a ON a.stage_id = s.id "
      "WHERE t.experiment_id = ? AND t.retired = 0 ORDER BY t.ordinal, l.role");
  s.bind(id);
  StageCounts out;
  std::unordered_set<StageId> seen;
  std::int64_t trial = -1;
  std::string role;  // of the row before
  bool fresh = false, has_stages = false, done = false;
  StageState state = StageState::kBlocked;
  KindCounts* kind = nullptr;
  const auto end_trial = [&] { out.trials_done += has_stages && done ? 1 : 0; };
  while (s.step()) {
    if (s.integer(0) != trial) {
      end_trial();
      ++out.trials;
      trial = s.integer(0);
      role.clear();
      has_stages = false;
      done = true;
    }
    if (s.null(1)) continue;  // a trial without stages
    has_stages = true;
    if (s.blob(6) != role) {  // the next stage; its attempts follow
      role = s.blob(6);
      state = parse_word(s, 2, parse_stage_state);
      done = done && state == StageState::kSucceeded && s.integer(7) == kToTheEnd;
      fresh = seen.insert(s.integer(1)).second;
      if (fresh) {
        kind = &out.by_kind[s.text(3)];
        ++out.by_state[state];
        ++kind->total;
        if (state == StageState::kSucceeded) ++kind->succeeded;
      }
    }
    if (!fresh || s.null(5)) continue;
    out.last_ended_us = std::max(out.last_ended_us, s.integer(5));
    if (state == StageState::kSucceeded && s.integer(5) > 0) kind->busy_us += s.integer(5) - s.integer(4);
  }
  end_trial();
  return out;
}

absl::StatusOr<std::vector<CellRow>> list_cells(Connection& db, ExperimentId id) {
  if (!has_experiment(db, id)) return refusal::experiment_not_found(id);
  auto s =
      db.prepare("SELECT ordinal, row_key, label, assignment_json FROM cell WHERE experiment_id = ? ORDER BY ordinal");
  s.bind(id);
  std::vector<CellRow> out;
  while (s.step()) out.push_back({s.integer(0), s.text(1), s.text(2), s.text(3)});
  return out;
}

absl::StatusOr<std::vector<TrialView>> list_trials(Connection& db, ExperimentId id, std::int64_t after, int limit) {
  if (!has_experiment(db, id)) return refusal::experiment_not_found(id);
  auto trials = db.prepare(
      "SELECT ordinal, cell, seed, retired FROM trial WHERE experiment_id = ? AND ordinal > ? "
      "ORDER BY ordinal LIMIT ?");
  trials.bind(id, after, std::max(limit, 0));
  auto links = db.prepare("SELECT l.role, l.until_step, " LOCUS_STAGE_COLUMNS
                          " FROM trial_stage l JOIN stage s ON s.id = l.stage_id" LOCUS_STAGE_JOINS
                          "WHERE l.experiment_id = ? AND l.trial = ? ORDER BY l.position, l.role");
  StageReader reader;
  std::vector<TrialView> out;
  while (trials.step()) {
    TrialView view;
    view.trial = {trials.integer(0), trials.integer(1), trials.integer(2), trials.integer(3) != 0};
    links.bind(id, view.trial.ordinal);
    while (links.step()) {
      TrialStageView stage;
      stage.stage = reader.read(links, 2);
      stage.link = {view.trial.ordinal, links.text(0), stage.stage.id, links.integer(1)};
      complete_stage(db, stage.stage);
      view.stages.push_back(std::move(stage));
    }
    out.push_back(std::move(view));
  }
  return out;
}

absl::StatusOr<std::vector<ResultView>> list_results(Connection& db, ExperimentId id) {
  if (!has_experiment(db, id)) return refusal::experiment_not_found(id);
  auto s = db.prepare("SELECT r.stage_id, " LOCUS_RESULT_COLUMNS " FROM " LOCUS_STAGES_OF_EXPERIMENT
                      " AS w JOIN result r ON r.stage_id = w.id "
                      "ORDER BY r.stage_id, r.metric, r.split, r.labels, r.reducer");
  s.bind(id);
  std::vector<ResultView> out;
  while (s.step()) out.push_back({s.integer(0), read_result(s, 1)});
  return out;
}

absl::StatusOr<std::vector<ResultView>> list_results(Connection& db, ExperimentId id, const std::string& metric) {
  if (!has_experiment(db, id)) return refusal::experiment_not_found(id);
  auto s = db.prepare("SELECT r.stage_id, " LOCUS_RESULT_COLUMNS " FROM " LOCUS_STAGES_OF_EXPERIMENT
                      " AS w JOIN result r ON r.stage_id = w.id AND r.metric = ? "
                      "ORDER BY r.stage_id, r.split, r.labels, r.reducer");
  s.bind(id, metric);
  std::vector<ResultView> out;
  while (s.step()) out.push_back({s.integer(0), read_result(s, 1)});
  return out;
}

absl::StatusOr<std::vector<SeriesRow>> list_series_of(Connection& db, ExperimentId id) {
  if (!has_experiment(db, id)) return refusal::experiment_not_found(id);
  auto s = db.prepare("SELECT r.id, r.stage_id, r.metric, r.split, r.labels FROM " LOCUS_STAGES_OF_EXPERIMENT
                      " AS w JOIN series r ON r.stage_id = w.id "
                      "ORDER BY r.stage_id, r.metric, r.split, r.labels");
  s.bind(id);
  std::vector<SeriesRow> out;
  while (s.step()) out.push_back({s.integer(0), s.integer(1), {s.text(2), s.text(3), s.text(4)}, 0});
  return out;
}

absl::StatusOr<StageBriefs> list_briefs(Connection& db, ExperimentId id) {
  if (!has_experiment(db, id)) return refusal::experiment_not_found(id);
  // Succeeded is final, so the newest attempt of such a stage is the one that succeeded.
  auto s = db.prepare(
      "SELECT t.ordinal, t.cell, t.seed, s.id, s.kind, s.state, a.environment_json FROM trial t "
      "JOIN trial_stage l ON l.experiment_id = t.experiment_id AND l.trial = t.ordinal "
      "JOIN stage s ON s.id = l.stage_id "
      "LEFT JOIN attempt a ON a.stage_id = s.id AND a.number = s.attempt AND s.state = 'succeeded' "
      "WHERE t.experiment_id = ? AND t.retired = 0 ORDER BY t.ordinal, l.position, l.role");
  s.bind(id);
  StageBriefs out;
  std::unordered_map<std::string, int> known;
  while (s.step()) {
    StageBrief brief{s.integer(0), s.integer(1), s.integer(2),
                     s.integer(3), s.text(4),    parse_word(s, 5, parse_stage_state)};
    if (brief.state == StageState::kSucceeded) {
      const auto [at, fresh] = known.emplace(s.text(6), static_cast<int>(out.environments.size()));
      if (fresh) out.environments.push_back(at->first);
      brief.environment = at->second;
    }
    out.stages.push_back(std::move(brief));
  }
  return out;
}

}  // namespace locus::sqlite
