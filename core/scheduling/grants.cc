// Granting: who waits for work, what could start, and which meets which.
#include <algorithm>

#include "core/base/error.h"
#include "core/scheduling/state.h"

namespace locus {
namespace {

constexpr std::size_t kRequestsRemembered = 256;

}  // namespace

void Scheduler::State::handle(const WorkRequested& event) {
  Worker* worker = connected_worker(event.session, event.reply);
  if (worker == nullptr) return;
  if (event.free_slots.empty() || event.request_id.empty()) {
    reply(ReplyError{event.reply, make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                                             "a request for work names at least one free slot and carries a request id",
                                             event.free_slots.empty() ? "free_slots" : "request_id")});
    return;
  }
  if (answer_repeated(*worker, event)) return;
  const Microseconds wait = std::clamp<Microseconds>(event.wait, 0, policy_.long_poll);
  worker->asked.push_back({event.request_id, 0, 0});
  if (worker->asked.size() > kRequestsRemembered) worker->asked.pop_front();
  waiting_.push_back({event.reply, worker->row.id, event.request_id, event.free_slots, now_.steady + wait});
}

// The same request id again: the same grant while its lease lives, the same place in the queue, for the slots it names now, while it
// waits, else nothing, so that a late copy of an answered request never takes a stage that nobody will run.
bool Scheduler::State::answer_repeated(Worker& worker, const WorkRequested& event) {
  auto asked = std::find_if(worker.asked.begin(), worker.asked.end(),
                            [&](const Worker::Asked& a) { return a.request_id == event.request_id; });
  if (asked == worker.asked.end()) return false;
  auto waiting = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& w) {
    return w.worker == worker.row.id && w.request_id == event.request_id;
  });
  if (waiting != waiting_.end()) {
    reply(ReplyGrant{waiting->reply, std::nullopt});  // the former call; its caller has gone or will ask again
    waiting->reply = event.reply;
    waiting->free_slots = event.free_slots;
    return true;
  }
  ReplyGrant answer{event.reply, std::nullopt};
  if (Stage* stage = run_by(worker, asked->stage, asked->attempt)) {
    stage->running->listed = now_.steady;
    answer.grant = grant_of(*stage);
  }
  reply(std::move(answer));
  return true;
}

void Scheduler::State::handle(const WorkRequestDropped& event) {
  std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.reply == event.reply; });
}

void Scheduler::State::expire_waits() {
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    if (now_.steady < waiting.deadline) return false;
    reply(ReplyGrant{waiting.reply, std::nullopt});
    return true;
  });
}

void Scheduler::State::release_back_offs() {
  while (!backing_off_.empty() && backing_off_.begin()->first <= now_.steady) {
    const StageId id = backing_off_.begin()->second;
    backing_off_.erase(backing_off_.begin());
    if (Stage* stage = find_stage(id)) refresh_ready(*stage);
  }
}

// Puts the stage where it belongs: into the ready queue under its present key, among those backing off, or in
// neither.
void Scheduler::State::refresh_ready(Stage& stage) {
  fruitless_until_ = 0;
  const bool was_ready = !stage.ready.empty();
  for (const Ready& place : stage.ready) ready_.erase(place.lane, place.requirement, place.key);
  stage.ready.clear();
  ready_stages_ -= was_ready ? 1 : 0;
  backing_off_.erase({stage.not_before, stage.row.id});
  if (stage.row.state != StageState::kQueued) return;
  if (stage.not_before > now_.steady) {
    backing_off_.insert({stage.not_before, stage.row.id});
    return;
  }
  stage.ready = ready_places(stage);
  for (const Ready& place : stage.ready) ready_.insert(place.lane, place.requirement, place.key);
  ready_stages_ += stage.ready.empty() ? 0 : 1;
  if (!was_ready && !stage.ready.empty()) stage.ready_since = now_.steady;
}

void Scheduler::State::match() {
  if (!intake_closed_.empty() || now_.steady < fruitless_until_) return;
  while (!waiting_.empty()) {
    const std::vector<Lane> order = turns();
    const Reservations reserved = reservations(order);
    const auto starts = [&](const Turn& turn) {
      return std::any_of(waiting_.begin(), waiting_.end(),
                         [&](const Waiting& w) { return !slots_for(w, turn, reserved).empty(); });
    };
    std::optional<Turn> next = ready_.first(order, [&](int, const Turn& turn) { return starts(turn); });
    if (!next) next = first_backfilled(order, reserved, starts);
    if (!next) {
      fruitless_until_ = fruitless_until(reserved);
      return;
    }
    Stage& stage = stages_.at(next->key.stage);
    Waiting* chosen = choose_waiting(stage, *next, reserved);
    const Waiting to = *chosen;
    const std::vector<int> slots = slots_for(to, *next, reserved);
    waiting_.erase(waiting_.begin() + (chosen - waiting_.data()));
    const bool backfilled = std::any_of(slots.begin(), slots.end(), [&](int slot) {
      return kept_before(reserved, {to.worker, slot}, *next) != nullptr;
    });
    grant(stage, *next, to, slots, backfilled);
  }
}

