// The watching store: see ledger.h.
#include "tests/simulation/ledger.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/json.h"

namespace locus::simulation {
namespace {

std::string stage_text(StageId id) { return "stage " + std::to_string(id); }

bool same_value(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool allowed(StageState from, StageState to, bool submission) {
  using enum StageState;
  switch (from) {
    case kBlocked:
      return to == kQueued || to == kCancelled || to == kBlocked;
    case kQueued:
      return to == kRunning || to == kCancelled || to == kParked;
    case kRunning:
      return to != kBlocked && to != kRunning;
    case kSucceeded:
      return false;
    default:
      return submission && (to == kQueued || to == kBlocked);
  }
}

}  // namespace

double loss_at(const std::string& config_json, std::int64_t step) {
  if (step % 7 == 0) return std::numeric_limits<double>::quiet_NaN();
  std::uint64_t name = 0;
  for (const char c : config_json) name = name * 1099511628211u + static_cast<unsigned char>(c);
  Random drawn(name);
  const double last = 1 + static_cast<double>(drawn.between(0, 1000)) / 1000;
  return last + static_cast<double>(drawn.between(0, 2000)) / 1000 / static_cast<double>(step);
}

std::int64_t point_tag(std::int64_t attempt, std::int64_t seq) { return attempt * 1'000'000 + seq; }

absl::Status Ledger::apply(std::span<const Mutation> mutations, Microseconds now_wall_us) {
  std::vector<StageId> going;
  for (const Mutation& mutation : mutations) {
    if (const auto* purge = std::get_if<PurgeDeleted>(&mutation)) {
      if (const auto planned = store_->next_purge(purge->trials); planned.ok()) going = planned->stages;
    }
  }
  if (absl::Status status = store_->apply(mutations, now_wall_us); !status.ok()) return status;
  wall_ = now_wall_us;
  submission_ = std::any_of(mutations.begin(), mutations.end(), [](const Mutation& m) {
    const auto* moved = std::get_if<SetStageState>(&m);
    return std::holds_alternative<SaveExperiment>(m) || (moved != nullptr && moved->forgive);
  });
  for (const Mutation& mutation : mutations) {
    std::visit([this](const auto& m) { enter(m); }, mutation);
    moved_ = moved_ || std::holds_alternative<EndAttempt>(mutation) ||
             std::holds_alternative<SaveExperiment>(mutation) || std::holds_alternative<SetExperimentState>(mutation) ||
             std::holds_alternative<AppendDecisions>(mutation);
  }
  enter_deletion(going);
  return absl::OkStatus();
}

void Ledger::enter_deletion(const std::vector<StageId>& gone) {
  for (const StageId id : gone) {
    const auto record = stages_.find(id);
    if (record == stages_.end()) continue;
    for (const auto& [number, attempt] : record->second.attempts) {
      if (attempt.state == AttemptState::kRunning) throw Violation(5, stage_text(id) + " was deleted while it ran");
      gone_[{id, number}] = attempt;
      acknowledged_.erase({id, number});
    }
    stages_.erase(record);
    dirty_.erase(id);
  }
}

void Ledger::enter_new(const std::vector<StageRow>& stages) {
  for (const StageRow& row : stages) {
    if (stages_.contains(row.id)) throw Violation(5, stage_text(row.id) + " was created twice");
    stages_[row.id] = {.kind = row.kind, .config_json = row.config_json, .state = row.state, .attempts = {}};
    dirty_.insert(row.id);
  }
}

void Ledger::enter(const SaveExperiment& mutation) {
  places_.enter(mutation);
  enter_new(mutation.stages);
  for (const TrialStageRow& link : mutation.trial_stages) dirty_.insert(link.stage_id);
}

void Ledger::enter(const ResolveTrials& mutation) {
  enter_new(mutation.stages);
  for (const TrialStageRow& link : mutation.trial_stages) dirty_.insert(link.stage_id);
  searches_.check_links(mutation.id, *store_);
}

void Ledger::move(StageId id, StageState from, StageState to) {
  StageRecord& record = stages_.at(id);
  if (record.state != from || !allowed(from, to, submission_)) {
    throw Violation(5, stage_text(id) + " went from " + to_string(record.state) + " (" + to_string(from) +
                           " was meant) to " + to_string(to));
  }
  record.state = to;
  if (terminal(to)) places_.forget(id);
  dirty_.insert(id);
  world_.trace("  ", stage_text(id), " is ", to_string(to));
}

void Ledger::enter(const SetStageState& mutation) {
  exchanges_.moved(mutation.stage_id);
  if (mutation.attempt != stages_.at(mutation.stage_id).attempt) {
    throw Violation(3, stage_text(mutation.stage_id) + " was moved under an old token");
  }
  move(mutation.stage_id, mutation.from, mutation.to);
}

// Invariant 11.
void Ledger::check_alone(const GrantAttempt& grant) const {
  const StageId id = grant.stage_id;
  const std::vector<SlotPlace> places = places_of(workers_.at(grant.worker_id));
  const auto beside = [&](int slot, int other) {
    return places[static_cast<std::size_t>(slot)] == places[static_cast<std::size_t>(other)];
  };
  for (const auto& [other, record] : stages_) {
    if (other == id || record.state != StageState::kRunning) continue;
    const AttemptRecord& attempt = record.attempts.at(record.attempt);
    if (attempt.worker != grant.worker_id) continue;
    const bool one_device = std::ranges::any_of(grant.slots, [&](int slot) {
      return std::ranges::any_of(attempt.slots, [&](int theirs) { return beside(slot, theirs); });
    });
    if (one_device && (record.alone() || stages_.at(id).alone()))
      throw Violation(11, stage_text(id) + " was granted beside " + stage_text(other) + ", and one runs alone");
  }
}

// Invariant 14.
void Ledger::check_data(StageId id, WorkerId worker) {
  const std::string& says = workers_.at(worker).data_json;
  const std::string needs = store_->stage(id)->config_json;
  if (says.empty() || needs.find("\"dataset\":\"d\"") == std::string::npos) return;
  if (says.find("\"d\"") == std::string::npos)
    throw Violation(14, stage_text(id) + " was granted to a worker that does not hold its dataset");
}

ShareWatch::Waiting Ledger::waiting(StageId id, const StageRecord& record) const {
  // Not every worker holds the dataset d, or knows the prior c.
  const bool anywhere = record.config_json.find("\"dataset\":\"d\"") == std::string::npos &&
                        record.config_json.find("\"prior\":\"c\"") == std::string::npos;
  const bool estimated = places_.estimate(id) > 0;
  return {id, record.state == StageState::kQueued && record.attempt == 0 && anywhere && !estimated, record.alone(),
          estimated};
}

// Invariants 26, 27 and 29.
void Ledger::check_share(const GrantAttempt& mutation) {
  std::vector<ShareWatch::Waiting> others;
  for (const auto& [id, record] : stages_) others.push_back(waiting(id, record));
  shares_.check_grant(mutation, waiting(mutation.stage_id, stages_.at(mutation.stage_id)), others,
                      workers_.at(mutation.worker_id), *store_);
  shares_.check_labels(mutation, *store_);
}

// Invariants 35 to 37.
void Ledger::check_places(const GrantAttempt& grant) {
  std::vector<PlaceWatch::Queued> queued;
  for (const auto& [id, record] : stages_) {
    if (record.state == StageState::kQueued) queued.push_back({id, record.kind, record.attempt == 0});
  }
  places_.check_grant(grant, queued, exchanges_, *store_, {world_.now(), wall_});
}

void Ledger::enter(const GrantAttempt& mutation) {
  StageRecord& record = stages_.at(mutation.stage_id);
  if (mutation.attempt != record.attempt + 1) {
    throw Violation(3, stage_text(mutation.stage_id) + " jumped to attempt " + std::to_string(mutation.attempt));
  }
  if (workers_.at(mutation.worker_id).drained())
    throw Violation(5, stage_text(mutation.stage_id) + " was granted to a worker that drains");
  check_data(mutation.stage_id, mutation.worker_id);
  searches_.check_grant(mutation, *store_);
  check_alone(mutation);
  check_share(mutation);
  check_places(mutation);
  exchanges_.enter(mutation, record.kind, workers_.at(mutation.worker_id), *store_);
  move(mutation.stage_id, StageState::kQueued, StageState::kRunning);
  record.attempt = mutation.attempt;
  record.attempts[mutation.attempt] = {
      .worker = mutation.worker_id, .slots = mutation.slots, .resume_step = mutation.resume_step, .points = {}};
}

void Ledger::enter(const EndAttempt& mutation) {
  StageRecord& record = stages_.at(mutation.stage_id);
  AttemptRecord& attempt = record.attempts[mutation.attempt];
  if (mutation.attempt != record.attempt || attempt.state != AttemptState::kRunning) {
    throw Violation(3, stage_text(mutation.stage_id) + ": attempt " + std::to_string(mutation.attempt) +
                           " was ended, which is not the current one");
  }
  move(mutation.stage_id, StageState::kRunning, mutation.stage_state);
  shares_.enter(mutation);
  exchanges_.enter(mutation);
  places_.enter(mutation);
  record.failure_class = mutation.failure_class;
  attempt.state = mutation.outcome;
  attempt.failure_class = mutation.failure_class;
  attempt.ended_at = world_.now();
}

void Ledger::enter(const CommitCheckpoint& mutation) {
  const StageRecord& record = stages_.at(mutation.stage_id);
  if (mutation.attempt != record.attempt || record.state != StageState::kRunning) {
    throw Violation(3, stage_text(mutation.stage_id) + " took a checkpoint under the old token " +
                           std::to_string(mutation.attempt));
  }
  exchanges_.enter(mutation);
  dirty_.insert(mutation.stage_id);
}

absl::StatusOr<std::int64_t> Ledger::append(const PointAppend& append, Microseconds now_wall_us) {
  const auto highest = store_->append(append, now_wall_us);
  if (!highest.ok()) return highest;
  StageRecord& record = stages_.at(append.stage_id);
  const std::string where = stage_text(append.stage_id) + ", attempt " + std::to_string(append.attempt);
  if (append.attempt != record.attempt || record.state != StageState::kRunning) {
    throw Violation(3, where + ": points were stored under an old token");
  }
  std::vector<Point>& points = record.attempts[append.attempt].points;
  for (std::size_t i = 0; i < append.points.size(); ++i) {
    const auto seq = append.first_seq + static_cast<std::int64_t>(i);
    if (append.points.images[i] != point_tag(append.attempt, seq)) {
      throw Violation(2, where + ": point " + std::to_string(seq) + " was not made by this attempt");
    }
    const auto have = static_cast<std::int64_t>(points.size());
    if (seq > have + 1) throw Violation(7, where + ": points were stored past a gap");
    if (seq <= have) continue;
    points.push_back({append.points.step[i], append.points.epoch[i], append.points.images[i], append.points.time_us[i],
                      append.points.value[i]});
  }
  if (*highest != static_cast<std::int64_t>(points.size())) {
    throw Violation(
        7, where + ": the mark is " + std::to_string(*highest) + ", stored are " + std::to_string(points.size()));
  }
  dirty_.insert(append.stage_id);
  return highest;
}

void Ledger::acknowledged(StageId stage, std::int64_t attempt, std::int64_t seq) {
  if (!stages_.contains(stage)) return;  // deleted since
  std::int64_t& mark = acknowledged_[{stage, attempt}];
  mark = std::max(mark, seq);
  dirty_.insert(stage);
}

const AttemptRecord* Ledger::attempt(StageId stage, std::int64_t attempt) const {
  auto record = stages_.find(stage);
  if (record == stages_.end()) {
    const auto gone = gone_.find({stage, attempt});
    return gone == gone_.end() ? nullptr : &gone->second;
  }
  auto found = record->second.attempts.find(attempt);
  return found == record->second.attempts.end() ? nullptr : &found->second;
}

void Ledger::check_stage(StageId id) {
  const StageRecord& record = stages_.at(id);
  const StageRow row = store_->stage(id).value();
  if (row.state != record.state || row.attempt != record.attempt) {
    throw Violation(5, stage_text(id) + " is stored as " + to_string(row.state) + ", attempt " +
                           std::to_string(row.attempt) + "; accepted were " + to_string(record.state) + ", " +
                           std::to_string(record.attempt));
  }
  check_attempts(id, record);
  check_files(id);
  searches_.check_parked(id, *store_);
}

void Ledger::check_attempts(StageId id, const StageRecord& record) {
  const std::vector<AttemptRow> rows = store_->attempts(id).value();
  if (static_cast<std::int64_t>(rows.size()) != record.attempt) {
    throw Violation(3, stage_text(id) + " has " + std::to_string(rows.size()) + " attempts, its token is " +
                           std::to_string(record.attempt));
  }
  for (const AttemptRow& row : rows) {
    const AttemptRecord& known = record.attempts.at(row.number);
    const bool current = row.number == record.attempt && record.state == StageState::kRunning;
    if ((row.state == AttemptState::kRunning) != current || row.state != known.state) {
      throw Violation(3, stage_text(id) + ": attempt " + std::to_string(row.number) + " is " + to_string(row.state));
    }
    if (row.acked_seq != static_cast<std::int64_t>(known.points.size())) {
      throw Violation(7, stage_text(id) + ": attempt " + std::to_string(row.number) + " has the mark " +
                             std::to_string(row.acked_seq));
    }
    auto promised = acknowledged_.find({id, row.number});
    if (promised != acknowledged_.end() && promised->second > row.acked_seq) {
      throw Violation(1, stage_text(id) + ": attempt " + std::to_string(row.number) + " was promised " +
                             std::to_string(promised->second) + " points, stored are " + std::to_string(row.acked_seq));
    }
  }
}

void Ledger::check_files(StageId id) {
  const std::vector<CheckpointRow> checkpoints = store_->checkpoints(id).value();
  for (const CheckpointRow& row : checkpoints) {
    if (!blobs_.contains(row.sha256)) throw Violation(8, stage_text(id) + ": no file for checkpoint " + row.sha256);
  }
  const StageRow row = store_->stage(id).value();
  for (const StageOutput& output : row.outputs) {
    if (!blobs_.contains(output.sha256)) throw Violation(8, stage_text(id) + ": no file for its output");
  }
}

// Attempts in turn; each hides what its predecessors did past the step it resumed from.
std::vector<Point> Ledger::expected_curve(const StageRecord& record) const {
  std::vector<Point> curve;
  for (const auto& [number, attempt] : record.attempts) {
    std::erase_if(curve, [step = attempt.resume_step](const Point& p) { return p.step > step; });
    curve.insert(curve.end(), attempt.points.begin(), attempt.points.end());
  }
  return curve;
}

void Ledger::check_curve(StageId id) {
  const StageRecord& record = stages_.at(id);
  const std::vector<Point> expected = expected_curve(record);
  const auto read = store_->points(id, kLoss, 0);
  const std::vector<Point> points = read.ok() ? read->points : std::vector<Point>{};
  if (points.size() < expected.size()) throw Violation(1, stage_text(id) + ": stored points cannot be read");
  if (points.size() > expected.size()) throw Violation(2, stage_text(id) + ": more points than were sent");
  const bool parked = std::any_of(record.attempts.begin(), record.attempts.end(),
                                  [](const auto& each) { return each.second.state == AttemptState::kParked; });
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].images != expected[i].images)
      throw Violation(2, stage_text(id) + ": point " + std::to_string(i) + " differs from the one sent");
    if (!same_value(points[i].value, loss_at(record.config_json, points[i].step)))
      throw Violation(parked ? 25 : 2, stage_text(id) + ": point " + std::to_string(i) +
                                           " is not what a training that runs through has there");
  }
  if (record.state != StageState::kSucceeded || record.kind != "train") return;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].step != static_cast<std::int64_t>(i) + 1) {
      throw Violation(
          7, stage_text(id) + " succeeded with a curve that folds back or has a hole at step " + std::to_string(i + 1));
    }
  }
}

// That of an experiment that wants the stage, read by one who knows nothing but the store. Which of several
// is the scheduler's own affair: one whose stage had failed does not want it again when another revives it.
void Ledger::check_limit(const Grant& grant) {
  const Snapshot stored = store_->load().value();
  std::string meant;
  for (const StageReference& reference : stored.references) {
    if (reference.stage != grant.stage_id) continue;
    const auto row = std::ranges::find(stored.experiments, reference.experiment, &ExperimentRow::id);
    const Json spec = Json::parse(row->spec_json);
    const auto seconds = spec.value("/limits/stage_seconds"_json_pointer, std::int64_t{0});
    if (seconds == grant.limit_seconds) return;
    meant += (meant.empty() ? "" : " or ") + std::to_string(seconds);
  }
  throw Violation(12, stage_text(grant.stage_id) + " was granted for " + std::to_string(grant.limit_seconds) +
                          " s; its experiments say " + meant);
}

void Ledger::check_all() {
  for (const auto& [id, record] : stages_) {
    check_stage(id);
    check_curve(id);
  }
}

}  // namespace locus::simulation
