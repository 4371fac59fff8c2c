// How the trainer of a worker is started: the program, and the code of others that it runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/catalog/catalog.h"
#include "locus/v1/worker_service.pb.h"
#include "worker/app/worker.h"

namespace locus {

struct TrainerCommand {
  std::vector<std::string> words;           // the program, then what comes before what it is asked
  std::vector<std::filesystem::path> code;  // files and folders that it reads besides its own
};

// Of the options, whose trainer and work folder are settled. Plugins are copied into the work folder under their digests, so
// that a daemon goes on with the code that it announced while its user compiles anew; copies of earlier daemons are removed.
// NOT_FOUND for a plugin that is not there.
absl::StatusOr<TrainerCommand> trainer_command(const WorkerOptions& options);

// Asks it `question`, one of those of docs/formats/trainer.md that print a JSON object; what it prints to say no is in the
// error.
absl::StatusOr<Json> ask_trainer(const TrainerCommand& command, const std::string& question);

struct TrainerCatalog {
  Catalog catalog;
  std::string digest;  // of what the trainer printed, as it says it when it starts
};

// What it can run. To the items of a trainer that is no engine of ours come those of Locus that it says it uses (`uses`,
// docs/formats/trainer.md): of the locus-trainer beside this program, or of the catalog installed with it.
// FAILED_PRECONDITION where there is no such catalog, or no such item in it; otherwise as ask_trainer().
absl::StatusOr<TrainerCatalog> trainer_catalog(const TrainerCommand& command);

// What a worker with this catalog can run, and what of that it brings from outside, loaded then by the wall clock.
void announce_catalog(const TrainerCatalog& catalog, Microseconds loaded_us, v1::RegisterWorkerRequest& announcement);

}  // namespace locus
