// What waits for a device.
#include "server/application/demand.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/experiment/pace.h"
#include "core/limits.h"
#include "core/scheduling/capacity.h"

namespace locus::server {
namespace {

constexpr Microseconds kEstimatesKept = 60'000'000;      // then runs that ended since count, too
constexpr std::size_t kPastRunsRead = 4'000;             // of all loads together
constexpr int kPastRunsLeast = 20, kPastRunsMost = 400;  // of one

Microseconds microseconds(double seconds) { return static_cast<Microseconds>(seconds * 1e6); }

// What a worker must offer.
struct Asked {
  std::map<std::string, int> revisions;
  bool exclusive = false;
  Labels require = {};
  int devices = 1;
  auto operator<=>(const Asked&) const = default;
};

void add(const QueuedStage& stage, const std::optional<double>& seconds, v1::DemandGroup* to) {
  to->set_queued(to->queued() + 1);
  to->set_oldest_wait_seconds(std::max(to->oldest_wait_seconds(), static_cast<double>(stage.waited) / 1e6));
  to->set_workers(std::max(to->workers(), stage.workers));
  to->set_memory_bytes(std::max(to->memory_bytes(), stage.memory_bytes));
  if (seconds) {
    to->set_device_seconds(to->device_seconds() + *seconds * stage.devices);
  } else {
    to->set_without_estimate(to->without_estimate() + 1);
  }
}

}  // namespace

absl::Status DemandDesk::estimate(const std::vector<StageSpan>& stages, const Fleet& fleet) {
  std::set<std::string> loads;
  for (const StageSpan& stage : stages) {
    if (!stage.kind.empty()) loads.insert(load_of(stage.kind, stage.config_json));
  }
  if (loads.empty()) return absl::OkStatus();
  std::vector<std::string> devices;
  for (const DeviceSlots& kind : device_slots(fleet)) devices.push_back(kind.device);
  const auto catalog = catalogs_.current();
  Paces paces(*catalog, std::move(devices));
  const int limit = std::clamp(static_cast<int>(kPastRunsRead / loads.size()), kPastRunsLeast, kPastRunsMost);
  for (const std::string& load : loads) {
    LOCUS_ASSIGN_OR_RETURN(const auto runs, store_.past_runs(load, limit));
    paces.add(load, runs);
  }
  for (const StageSpan& stage : stages) {
    if (stage.kind.empty()) continue;
    Expected& expected = expected_[stage.id];
    if (const auto time = paces.of(stage.kind, stage.config_json)) expected.seconds = time->seconds;
    if (stage.kind == "train") expected.units = paces.amount(stage.kind, stage.config_json).value_or(0);
  }
  return absl::OkStatus();
}

void DemandDesk::forget_old_estimates() {
  const Microseconds now = clock_.steady();
  if (now - estimated_ <= kEstimatesKept) return;
  expected_.clear();
  estimated_ = now;
}

std::optional<double> DemandDesk::seconds_of(const StageSpan& span) const {
  const Expected& whole = expected_.at(span.id);
  if (!whole.seconds || whole.units <= 0) return whole.seconds;
  const double stop = span.until_step > 0 ? std::min(whole.units, static_cast<double>(span.until_step)) : whole.units;
  const double left = std::max(0.0, stop - static_cast<double>(span.resume_step));
  return *whole.seconds * left / whole.units;
}

absl::StatusOr<v1::Demand> DemandDesk::get() {
  const std::lock_guard lock(mutex_);
  forget_old_estimates();
  struct Seen {
    std::vector<QueuedStage> stages;
    Fleet fleet;
  };
  const Seen seen = coordinator_.inspect<Seen>([this](const Coordinator::LiveState& live) {
    return Seen{live.scheduler.queued(live.now, [this](StageId id) { return !expected_.contains(id); }),
                live.scheduler.fleet()};
  });
  std::vector<StageSpan> spans;
  for (const QueuedStage& stage : seen.stages) spans.push_back(stage.span);
  LOCUS_RETURN_IF_ERROR(estimate(spans, seen.fleet));
  std::map<Asked, v1::DemandGroup> groups;
  v1::DemandGroup all;
  v1::Demand out;
  for (const QueuedStage& stage : seen.stages) {
    if (stage.bounded) {
      out.set_bounded(out.bounded() + 1);
      continue;
    }
    Asked asked{.revisions = {}, .require = stage.require, .devices = stage.devices};
    if (stage.asks) asked.revisions = stage.asks->revisions, asked.exclusive = stage.asks->exclusive;
    const std::optional<double> seconds = seconds_of(stage.span);
    add(stage, seconds, &groups[asked]);
    add(stage, seconds, &all);
  }
  for (auto& [asked, group] : groups) {
    group.set_exclusive(asked.exclusive);
    group.set_devices(asked.devices);
    for (const auto& [label, pattern] : asked.require) (*group.mutable_require())[label] = pattern;
    for (const auto& [item, revision] : asked.revisions) (*group.mutable_revisions())[item] = revision;
    *out.add_groups() = std::move(group);
  }
  std::stable_sort(out.mutable_groups()->begin(), out.mutable_groups()->end(),
                   [](const v1::DemandGroup& a, const v1::DemandGroup& b) {
                     return a.oldest_wait_seconds() > b.oldest_wait_seconds();
                   });
  if (out.groups_size() > kPageSizeMost) {
    out.set_groups_left_out(out.groups_size() - kPageSizeMost);
    out.mutable_groups()->DeleteSubrange(kPageSizeMost, out.groups_left_out());
  }
  out.set_queued(all.queued());
  out.set_oldest_wait_seconds(all.oldest_wait_seconds());
  out.set_device_seconds(all.device_seconds());
  out.set_without_estimate(all.without_estimate());
  return out;
}

absl::Status DemandDesk::tell_scheduler() {
  const std::lock_guard lock(mutex_);
  forget_old_estimates();
  struct Seen {
    std::vector<StageSpan> spans;
    Fleet fleet;
  };
  const Seen seen = coordinator_.inspect<Seen>([this](const Coordinator::LiveState& live) {
    if (!live.scheduler.goes_by_estimates()) return Seen{};
    return Seen{live.scheduler.spans([this](StageId id) { return !expected_.contains(id); }), live.scheduler.fleet()};
  });
  if (seen.spans.empty()) return absl::OkStatus();
  LOCUS_RETURN_IF_ERROR(estimate(seen.spans, seen.fleet));
  StagesEstimated event;
  for (const StageSpan& span : seen.spans) event.busy[span.id] = microseconds(seconds_of(span).value_or(0));
  coordinator_.post_unanswered(std::move(event));
  return absl::OkStatus();
}

}  // namespace locus::server
