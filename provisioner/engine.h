// What starts machines: a batch system, a cluster, a script.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/json.h"

namespace locus {

// Who is to come of a job. Without a token the server asks nobody who they are, and the name is a proposal.
struct NewWorker {
  std::string name, token;  // that of an invitation: `locus worker --enroll`
  bool stays = false;       // one of the least that a pool keeps: it does not end for want of work
};

struct EngineSetup {
  std::string pool;    // [a-z][a-z0-9-]*: what its jobs are labeled with
  std::string server;  // where its workers find the server: HOST:PORT, or https://HOST:PORT to enroll at
  Json settings;       // the engine's own
};

// Its jobs are one worker each, and nobody remembers them but the engine: what is there is asked anew every time. Errors say
// what the engine was asked, what it answered and what to do. Thread-compatible; calls block.
class Engine {
 public:
  virtual ~Engine() = default;
  // How many jobs of the pool wait or run.
  virtual absl::StatusOr<int> count() = 0;
  // Starts these. An error does not say that none was started: count again.
  virtual absl::Status start(const std::vector<NewWorker>& workers) = 0;
};

std::vector<std::string> engine_names();  // in order of the alphabet

// INVALID_ARGUMENT for a name that is none, or for settings that the engine refuses.
absl::StatusOr<std::unique_ptr<Engine>> make_engine(const std::string& name, const EngineSetup& setup);

// Runs one of the engine's programs to its end and returns what it printed; `input` and `variables` are what it is given,
// and secrets go there: everybody sees command lines. NOT_FOUND with `advice` when it is not installed.
absl::StatusOr<std::string> ask_engine(std::vector<std::string> command, const std::string& advice,
                                       const std::string& input = {},
                                       const std::map<std::string, std::string>& variables = {});

// What a worker's environment tells it: LOCUS_SERVER, LOCUS_POOL, LOCUS_WORKER_NAME and, with a token, LOCUS_ENROLL; of one
// that stays LOCUS_STAYS, too.
std::map<std::string, std::string> variables_of(const EngineSetup& setup, const NewWorker& worker);

// UNAVAILABLE: `program` answered what it should not have, and what was expected.
absl::Status unexpected_answer(const std::string& program, const std::string& found, const std::string& expected);

}  // namespace locus
