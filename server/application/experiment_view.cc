// Experiments and trials as people see them.
#include "server/application/experiment_view.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/analysis/queries.h"
#include "core/base/error.h"
#include "server/analysis/looks.h"
#include "server/application/annotations.h"
#include "server/application/paging.h"
#include "server/application/search_standing.h"
#include "server/application/stored_stage.h"
#include "server/application/trial_values.h"
#include "server/wire/convert.h"

namespace locus::server {
namespace {

std::int64_t count_of(const StageCounts& counts, StageState state) {
  const auto found = counts.by_state.find(state);
  return found == counts.by_state.end() ? 0 : found->second;
}

std::int64_t total_of(const StageCounts& counts) {
  std::int64_t total = 0;
  for (const auto& [state, count] : counts.by_state) total += count;
  return total;
}

// "completed" and "failed" follow from the stages, and from the search where there is one: while it runs there is more to
// come, and what it has parked for good it is done with. The store keeps only what was asked for.
std::string state_of(const ExperimentRow& row, const StageCounts& counts, const std::optional<SearchState>& search) {
  const bool deciding = search == SearchState::kRunning;
  const std::int64_t total = total_of(counts), succeeded = count_of(counts, StageState::kSucceeded);
  if (total > 0 && succeeded == total && !deciding) return "completed";
  if (row.state == ExperimentState::kCancelled) return to_string(row.state);
  const std::int64_t given_up = count_of(counts, StageState::kParked) + count_of(counts, StageState::kCancelled);
  if (search == SearchState::kEnded && total > 0 && succeeded + given_up == total) return "completed";
  const bool moving = count_of(counts, StageState::kQueued) + count_of(counts, StageState::kRunning) > 0;
  const bool broken = count_of(counts, StageState::kFailed) + count_of(counts, StageState::kHeld) > 0;
  if (!moving && broken && !deciding) return "failed";
  return to_string(row.state);
}

// Mean duration per stage kind times what is left of it, shared by the slots at work. -1: nothing to go by.
std::int64_t eta_seconds(const StageCounts& counts, std::size_t slots, double running_done) {
  const std::int64_t left = count_of(counts, StageState::kBlocked) + count_of(counts, StageState::kQueued) +
                            count_of(counts, StageState::kRunning);
  if (left == 0) return 0;
  if (slots == 0) return -1;
  double seconds = 0, known_mean = 0;
  std::int64_t succeeded = 0;
  for (const auto& [kind, of_kind] : counts.by_kind) {
    known_mean += static_cast<double>(of_kind.busy_us) / 1e6;
    succeeded += of_kind.succeeded;
  }
  if (succeeded == 0) return -1;
  known_mean /= static_cast<double>(succeeded);
  for (const auto& [kind, of_kind] : counts.by_kind) {
    const double mean = of_kind.succeeded > 0
                            ? static_cast<double>(of_kind.busy_us) / 1e6 / static_cast<double>(of_kind.succeeded)
                            : known_mean;
    seconds += mean * static_cast<double>(of_kind.total - of_kind.succeeded);
  }
  seconds -= running_done * known_mean;
  return std::max<std::int64_t>(1, std::llround(seconds / static_cast<double>(slots)));
}

void fill_trial_stage(const TrialStageView& view, const std::optional<StatedAttempt>& lease, bool shared,
                      v1::TrialStage* out) {
  out->set_role(view.link.role);
  out->set_stage(view.stage.id);
  out->set_kind(view.stage.kind);
  out->set_state(to_string(view.stage.state));
  if (view.stage.failure_class != FailureClass::kNone) out->set_failure_class(to_string(view.stage.failure_class));
  out->set_reason(view.stage.reason);
  out->set_attempts(view.stage.attempt);
  out->set_retries(std::clamp<std::int64_t>(view.stage.failures + view.stage.faults, 0,
                                            std::max<std::int64_t>(0, view.stage.attempt - 1)));
  out->set_identity(view.stage.identity);
  out->set_shared(shared);
  if (lease) {
    out->set_step(lease->step);
    out->set_steps(lease->steps);
  }
}

// Of the trials that their search holds back, by ordinal.
absl::StatusOr<std::map<std::int64_t, TrialStanding>> standings_of(Store& store, SearchRunner& searches,
                                                                   const ExperimentRow& row,
                                                                   const std::vector<TrialView>& views) {
  std::map<std::int64_t, TrialStanding> out;
  const auto fold = searches.fold(row.id);
  if (absl::IsNotFound(fold.status())) return out;
  LOCUS_RETURN_IF_ERROR(fold.status());
  LOCUS_ASSIGN_OR_RETURN(const auto cells, store.cells(row.id));
  std::map<std::int64_t, const CellRow*> by_ordinal;
  for (const CellRow& cell : cells) by_ordinal[cell.ordinal] = &cell;
  for (const TrialView& view : views) {
    const auto cell = by_ordinal.find(view.trial.cell);
    if (cell == by_ordinal.end() || view.trial.retired) continue;
    if (auto standing = standing_of(*fold, view, cell->second->assignment_json, cell->second->row_key))
      out[view.trial.ordinal] = *std::move(standing);
  }
  return out;
}

// Those of the trials listed.
void add_cells(const std::vector<CellRow>& cells, const std::map<std::int64_t, std::string>& labels,
               v1::ListTrialsResponse* out) {
  std::set<std::int64_t> wanted;
  for (const v1::Trial& trial : out->trials()) wanted.insert(trial.cell());
  for (const CellRow& cell : cells) {
    if (!wanted.contains(cell.ordinal)) continue;
    auto* item = out->add_cells();
    item->set_cell(static_cast<int>(cell.ordinal));
    item->set_label(labels.at(cell.ordinal));
    item->set_assignment_json(cell.assignment_json);
  }
}

// At most `most` trials after that ordinal that have the tags asked for.
absl::StatusOr<std::vector<TrialView>> tagged_trials(Store& store, ExperimentId id,
                                                     const v1::ListTrialsRequest& request, std::int64_t after,
                                                     std::size_t most) {
  if (request.tag().empty()) return store.trials(id, after, static_cast<int>(most));
  LOCUS_ASSIGN_OR_RETURN(const auto annotations, store.annotations(id));
  std::vector<TrialView> out;
  for (const auto& [ordinal, annotation] : annotations) {  // few trials are annotated
    if (ordinal <= after || ordinal == kWholeExperiment || !has_tags(annotation, request.tag())) continue;
    LOCUS_ASSIGN_OR_RETURN(auto views, store.trials(id, ordinal - 1, 1));
    if (!views.empty() && views.front().trial.ordinal == ordinal) out.push_back(std::move(views.front()));
    if (out.size() == most) break;
  }
  return out;
}

}  // namespace

std::vector<ExperimentViews::Running> ExperimentViews::running() {
  return coordinator_.inspect<std::vector<Running>>([](const Coordinator::LiveState& live) {
    std::vector<Running> out;
    for (const WorkerView& worker : live.scheduler.workers(live.now)) {
      for (const StatedAttempt& lease : worker.running) {
        out.push_back({worker.name, lease, live.index.references(lease.stage_id)});
      }
    }
    return out;
  });
}

absl::StatusOr<std::map<std::int64_t, std::string>> ExperimentViews::cell_labels(const ExperimentRow& row) {
  LOCUS_ASSIGN_OR_RETURN(const auto cells, store_.cells(row.id));
  LOCUS_ASSIGN_OR_RETURN(const auto outline, outlines_.get(row));
  std::map<std::int64_t, std::string> out;
  for (const CellRow& cell : cells) out[cell.ordinal] = label_of(*outline, cell);
  return out;
}

absl::Status ExperimentViews::fill_running(const ExperimentRow& row, const std::vector<Running>& running,
                                           v1::Experiment* out) {
  std::map<std::int64_t, std::string> labels;
  for (const Running& item : running) {
    const auto reference = std::find_if(item.references.begin(), item.references.end(),
                                        [&](const TrialReference& w) { return w.experiment == row.id; });
    if (reference == item.references.end()) continue;
    if (labels.empty()) {
      LOCUS_ASSIGN_OR_RETURN(labels, cell_labels(row));
    }
    LOCUS_ASSIGN_OR_RETURN(const auto views, store_.trials(row.id, reference->trial - 1, 1));
    if (views.empty() || views.front().trial.ordinal != reference->trial) continue;
    auto* stage = out->add_running();
    stage->set_trial(row.name + "/" + std::to_string(reference->trial));
    stage->set_cell_label(labels[views.front().trial.cell]);
    stage->set_seed(views.front().trial.seed);
    for (const TrialStageView& view : views.front().stages) {
      if (view.stage.id == item.lease.stage_id) stage->set_role(view.link.role);
    }
    stage->set_stage(item.lease.stage_id);
    stage->set_attempt(item.lease.attempt);
    stage->set_worker(item.worker);
    stage->set_step(item.lease.step);
    stage->set_steps(item.lease.steps);
    stage->set_phase(item.lease.phase);
  }
  return absl::OkStatus();
}

// Its state, and what its search says of it.
absl::Status ExperimentViews::fill_search(const ExperimentRow& row, const StageCounts& counts, v1::Experiment* out) {
  const auto search = store_.search(row.id);
  if (!search.ok() && !absl::IsNotFound(search.status())) return search.status();
  out->set_state(state_of(row, counts, search.ok() ? std::optional(search->state) : std::nullopt));
  if (row.state == ExperimentState::kPaused) out->set_reason(row.reason);
  if (!search.ok()) return absl::OkStatus();
  out->set_search(to_string(search->state));
  if (const std::string trouble = searches_.trouble(row.id); !trouble.empty())
    out->set_reason("its search cannot go on: " + trouble);
  const auto fold = searches_.fold(row.id);
  if (absl::IsNotFound(fold.status())) return absl::OkStatus();
  LOCUS_RETURN_IF_ERROR(fold.status());
  const SearchTally tally = tally_of(*fold, counts.trials);
  out->set_trials_waiting(static_cast<int>(tally.waiting));
  out->set_trials_parked(static_cast<int>(tally.parked));
  return absl::OkStatus();
}

absl::StatusOr<v1::Experiment> ExperimentViews::view(const ExperimentRow& row, const std::vector<Running>& running,
                                                     bool in_list) {
  LOCUS_ASSIGN_OR_RETURN(const StageCounts counts, store_.counts(row.id));
  v1::Experiment out;
  out.set_name(row.name);
  out.set_owner(row.owner);
  LOCUS_RETURN_IF_ERROR(fill_search(row, counts, &out));
  out.set_revision(row.revision);
  *out.mutable_create_time() = to_timestamp(row.created_us);
  if (!in_list) out.set_spec_json(row.spec_json);
  LOCUS_ASSIGN_OR_RETURN(const auto annotations, store_.annotations(row.id));
  if (const auto own = annotations.find(kWholeExperiment); own != annotations.end()) fill_annotation(own->second, &out);
  if (const auto outline = outlines_.get(row); outline.ok()) {
    out.set_description((*outline)->description);
    out.set_dataset((*outline)->dataset);
    out.set_primary_metric((*outline)->metric.name);
    out.set_cells(static_cast<int>((*outline)->cells_of_all));
  }
  if (auto best = best_.of(row, counts)) *out.mutable_best() = *std::move(best);
  out.set_trials(static_cast<int>(counts.trials));
  out.set_trials_done(static_cast<int>(counts.trials_done));
  out.set_stages_total(static_cast<int>(total_of(counts)));
  for (const auto& [state, count] : counts.by_state)
    (*out.mutable_stages())[to_string(state)] = static_cast<int>(count);
  LOCUS_RETURN_IF_ERROR(fill_running(row, running, &out));
  double running_done = 0;  // in stages
  for (const auto& stage : out.running()) {
    if (stage.steps() > 0) running_done += static_cast<double>(stage.step()) / static_cast<double>(stage.steps());
  }
  const bool over = out.state() == "cancelled" || out.state() == "failed";
  const bool unknown =
      over || out.search() == to_string(SearchState::kRunning);  // a search may yet ask for more, or for less
  out.set_eta_seconds(unknown ? -1 : eta_seconds(counts, static_cast<std::size_t>(out.running_size()), running_done));
  const bool live = count_of(counts, StageState::kQueued) + count_of(counts, StageState::kRunning) > 0 && !over;
  const Microseconds end = live ? clock_.wall() : std::max(counts.last_ended_us, row.created_us);
  out.set_elapsed_seconds(static_cast<double>(std::max<Microseconds>(0, end - row.created_us)) / 1e6);
  return out;
}

absl::StatusOr<v1::Experiment> ExperimentViews::get(const v1::GetExperimentRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store_.experiment(request.name()));
  return view(row, running(), /*in_list=*/false);
}

