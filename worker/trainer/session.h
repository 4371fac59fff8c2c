// One conversation with the worker daemon: attempts in, points and outcomes out (docs/formats/trainer.md).
#pragma once

namespace locus {

// Serves attempts on descriptor `fd` until shutdown or end of file; returns the exit status. Takes the
// descriptor over.
int serve_session(int fd);

}  // namespace locus
