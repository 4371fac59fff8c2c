// Liveness and ends of the ranks above 0.
#include "worker/app/peers.h"

#include "core/log/log.h"
#include "worker/app/frames.h"

namespace locus {
namespace {

constexpr auto kDismissed = std::chrono::seconds(2);  // until a trainer that is told so must have ended

}  // namespace

Json gang_frame(Json start, int world, GangPatience patience) {
  start.at("execution")["gang"] = {{"rank", 0},
                                   {"world", world},
                                   {"timeout_seconds", static_cast<double>(patience.start) / 1e6},
                                   {"silence_seconds", static_cast<double>(patience.least) / 1e6}};
  return start;
}

Peers::Peers(std::vector<std::unique_ptr<TrainerProcess>> trainers) {
  for (auto& trainer : trainers) peers_.push_back({std::move(trainer)});
}

void Peers::start(const Json& start, std::function<void(const Json&)> leader) {
  attempt_ = start.at("attempt").get<std::string>();
  board_.emplace(attempt_);
  leader_ = std::move(leader);
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    Json own = start;
    own.at("execution").at("gang").at("rank") = i + 1;
    tell(*peers_[i].trainer, own);
  }
}

void Peers::tell(TrainerProcess& trainer, const Json& frame) {
  try {
    trainer.send(frame);
  } catch (const FrameError& error) {  // it has gone, which listening shows
    log_debug("trainer {}: {}", trainer.pid(), error.what());
  }
}

void Peers::meet(int rank, const Json& question) {
  for (const RendezvousBoard::Answer& answer : board_->take(rank, question)) {
    if (answer.rank == 0) {
      leader_(answer.frame);
    } else {
      tell(*peers_.at(static_cast<std::size_t>(answer.rank) - 1).trainer, answer.frame);
    }
  }
}

void Peers::add_to(std::vector<pollfd>& polled) const {
  for (const Peer& peer : peers_) {
    if (peer.ended) continue;
    polled.push_back({peer.trainer->socket(), POLLIN, 0});
    polled.push_back({peer.trainer->output(), POLLIN, 0});
  }
}

void Peers::listen() {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    TrainerProcess& trainer = *peers_[i].trainer;
    trainer.read_output();
    trainer.take_output();
    if (peers_[i].ended) continue;
    const bool open = trainer.receive();
    while (const auto frame = trainer.next_frame()) take(i, *frame);
    if (open || peers_[i].ended) continue;
    peers_[i].ended = true;
    const TrainerEnd end = trainer.wait_end(kDismissed);
    blame(i, to_string(end.failure_class), end.reason);
  }
}

void Peers::take(std::size_t index, const Json& frame) {
  const std::string type = frame.value("type", "");
  if (type == kFrameStore) return meet(static_cast<int>(index) + 1, frame);  // which refuses one of another attempt
  if (frame.value("attempt", "") != attempt_) return;
  if (type != "done" && type != "failed") return;  // it lives
  peers_[index].ended = true;
  if (type == "done") return;
  if (frame.value("class", "") == kPeerLost) {
    lost_others_ = true;
    return;
  }
  const auto outcome = outcome_of(frame);
  blame(index, outcome.failure_class(), outcome.reason());
}

void Peers::blame(std::size_t index, const std::string& failure_class, const std::string& reason) {
  if (cause_) return;
  cause_ = failed_outcome(
      failure_class, "rank " + std::to_string(index + 1) + " of " + std::to_string(peers_.size() + 1) + ": " + reason);
}

void Peers::dismiss() {
  for (Peer& peer : peers_) tell(*peer.trainer, {{"type", "shutdown"}});
  for (Peer& peer : peers_) peer.trainer->wait_end(kDismissed);
}

}  // namespace locus
