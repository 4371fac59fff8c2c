// What a plan costs.
#include "server/application/forecast.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "core/base/error.h"
#include "core/experiment/labels.h"
#include "core/experiment/pace.h"
#include "core/scheduling/capacity.h"

namespace locus::server {
namespace {

constexpr std::size_t kRunsRead = 4'000;         // of all loads together
constexpr int kRunsLeast = 20, kRunsMost = 400;  // of one

std::int64_t whole(double number) { return static_cast<std::int64_t>(std::llround(number)); }

void widen(double number, bool* known, v1::PlanRange* range) {
  const std::int64_t value = whole(number);
  range->set_least(*known ? std::min(range->least(), value) : value);
  range->set_most(*known ? std::max(range->most(), value) : value);
  *known = true;
}

void add_costs(const ExperimentPlan& plan, v1::Plan* out) {
  bool parameters = false, own = false, flops = false, memory = false;
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const CellCost& cost = plan.cells[i].cost;
    if (cost.parameters >= 0) widen(cost.parameters, &parameters, out->mutable_parameters());
    if (cost.prior_parameters >= 0) widen(cost.prior_parameters, &own, out->mutable_prior_parameters());
    if (cost.flops >= 0) widen(cost.flops, &flops, out->mutable_flops());
    if (cost.memory_bytes >= 0) widen(cost.memory_bytes, &memory, out->mutable_memory_bytes());
    if (static_cast<int>(i) >= out->cell_list_size()) continue;
    v1::PlanCell* cell = out->mutable_cell_list(static_cast<int>(i));
    if (cost.parameters >= 0) cell->set_parameters(whole(cost.parameters));
    if (cost.prior_parameters >= 0) cell->set_prior_parameters(whole(cost.prior_parameters));
    if (cost.flops >= 0) cell->set_flops(whole(cost.flops));
    cell->set_training_parameters(whole(cost.training_parameters));
    for (const std::string& prior : cost.uncounted) cell->add_uncounted_priors(prior);
    if (cost.memory_bytes < 0) continue;
    cell->set_memory_bytes(whole(cost.memory_bytes));
    cell->set_data_bytes(whole(cost.data_bytes));
  }
}

// Stages to run, and what is known of their time. A stage that trials share counts once.
class TimeSum {
 public:
  void add(const std::string& kind, const std::string& identity, const std::optional<ExpectedTime>& time) {
    if (!seen_.insert(identity).second) return;
    if (!time) {
      ++without_;
      return;
    }
    seconds_ += time->seconds;
    v1::PlanHistory& history = history_[{kind, time->basis, time->device}];
    history.set_kind(kind);
    history.set_basis(to_string(time->basis));
    history.set_device(time->device);
    history.set_stages(history.stages() + 1);
    history.set_runs(std::max(history.runs(), time->runs));
  }

  template <class Message>
  void fill(Message* out) const {
    if (!history_.empty()) out->set_compute_seconds(seconds_);
    out->set_stages_without_history(without_);
  }
  void list(google::protobuf::RepeatedPtrField<v1::PlanHistory>* out) const {
    for (const auto& [key, history] : history_) *out->Add() = history;
  }
  bool complete() const { return without_ == 0; }
  bool empty() const { return seen_.empty(); }
  // The only device that all of it is expected on; empty where there are several.
  std::string device() const {
    std::set<std::string> devices;
    for (const auto& [key, history] : history_) devices.insert(history.device());
    return devices.size() == 1 ? *devices.begin() : "";
  }

 private:
  std::set<std::string> seen_;
  std::map<std::tuple<std::string, Basis, std::string>, v1::PlanHistory> history_;
  double seconds_ = 0;
  int without_ = 0;
};

class Forecast {
 public:
  Forecast(Store& store, const Catalog& catalog, const Fleet& fleet, const ExperimentPlan& plan,
           const std::map<std::string, StageRow>& stored)
      : store_(store), fleet_(fleet), plan_(plan), stored_(stored), paces_(catalog, devices_of(fleet)) {
    if (const PlacementPtr rules = stored_placement(plan.placement)) rules_ = *rules;
  }

