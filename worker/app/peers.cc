// Liveness and ends of the ranks above 0.
#include "worker/app/peers.h"

#include "core/log/log.h"
#include "worker/app/frames.h"

namespace locus {
namespace {

constexpr auto kDismissed = std::chrono::seconds(2);  // until a trainer that is told so must have ended

}  // namespace

Json gang_frame(Json start, int world, GangPatience patience) {
  Json& execution = start.at("execution");
  const std::filesystem::path work = execution.at("work").get<std::string>();
  execution["gang"] = {{"rank", 0},
                       {"world", world},
                       {"rendezvous", (work / "rendezvous").string()},
                       {"timeout_seconds", static_cast<double>(patience.start) / 1e6},
                       {"silence_seconds", static_cast<double>(patience.least) / 1e6}};
  return start;
}

Peers::Peers(std::vector<std::unique_ptr<TrainerProcess>> trainers) {
  for (auto& trainer : trainers) peers_.push_back({std::move(trainer)});
}

void Peers::start(const Json& start) {
  attempt_ = start.at("attempt").get<std::string>();
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    Json own = start;
    own.at("execution").at("gang").at("rank") = i + 1;
    try {
      peers_[i].trainer->send(own);
    } catch (const FrameError& error) {  // it has gone, which listening shows
      log_debug("attempt {}: {}", attempt_, error.what());
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
  if (frame.value("attempt", "") != attempt_) return;
  const std::string type = frame.value("type", "");
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
  for (Peer& peer : peers_) {
    try {
      peer.trainer->send({{"type", "shutdown"}});
    } catch (const FrameError&) {  // it has gone already
    }
  }
  for (Peer& peer : peers_) peer.trainer->wait_end(kDismissed);
}

}  // namespace locus
