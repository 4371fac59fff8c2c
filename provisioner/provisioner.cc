// Keeps a pool as large as what waits wants it.
#include "provisioner/provisioner.h"

#include <signal.h>

#include <cerrno>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/base/ids.h"
#include "core/log/log.h"

namespace locus {
namespace {

sigset_t end_signals() {
  sigset_t out;
  ::sigemptyset(&out);
  ::sigaddset(&out, SIGTERM);
  ::sigaddset(&out, SIGINT);
  return out;
}

}  // namespace

absl::StatusOr<ProvisionRound> Provisioner::look() {
  LOCUS_ASSIGN_OR_RETURN(const v1::Demand demand, demand_());
  ProvisionRound round;
  round.queued = demand.queued();
  round.wanted = workers_wanted(rules_, demand);
  LOCUS_ASSIGN_OR_RETURN(round.there, engine_.count());
  round.started = workers_to_start(rules_, round.wanted, round.there);
  if (round.started > 0) LOCUS_RETURN_IF_ERROR(start(round.started, rules_.min - round.there));
  return round;
}

// Names are new ones: a worker never comes back. Those that are lacking to the least stay: otherwise they would end for want
// of work and be started again, for ever. Which of those that are there stay nobody has to know: whoever ends makes room.
absl::Status Provisioner::start(int workers, int lacking) {
  std::vector<NewWorker> out;
  for (int i = 0; i < workers; ++i) {
    NewWorker worker{pool_ + "-" + random_uuid().substr(0, 8), "", i < lacking};
    if (invite_) {
      LOCUS_ASSIGN_OR_RETURN(worker.token, invite_(worker.name));
    }
    out.push_back(std::move(worker));
  }
  return engine_.start(out);
}

void hold_end_signals() {
  const sigset_t ends = end_signals();
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
}

void keep_provisioning(Provisioner& provisioner, std::chrono::seconds pace,
                       const std::function<void(const ProvisionRound&)>& looked) {
  const sigset_t ends = end_signals();
  std::optional<ProvisionRound> last;
  while (true) {
    const auto round = provisioner.look();
    if (!round.ok()) {
      log_warning("{}; trying again in {} s", std::string(round.status().message()), pace.count());
    } else if (last != *round) {
      looked(*round);
      last = *round;
    }
    const timespec wait{pace.count(), 0};
    int signal = 0;
    do {
      signal = ::sigtimedwait(&ends, nullptr, &wait);
    } while (signal < 0 && errno == EINTR);
    if (signal > 0) return;
  }
}

}  // namespace locus