  absl::Status fill(v1::Plan* out) {
    LOCUS_RETURN_IF_ERROR(read_runs());
    std::vector<TimeSum> cells(plan_.cells.size());
    std::map<std::string, TimeSum> kinds;
    TimeSum all;
    std::vector<double> trials;
    std::set<std::string> placed;
    std::int64_t cell = -1;
    std::map<std::string, std::optional<ExpectedTime>> times;  // of this cell, by role: its seeds are alike
    for (const PlannedTrial& trial : plan_.trials) {
      if (trial.cell != cell) times.clear();
      cell = trial.cell;
      double seconds = 0;
      for (const PlannedStage& stage : trial.stages) {
        if (!to_run(stage)) continue;
        const auto [known, fresh] = times.try_emplace(stage.role);
        if (fresh) known->second = paces_.of(stage.kind, stage.config_json);
        const auto& time = known->second;
        cells[static_cast<std::size_t>(trial.cell)].add(stage.kind, stage.identity, time);
        kinds[stage.kind].add(stage.kind, stage.identity, time);
        all.add(stage.kind, stage.identity, time);
        if (placed.insert(stage.identity).second && time) seconds += time->seconds;
      }
      if (seconds > 0) trials.push_back(seconds);
    }
    all.fill(out);
    all.list(out->mutable_history());
    for (v1::PlanKind& kind : *out->mutable_kinds()) kinds[kind.kind()].fill(&kind);
    for (int i = 0; i < out->cell_list_size(); ++i) {
      cells[static_cast<std::size_t>(i)].fill(out->mutable_cell_list(i));
      cells[static_cast<std::size_t>(i)].list(out->mutable_cell_list(i)->mutable_history());
    }
    tell_wall_time(all, trials, out);
    for (std::string& warning : capacity_warnings(needs(), fleet_)) out->add_warnings(std::move(warning));
    return absl::OkStatus();
  }

 private:
  static std::vector<std::string> devices_of(const Fleet& fleet) {
    std::vector<std::string> out;
    for (const DeviceSlots& kind : device_slots(fleet)) out.push_back(kind.device);
    return out;
  }

  bool to_run(const PlannedStage& stage) const {
    const auto found = stored_.find(stage.identity);
    return found == stored_.end() || found->second.state != StageState::kSucceeded;
  }

  absl::Status read_runs() {
    std::set<std::string> loads;
    std::int64_t cell = -1;
    std::set<std::string> kinds;  // of this cell: its seeds have one load
    for (const PlannedTrial& trial : plan_.trials) {
      if (trial.cell != cell) kinds.clear();
      cell = trial.cell;
      for (const PlannedStage& stage : trial.stages) {
        if (to_run(stage) && kinds.insert(stage.role).second) loads.insert(load_of(stage.kind, stage.config_json));
      }
    }
    if (loads.empty()) return absl::OkStatus();
    const int limit = std::clamp(static_cast<int>(kRunsRead / loads.size()), kRunsLeast, kRunsMost);
    for (const std::string& load : loads) {
      LOCUS_ASSIGN_OR_RETURN(const auto runs, store_.past_runs(load, limit));
      paces_.add(load, runs);
    }
    return absl::OkStatus();
  }

  void tell_wall_time(const TimeSum& all, const std::vector<double>& trials, v1::Plan* out) const {
    int free = 0;
    for (const DeviceSlots& kind : device_slots(fleet_)) free += kind.free;
    out->set_free_slots(free);
    if (all.empty()) {
      out->set_wall_seconds(0);
      return;
    }
    if (!all.complete() || fleet_.queued > 0) return;
    for (const DeviceSlots& kind : device_slots(fleet_)) {
      if (kind.device != all.device() || kind.free <= 0) continue;
      out->set_free_slots(kind.free);
      if (kind.free >= rules_.devices) out->set_wall_seconds(makespan(trials, kind.free / rules_.devices));
    }
  }

  // What is left of each cell: of its first trial that is not done.
  std::vector<CellNeed> needs() const {
    std::vector<CellNeed> out;
    std::int64_t last = -1;
    for (const PlannedTrial& trial : plan_.trials) {
      if (trial.cell == last) continue;
      const PlannedCell& cell = plan_.cells[static_cast<std::size_t>(trial.cell)];
      CellNeed need{cell.label, {}};
      for (const PlannedStage& stage : trial.stages) {
        if (!to_run(stage)) continue;
        need.stages.push_back(stage.requirements);
        if (stage.kind != "train") continue;
        need.devices = rules_.devices;
        need.memory_bytes = memory_given(rules_);
      }
      if (need.stages.empty()) continue;
      last = trial.cell;
      out.push_back(std::move(need));
    }
    return out;
  }

  Store& store_;
  const Fleet& fleet_;
  const ExperimentPlan& plan_;
  const std::map<std::string, StageRow>& stored_;
  Paces paces_;
  PlacementRules rules_;
};

}  // namespace

absl::Status add_forecast(Store& store, const Catalog& catalog, const Fleet& fleet, const ExperimentPlan& plan,
                          const std::map<std::string, StageRow>& stored, v1::Plan* out) {
  add_costs(plan, out);
  return Forecast(store, catalog, fleet, plan, stored).fill(out);
}

}  // namespace locus::server
