// What people may see of the scheduler's living state: workers, progress, and why a stage is where it is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/scheduling/records.h"

namespace locus {

// As the members of Scheduler of the same names. Reads the records, which must outlive it, and cannot change them.
class Scheduler::View {
 public:
  explicit View(const Records& records) : records_(records) {}

  std::vector<WorkerView> workers(Now now) const;
  Fleet fleet() const;
  std::vector<QueuedStage> queued(Now now, const std::function<bool(StageId)>& describe) const;
  bool goes_by_estimates() const;
  std::vector<StageSpan> spans(const std::function<bool(StageId)>& describe) const;
  std::vector<AccountView> accounts(Now now) const;
  std::optional<StatedAttempt> progress(StageId stage) const;
  std::optional<StageState> stage_state(StageId stage) const;
  std::string explain(StageId stage, Now now) const;
  std::optional<Microseconds> expected_after(StageId stage, Now now) const;

 private:
  using Stage = Records::Stage;
  using Worker = Records::Worker;
  using Running = Records::Running;
  using Reservations = Records::Reservations;

  std::string explain_blocked(const Stage& stage) const;
  std::string explain_queued(const Stage& stage, Now now) const;
  std::string explain_running(const Stage& stage, Now now) const;
  std::string explain_way(const Stage& stage) const;
  std::string explain_data(const std::string& dataset) const;
  std::string explain_slots(const Stage& stage, Now now) const;
  std::string explain_size(const Stage& stage) const;
  static std::string explain_halt(const Records::Halt& halt, Now now);
  std::string explain_exchange(const Stage& stage, Now now) const;
  std::string explain_several(const Stage& stage, Now now) const;
  std::string explain_alone(const Stage& stage, Now now) const;
  std::string explain_shut(const Stage& stage, Now now) const;
  std::string explain_gap(const Stage& stage, const Records::Kept& kept, const Reservations& reserved, Now now) const;
  std::string explain_late(const Stage& stage, Now now) const;
  bool meets_one(const Worker& worker, const Stage& stage) const;
  std::string explain_placement(const Stage& stage, int able) const;
  std::string explain_kind(const Stage& stage) const;
  std::string explain_bounds(const Stage& stage) const;
  std::string explain_place(const Stage& stage) const;
  static std::string clock_text(Microseconds wall);
  StageSpan span_of(const Stage& stage, const std::function<bool(StageId)>& describe) const;
  struct Offer {
    int workers = 0;          // connected ones that could run it
    std::int64_t weight = 0;  // that it would hold of them, at least
  };
  Offer offer_for(int requirement) const;
  std::optional<Microseconds> time_left(const Stage& stage, Now now) const;
  std::optional<Microseconds> until_free_slot(const Stage& stage, Now now) const;

  const Records& records_;
};

}  // namespace locus