// Until when a match that found nothing would find nothing, if only time passed and workers were heard. Usage within bounds
// is forgotten with time; and while slots are kept for somebody, the order of accounts, workers that fall silent and those
// that are about to end change for whom, and where.
Microseconds Scheduler::State::fruitless_until(const Reservations& reserved) const {
  if (accounts_.any_hours()) return 0;
  if (reserved.empty()) return kNever;
  if (accounts_.shared()) return 0;
  Microseconds until = kNever;
  for (const auto& [id, worker] : workers_) {
    if (!worker.connected) continue;
    if (ends(worker)) return 0;
    const Microseconds last = worker.heard + policy_.lease;
    if (now_.steady <= last) until = std::min(until, last + 1);
  }
  return until;
}

// Of those asking now, with no waiting for a better one: not a worker that was lost with this stage or may be
// why it failed, if another asks; then the one that meets most of what is preferred; then the one that ran its input or its last attempt and so holds the files;
// then who asked first.
Scheduler::State::Waiting* Scheduler::State::choose_waiting(const Stage& stage, const Turn& turn,
                                                            const Reservations& reserved) {
  Waiting* best = nullptr;
  int best_score = 0;
  const PlacementRules* rules = requirements_.rules(turn.requirement);
  const int usual = 2 + 2 * static_cast<int>(kLabelsMost);
  const int most = usual + (rules == nullptr ? 0 : 2 * static_cast<int>(rules->prefer.size())) +
                   (stage.preferred_worker == 0 ? 0 : 1);
  for (Waiting& waiting : waiting_) {
    const bool suspect = stage.strikes.workers.contains(waiting.worker) || stage.avoid.contains(waiting.worker);
    const int preferred = rules == nullptr ? 0 : count_preferred(*rules, workers_.at(waiting.worker).labels);
    const int score = (suspect ? 0 : usual) + 2 * preferred + (waiting.worker == stage.preferred_worker ? 1 : 0);
    if (best != nullptr && score <= best_score) continue;
    if (slots_for(waiting, turn, reserved).empty()) continue;
    best = &waiting;
    best_score = score;
    if (score == most) break;
  }
  return best;
}

void Scheduler::State::grant(Stage& stage, const Turn& turn, const Waiting& to, const std::vector<int>& slots,
                             bool backfilled) {
  Worker& worker = workers_.at(to.worker);
  StageRow& row = stage.row;
  row.attempt += 1;
  row.state = StageState::kRunning;
  row.failure_class = FailureClass::kNone;
  row.reason.clear();
  row.retry_delay_us = 0;
  stage.not_before = 0;
  const CheckpointRow resume = stage.resume.value_or(CheckpointRow{});
  const std::optional<Microseconds> most = longest(stage);
  stage.running = Running{.worker = worker.row.id,
                          .slots = slots,
                          .listed = now_.steady,
                          .acknowledged = false,
                          .resume_sha256 = resume.sha256,
                          .resume_step = resume.step,
                          .progress = {row.id, row.attempt, resume.step, 0, ""},
                          .first_step = 0,
                          .first_at = 0,
                          .checkpoints = {},
                          .service_class = turn.lane.service_class,
                          .accounts = {},
                          .part = 0,
                          .started = now_.steady,
                          .ends_by = most ? now_.steady + *most : 0,
                          .backfilled = backfilled,
                          .halt = {}};
  if (backfilled) backfilled_.insert(row.id);
  take_share(stage, turn.lane, weight_on(worker, slots, requirements_.exclusive(stage.requirement)));
  refresh_ready(stage);
  occupy(worker, stage);
  settle_alike(stage, worker);
  for (Worker::Asked& asked : worker.asked) {
    if (asked.request_id == to.request_id) asked = {to.request_id, row.id, row.attempt};
  }
  mutate(GrantAttempt{.stage_id = row.id,
                      .attempt = row.attempt,
                      .worker_id = worker.row.id,
                      .session = worker.row.session,
                      .slots = stage.running->slots,
                      .resume_sha256 = resume.sha256,
                      .resume_step = resume.step,
                      .started_us = now_.wall,
                      .until_step = stop_point(stage.references),
                      .service_class = turn.lane.service_class,
                      .accounts = names_of(stage.running->accounts)});
  announce_attempt(stage, "attempt-started", &worker, "running");
  announce_stage(stage);
  reply(ReplyGrant{to.reply, grant_of(stage)});
}

Grant Scheduler::State::grant_of(const Stage& stage) const {
  const StageRow& row = stage.row;
  Grant grant{.stage_id = row.id,
              .attempt = row.attempt,
              .kind = row.kind,
              .config_json = row.config_json,
              .slots = stage.running->slots,
              .device = workers_.at(stage.running->worker).device_kind,
              .inputs = {},
              .resume_sha256 = stage.running->resume_sha256,
              .resume_step = stage.running->resume_step,
              .title = row.kind,
              .limit_seconds = limit_of(stage),
              .until_step = stop_point(stage.references),
              .memory_bytes = 0};
  for (const StageInput& input : row.inputs) grant.inputs[input.slot] = input.artifact_sha256;
  const std::vector<Ready> places = ready_places(stage);
  if (!places.empty()) {
    const ReadyKey& key = std::ranges::min_element(places, {}, &Ready::key)->key;
    grant.title = experiments_.at(key.experiment).row.name + "/" + std::to_string(key.trial) + " " + row.kind;
  }
  for (const Ready& place : places) {
    if (const PlacementRules* rules = requirements_.rules(place.requirement))
      grant.memory_bytes = std::max(grant.memory_bytes, memory_given(*rules));
  }
  grant.title += ", seed " + std::to_string(row.seed);
  return grant;
}

}  // namespace locus