// At most `most` rows older than `before` that have the tags asked for.
absl::StatusOr<std::vector<ExperimentRow>> ExperimentViews::rows_with(const v1::ListExperimentsRequest& request,
                                                                      ExperimentId before, std::size_t most) {
  std::vector<ExperimentRow> out;
  while (true) {
    LOCUS_ASSIGN_OR_RETURN(const auto rows, store_.experiments(before, static_cast<int>(most)));
    for (const ExperimentRow& row : rows) {
      before = row.id;
      if (!request.tag().empty()) {
        LOCUS_ASSIGN_OR_RETURN(auto annotations, store_.annotations(row.id));
        if (!has_tags(annotations[kWholeExperiment], request.tag())) continue;
      }
      out.push_back(row);
      if (out.size() == most) return out;
    }
    if (rows.size() < most) return out;
  }
}

absl::StatusOr<v1::ListExperimentsResponse> ExperimentViews::list(const v1::ListExperimentsRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const int size, page_size(request.page_size()));
  LOCUS_ASSIGN_OR_RETURN(const std::int64_t before, parse_page_token("experiment", request.page_token(), 0));
  LOCUS_ASSIGN_OR_RETURN(auto rows, rows_with(request, before, static_cast<std::size_t>(size) + 1));
  v1::ListExperimentsResponse out;
  if (rows.size() > static_cast<std::size_t>(size)) {
    rows.resize(static_cast<std::size_t>(size));
    out.set_next_page_token(make_page_token("experiment", rows.back().id));
  }
  const auto now_running = running();
  for (const ExperimentRow& row : rows) {
    LOCUS_ASSIGN_OR_RETURN(*out.add_experiments(), view(row, now_running, /*in_list=*/true));
  }
  LOCUS_ASSIGN_OR_RETURN(const std::int64_t started, store_.attempts_started());
  out.set_attempts_started(started);
  return out;
}

