// What people may see of the living state: workers, progress, and why a stage is where it is.
#include "core/scheduling/view.h"

#include <algorithm>

#include "core/base/json.h"
#include "core/experiment/required_code.h"

namespace locus {
namespace {

std::string progress_text(const StatedAttempt& progress) {
  if (progress.steps <= 0) return "";
  return ", step " + std::to_string(progress.step) + " of " + std::to_string(progress.steps);
}

}  // namespace

// "14:05 UTC": the core knows no time zones.
std::string Scheduler::View::clock_text(Microseconds wall) {
  const std::int64_t minute = (wall / 60'000'000) % (24 * 60);
  const auto two = [](std::int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  return two(minute / 60) + ":" + two(minute % 60) + " UTC";
}

std::vector<WorkerView> Scheduler::View::workers(Now now) const {
  std::vector<WorkerView> views;
  for (const auto& [id, worker] : records_.workers_) {
    WorkerView view{.id = id,
                    .name = worker.row.name,
                    .state = to_string(worker.row.state),
                    .silent_for = std::max<Microseconds>(0, now.steady - worker.heard),
                    .running = {},
                    .ends_in = {}};
    if (worker.connected && Records::ends(worker))
      view.ends_in = std::max<Microseconds>(0, Records::time_left(worker, now));
    if (worker.row.state != WorkerState::kOffline && (!worker.connected || view.silent_for > records_.policy_.lease)) {
      view.state = "silent";
    }
    for (const auto& [item, revision] : worker.revisions) {
      const auto [extension, digest] = extension_of_requirement(item);
      if (worker.connected && !extension.empty()) view.extensions.emplace_back(extension, digest);
    }
    for (StageId stage : worker.running) view.running.push_back(records_.stages_.at(stage).running->progress);
    views.push_back(std::move(view));
  }
  return views;
}

Fleet Scheduler::View::fleet() const {
  Fleet out;
  out.queued = records_.ready_stages_;
  for (const auto& [id, worker] : records_.workers_) {
    if (!worker.connected) continue;
    if (worker.row.state == WorkerState::kDraining) ++out.draining;
    if (worker.row.state != WorkerState::kActive) continue;
    out.workers.push_back({worker.row.name, worker.row.slots_json, worker.revisions, worker.slots,
                           records_.slots_busy(worker), Records::devices_together(worker),
                           Records::devices_of_a_kind(worker), Records::why_apart(worker)});
  }
  return out;
}

std::optional<StatedAttempt> Scheduler::View::progress(StageId id) const {
  const Stage* stage = records_.find_stage(id);
  if (stage == nullptr || !stage->running) return std::nullopt;
  return stage->running->progress;
}

std::optional<StageState> Scheduler::View::stage_state(StageId id) const {
  const Stage* stage = records_.find_stage(id);
  if (stage == nullptr) return std::nullopt;
  return stage->row.state;
}

std::string Scheduler::View::explain(StageId id, Now now) const {
  const Stage* stage = records_.find_stage(id);
  if (stage == nullptr) return "";
  if (const auto gone = records_.unreferenced_.find(id); gone != records_.unreferenced_.end())
    return gone->second->reason + ", so it is about to be cancelled";
  switch (stage->row.state) {
    case StageState::kBlocked:
      return explain_blocked(*stage);
    case StageState::kQueued:
      return explain_queued(*stage, now) + explain_way(*stage) + explain_exchange(*stage, now);
    case StageState::kRunning:
      return explain_running(*stage, now);
    default:
      return "";
  }
}

std::string Scheduler::View::explain_blocked(const Stage& stage) const {
  std::string text;
  for (const StageInput& input : stage.row.inputs) {
    const Stage* source = input.artifact_sha256.empty() ? records_.find_stage(input.from_stage) : nullptr;
    if (source == nullptr) continue;
    text += (text.empty() ? "waits for the " : " and the ") + input.slot + " of stage " +
            std::to_string(input.from_stage) + " (" + source->row.kind + ", " + to_string(source->row.state);
    if (source->running) text += progress_text(source->running->progress);
    text += ")";
  }
  return text;
}

std::string Scheduler::View::explain_queued(const Stage& stage, Now now) const {
  if (records_.ready_places(stage).empty()) {
    for (const auto& [reference, until] : stage.references) {
      const auto experiment = records_.experiments_.find(reference.first);
      if (experiment == records_.experiments_.end() || experiment->second.row.reason.empty()) continue;
      return "experiment " + experiment->second.row.name + " is " + experiment->second.row.reason +
             "; resume it when that is fixed";
    }
    return "every experiment that references it is paused: resume one of them";
  }
  if (stage.not_before > now.steady) {
    const int budget = rule_of(stage.row.failure_class).infrastructure
                           ? records_.policy_.failures
                           : budget_of(stage.row.failure_class, records_.policy_, records_.untried(stage.requirement));
    std::string text = "tries again in " + Records::duration_text(stage.not_before - now.steady) + " (" +
                       std::to_string(stage.row.failures) + " of " + std::to_string(budget) + " failures, " +
                       std::to_string(stage.row.faults) + " of " + std::to_string(records_.policy_.faults) +
                       " infrastructure faults)";
    if (!stage.row.reason.empty()) text += ": " + stage.row.reason;
    return text;
  }
  if (!records_.intake_closed_.empty())
    return "waits for the server, which starts nothing new: " + records_.intake_closed_;
  std::string why, dataset;
  int present = 0, drained = 0, lacking = 0, able = 0;
  bool placed = false;
  for (const auto& [id, worker] : records_.workers_) {
    if (!worker.connected) continue;
    if (worker.row.state == WorkerState::kDraining) ++drained;
    if (worker.row.state != WorkerState::kActive) continue;
    ++present;
    const auto missing = first_missing(records_.requirements_[stage.requirement], worker.revisions);
    if (!missing) {
      ++able;
      placed = placed || meets_one(worker, stage);
      continue;
    }
    if (why.empty()) why = worker.row.name + " lacks " + *missing;
    const auto data = missing_dataset(records_.requirements_[stage.requirement], worker.revisions);
    if (data && ++lacking == 1) dataset = *data;
  }
  if (placed) {
    const std::string small = explain_size(stage);
    return small.empty() ? explain_slots(stage, now) : small;
  }
  if (able > 0) return explain_placement(stage, able);
  if (present > 0 && lacking == present) return explain_data(dataset);
  if (present == 0 && drained > 0) {
    return "waits for a worker: " + std::to_string(drained) + (drained == 1 ? " is" : " are") +
           " connected and draining; undrain one, or start another";
  }
  if (present == 0) return "waits for a worker: none is connected; start one with `locus worker --server ADDRESS`";
  return "waits for a worker that can run it: " + why;
}

// No connected worker holds the dataset.
std::string Scheduler::View::explain_data(const std::string& dataset) const {
  const std::size_t mark = dataset.find(kCopyMark);
  const std::string name = dataset.substr(0, mark);
  std::string text = "no worker holds the dataset " + name;
  if (mark != std::string::npos) text += " with the manifest " + dataset.substr(mark + 1);
  const char* before = ": ";
  for (const auto& [id, worker] : records_.workers_) {
    if (!worker.connected || worker.row.state != WorkerState::kActive) continue;
    const Json data = Json::parse(worker.row.data_json, nullptr, false);
    if (!data.is_object() || !data.contains("missing")) continue;
    const std::string otherwise =
        mark == std::string::npos ? "it is missing" : "is another copy, or one that nobody has read through";
    text += before + std::string("on ") + worker.row.name + " " + data["missing"].value(name, otherwise);
    before = "; ";
  }
  if (mark != std::string::npos) text += "; `locus data verify " + name + "` on a worker's machine says which it has";
  return text + "; install it there, or start the worker with the --data-root that holds " + name + "/";
}

// At least one connected worker can run it.
std::string Scheduler::View::explain_slots(const Stage& stage, Now now) const {
  if (std::string text = explain_bounds(stage); !text.empty()) return text;
  std::size_t slots = 0, busy = 0, able = 0;
  std::string name;
  for (const auto& [id, worker] : records_.workers_) {
    if (!worker.connected || !records_.takes(worker, stage)) continue;
    ++able;
    slots += worker.slots;
    busy += records_.slots_busy(worker);
    name = worker.row.name;
  }
  if (std::string text = explain_late(stage, now); !text.empty()) return text;
  if (records_.requirements_.exclusive(stage.requirement)) {
    if (std::string text = explain_alone(stage, now); !text.empty()) return text;
  } else if (records_.fewest_devices(stage) > 1) {
    return explain_several(stage, now);
  } else if (busy < slots) {
    if (std::string text = explain_shut(stage, now); !text.empty()) return text;
  }
  const std::string place = explain_place(stage);
  if (slots == 0 || busy < slots) return "waits for a free slot: " + place;
  std::string many = "all " + std::to_string(slots) + " slots";
  if (slots <= 2) many = slots == 1 ? "the slot" : "both slots";
  const std::string whose = able == 1 ? "of " + name + ", the only worker that can run it,"
                                      : "of the " + std::to_string(able) + " workers that can run it";
  std::string text = "waits for a free slot: " + many + " " + whose + (slots == 1 ? " is busy" : " are busy");
  if (const auto until = until_free_slot(stage, now)) text += " until about " + clock_text(now.wall + *until);
  return text + "; " + place;
}

// From the progress stated so far.
std::optional<Microseconds> Scheduler::View::time_left(const Stage& stage, Now now) const {
  if (!stage.running) return std::nullopt;
  const Running& running = *stage.running;
  const std::int64_t done = running.progress.step - running.first_step;
  const std::int64_t stop = Records::stop_point(stage.references);
  const std::int64_t last = stop > 0 ? std::min(stop, running.progress.steps) : running.progress.steps;
  const std::int64_t left = last - running.progress.step;
  const Microseconds spent = running.listed - running.first_at;
  if (running.first_at == 0 || done <= 0 || left < 0 || spent <= 0) return std::nullopt;
  const double per_step = static_cast<double>(spent) / static_cast<double>(done);
  const auto whole = static_cast<Microseconds>(per_step * static_cast<double>(left));
  return std::max<Microseconds>(0, whole - (now.steady - running.listed));
}

std::optional<Microseconds> Scheduler::View::until_free_slot(const Stage& stage, Now now) const {
  const bool alone = records_.requirements_.exclusive(stage.requirement);
  const auto wanted = static_cast<std::size_t>(records_.fewest_devices(stage));
  std::optional<Microseconds> soonest;
  for (const auto& [id, worker] : records_.workers_) {
    if (!worker.connected || !records_.takes(worker, stage)) continue;
    std::size_t free = worker.slots - records_.slots_busy(worker);
    if (worker.running.empty() || (!alone && free >= wanted)) return 0;
    std::vector<std::pair<Microseconds, std::size_t>> ends;  // and how many slots are free then
    for (const StageId running : worker.running) {
      const Stage& other = records_.stages_.at(running);
      if (const auto left = time_left(other, now)) ends.emplace_back(*left, other.running->slots.size());
    }
    if (ends.empty()) continue;
    std::sort(ends.begin(), ends.end());
    auto last =
        ends.begin();  // which makes enough of them free; for a stage that runs alone, and if none does, the last
    for (free += last->second; std::next(last) != ends.end() && (alone || free < wanted); free += last->second) ++last;
    soonest = std::min(soonest.value_or(last->first), last->first);
  }
  return soonest;
}

std::optional<Microseconds> Scheduler::View::expected_after(StageId id, Now now) const {
  const Stage* stage = records_.find_stage(id);
  if (stage == nullptr) return std::nullopt;
  if (stage->row.state == StageState::kRunning) return time_left(*stage, now);
  if (stage->row.state != StageState::kQueued || records_.ready_places(*stage).empty()) return std::nullopt;
  if (stage->not_before > now.steady) return stage->not_before - now.steady;
  return records_.intake_closed_.empty() ? until_free_slot(*stage, now) : std::nullopt;
}

std::string Scheduler::View::explain_running(const Stage& stage, Now now) const {
  const Worker& worker = records_.workers_.at(stage.running->worker);
  std::string text = "runs as attempt " + std::to_string(stage.row.attempt) + " on " + worker.row.name +
                     progress_text(stage.running->progress);
  if (const auto left = time_left(stage, now)) text += ", done at about " + clock_text(now.wall + *left);
  const std::int64_t stop = Records::stop_point(stage.references);
  if (stop > 0) text += "; it parks at step " + std::to_string(stop) + ", as far as its search wants it for now";
  if (stop == kNoFurther) text += "; it parks at its next validation, since nobody wants it to go further";
  if (stage.running->halt) text += explain_halt(*stage.running->halt, now);
  if (worker.row.drained() && worker.row.drain == Drain::kStopWork)
    text += "; it is being saved and stopped, since its worker drains";
  const Microseconds silent = now.steady - worker.heard;
  if (silent > records_.policy_.lease) {
    text += "; the worker has been silent for " + Records::duration_text(silent) + " and is given " +
            Records::duration_text(worker.heard + records_.policy_.grace - now.steady) + " to come back";
  }
  return text;
}

// Where a queued stage of a search begins and how far it goes; empty for others.
std::string Scheduler::View::explain_way(const Stage& stage) const {
  if (!stage.resume && stage.row.attempt > 0 && stage.not_before == 0 && !stage.row.reason.empty())
    return "; " + stage.row.reason;
  const std::int64_t stop = Records::stop_point(stage.references);
  const bool parked = stage.resume && stage.parked_at >= 0;
  if (stop <= 0 && !parked) return "";
  std::string text = stage.resume ? "; it goes on from step " + std::to_string(stage.resume->step) : "; it goes";
  return text + (stop > 0 ? " to step " + std::to_string(stop) : " to its end");
}

// Of a queued stage that runs alone; empty when others like it come first.
std::string Scheduler::View::explain_alone(const Stage& stage, Now now) const {
  const Reservations reserved = records_.reservations(records_.turns());
  const auto mine = std::find_if(reserved.begin(), reserved.end(),
                                 [&](const auto& entry) { return entry.second.turn.key.stage == stage.row.id; });
  if (mine == reserved.end()) return "";
  const Worker& worker = records_.workers_.at(mine->first.first);
  const std::string& name = worker.row.name;
  const std::vector<const Stage*> busy = records_.running_on({worker.row.id, worker.device(mine->first.second)});
  std::string text = "runs alone on its device: ";
  if (busy.empty()) return text + name + " is empty and kept free for it until it asks for work with every slot";
  text += "waits until " + name + " is empty, where stage " + std::to_string(busy.front()->row.id) + " (" +
          busy.front()->row.kind + ") still runs";
  if (busy.size() > 1) text += " and " + std::to_string(busy.size() - 1) + " more";
  if (const auto until = until_free_slot(stage, now)) text += " until about " + clock_text(now.wall + *until);
  return text + "; nothing that comes after it is started there meanwhile";
}

// Of a stage that finds free slots it may not have; empty when there is one it may.
std::string Scheduler::View::explain_shut(const Stage& stage, Now now) const {
  const std::vector<Lane> order = records_.turns();
  const std::optional<Turn> turn = records_.turn_of(stage, order);
  if (!turn) return "";
  const Reservations reserved = records_.reservations(order);
  std::string text;
  for (const auto& [id, worker] : records_.workers_) {
    if (!worker.connected || !records_.takes(worker, stage)) continue;
    if (!records_.shut(worker, *turn, reserved)) return "";
    for (const StageId running : worker.running) {
      const Stage& other = records_.stages_.at(running);
      if (!records_.requirements_.exclusive(other.requirement)) continue;
      text = "waits for a free slot: stage " + std::to_string(running) + " (" + other.row.kind + ") runs alone on " +
             worker.row.name;
    }
    for (const auto& [slot, kept] : reserved) {
      if (slot.first != id || !text.empty()) continue;
      const StageId first = kept.turn.key.stage;
      if (first == stage.row.id) continue;  // for another who wants it, with more devices
      const int devices = records_.requirements_.devices(kept.turn.requirement);
      text = "waits for a free slot: " + worker.row.name + " is kept free for stage " + std::to_string(first) + " (" +
             records_.stages_.at(first).row.kind + "), which " +
             (devices > 1 ? "takes " + std::to_string(devices) + " devices together" : "runs alone") +
             " and comes before it" + explain_gap(stage, kept, reserved, now);
    }
  }
  return text;
}

}  // namespace locus
