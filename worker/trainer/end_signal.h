// What a trainer does when somebody wants it to end.
#pragma once

namespace locus {

// From here on SIGTERM ends this process only if its parent, the daemon, sends it; others' is ignored. Batch systems send it to
// every process of a job, and so to the daemon, which has its trainers save what they have. For the whole process.
void leave_end_to_daemon();

}  // namespace locus