absl::StatusOr<std::vector<v1::Trial>> ExperimentViews::to_trials(const ExperimentRow& row,
                                                                  const std::vector<TrialView>& views,
                                                                  const std::map<std::int64_t, std::string>& labels) {
  LOCUS_ASSIGN_OR_RETURN(const auto annotations, store_.annotations(row.id));
  LOCUS_ASSIGN_OR_RETURN(const auto standings, standings_of(store_, searches_, row, views));
  return coordinator_.inspect<std::vector<v1::Trial>>([&](const Coordinator::LiveState& live) {
    std::vector<v1::Trial> out;
    for (const TrialView& view : views) {
      v1::Trial& trial = out.emplace_back();
      trial.set_name(row.name + "/" + std::to_string(view.trial.ordinal));
      trial.set_ordinal(static_cast<int>(view.trial.ordinal));
      trial.set_cell(static_cast<int>(view.trial.cell));
      const auto label = labels.find(view.trial.cell);
      if (label != labels.end()) trial.set_cell_label(label->second);
      trial.set_seed(view.trial.seed);
      trial.set_retired(view.trial.retired);
      if (const auto own = annotations.find(view.trial.ordinal); own != annotations.end())
        fill_annotation(own->second, &trial);
      const TrialStageView* least = nullptr;
      for (const TrialStageView& stage : view.stages) {
        const auto& references = live.index.references(stage.stage.id);
        const bool shared = std::any_of(references.begin(), references.end(),
                                        [&](const TrialReference& w) { return w.experiment != row.id; });
        fill_trial_stage(stage, live.scheduler.progress(stage.stage.id), shared, trial.add_stages());
        if (least == nullptr || rank_of(stage.stage.state) < rank_of(least->stage.state)) least = &stage;
      }
      if (const auto standing = standings.find(view.trial.ordinal); standing != standings.end()) {
        trial.set_state(standing->second.state);
        trial.set_reason(standing->second.sentence);
        continue;
      }
      if (least == nullptr) trial.set_state("waiting");  // for its search, or for a choice
      if (least == nullptr) continue;
      trial.set_state(to_string(least->stage.state));
      trial.set_reason(least->stage.reason);
      if (trial.reason().empty() && !terminal(least->stage.state)) {
        trial.set_reason(live.scheduler.explain(least->stage.id, live.now));
      }
    }
    return out;
  });
}

