// What a trainer does when somebody wants it to end.
#include "worker/trainer/end_signal.h"

#include <signal.h>
#include <unistd.h>

namespace locus {
namespace {

// A daemon that is gone cannot have it saved, and whoever took its place as a parent is not asked either: the end of the
// daemon ends its trainers by itself.
void end_if_the_daemon_says_so(int number, siginfo_t* info, void*) {
  if (info->si_pid != ::getppid()) return;
  ::signal(number, SIG_DFL);
  ::raise(number);  // once this handler has returned
}

}  // namespace

void leave_end_to_daemon() {
  struct sigaction action = {};
  action.sa_sigaction = end_if_the_daemon_says_so;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGTERM, &action, nullptr);
}

}  // namespace locus
