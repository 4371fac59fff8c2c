// The trainers of an attempt on several devices, beside the one of rank 0, which speaks for all.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <poll.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/rendezvous.h"
#include "locus/v1/worker_service.pb.h"
#include "worker/app/trainer_process.h"

namespace locus {

inline constexpr char kPeerLost[] = "peer-lost";  // the class of a trainer that failed since another one was gone

// How long trainers of a gang wait for one another.
struct GangPatience {
  Microseconds start = 0;  // until a step was made
  Microseconds least = 0;  // from then on, or 20 median steps
};

// The frame `start` for rank 0 of `world` trainers.
Json gang_frame(Json start, int world, GangPatience patience);

// Lives on one thread, that of the trainers. Destroyed: they are killed.
class Peers {
 public:
  // Of ranks 1, 2 and so on, each having said hello.
  explicit Peers(std::vector<std::unique_ptr<TrainerProcess>> trainers);

  // The frame of rank 0; each is sent its own. Rank 0 is told what it is to know by `leader`.
  void start(const Json& start, std::function<void(const Json&)> leader);
  // A frame `store` of that rank: whoever is to be told something by it is.
  void meet(int rank, const Json& question);
  void add_to(std::vector<pollfd>& polled) const;
  // Takes in what they have said. Throws FrameError on what cannot be understood.
  void listen();
  // How the first of them failed or went for a reason of its own; nothing while all are well.
  const std::optional<v1::CompleteAttemptRequest>& cause() const { return cause_; }
  bool lost_others() const { return lost_others_; }  // one of them failed since another was gone
  // Tells them that all is done, and waits for their end.
  void dismiss();

 private:
  struct Peer {
    std::unique_ptr<TrainerProcess> trainer;
    bool ended = false;  // it has reported its end, or is gone
  };
  void take(std::size_t index, const Json& frame);
  static void tell(TrainerProcess& trainer, const Json& frame);
  void blame(std::size_t index, const std::string& failure_class, const std::string& reason);

  std::vector<Peer> peers_;
  std::string attempt_;
  std::optional<RendezvousBoard> board_;
  std::function<void(const Json&)> leader_;
  std::optional<v1::CompleteAttemptRequest> cause_;
  bool lost_others_ = false;
};

}  // namespace locus