absl::StatusOr<v1::ListTrialsResponse> ExperimentViews::trials(const v1::ListTrialsRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const int size, page_size(request.page_size()));
  LOCUS_ASSIGN_OR_RETURN(const std::int64_t after, parse_page_token("trial", request.page_token(), -1));
  LOCUS_ASSIGN_OR_RETURN(const ExperimentRow row, store_.experiment(request.experiment()));
  LOCUS_ASSIGN_OR_RETURN(auto views, tagged_trials(store_, row.id, request, after, static_cast<std::size_t>(size) + 1));
  LOCUS_ASSIGN_OR_RETURN(const auto labels, cell_labels(row));
  LOCUS_ASSIGN_OR_RETURN(const StageCounts counts, store_.counts(row.id));
  LOCUS_ASSIGN_OR_RETURN(const auto cells, store_.cells(row.id));
  v1::ListTrialsResponse out;
  if (views.size() > static_cast<std::size_t>(size)) {
    views.resize(static_cast<std::size_t>(size));
    out.set_next_page_token(make_page_token("trial", views.back().trial.ordinal));
  }
  LOCUS_ASSIGN_OR_RETURN(auto trials, to_trials(row, views, labels));
  for (auto& trial : trials) *out.add_trials() = std::move(trial);
  add_cells(cells, labels, &out);
  const Looks looks = read_looks(store_, outlines_, row);
  give_looks(looks, out.mutable_cells());
  give_looks(looks, out.mutable_trials());
  LOCUS_RETURN_IF_ERROR(fill_values(leaderboards_, row, counts, request, &out));
  return out;
}

}  // namespace locus::server
