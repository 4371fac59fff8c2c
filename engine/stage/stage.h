// What a stage is given, what it reports while it runs and what it leaves behind. Knows no server and no
// worker.
#pragma once

#include <filesystem>

#include "engine/base/item.h"
#include "engine/base/torch.h"
#include "engine/distributed/place.h"

namespace locus::engine {

// How to run, never what: none of this enters an identity.
struct Execution {
  std::string device = "cpu";  // cpu or cuda
  int index = 0;               // of the CUDA device
  int threads = 1;
  int decode_threads = 2;                   // beside those, where samples are read as they are needed
  std::int64_t decode_bytes = 256ll << 20;  // of samples prepared ahead
  std::int64_t decoded_bytes = 0;           // of decoded images kept in the cache for all processes; 0: none
  std::filesystem::path data_root = "/usr/share/datasets";
  std::filesystem::path work;   // existing folder for the files the stage writes
  std::filesystem::path cache;  // what is known of data on this machine; empty: in `work`
  double checkpoint_seconds = 60;
  std::string path = "auto";  // execution path of attention
  // Whether files are on the medium before they are told of. Of no use to who copies them to where they are durable and
  // trusts no file but by its digest, as the worker daemon does.
  bool durable_files = true;
  GangPlace gang;  // of this process, where several train the model; it must be of a stage that trains
  const std::filesystem::path& data_cache() const { return cache.empty() ? work : cache; }
};

struct SeriesKey {
  std::string metric, split;
  Json labels = Json::object();
};

// Where in training a value was taken.
struct Place {
  std::int64_t step = 0;
  double epoch = 0;
  std::int64_t images = 0;
};

struct StageResult {
  SeriesKey key;
  std::string reducer;
  double value = 0;
  std::int64_t step = 0;
};

struct StageOutput {
  std::string slot;
  std::filesystem::path path;
  std::int64_t step = 0;
};

enum class Wish { kContinue, kCheckpointAndStop, kCancel };
enum class Outcome { kSucceeded, kStopped, kCancelled, kParked };

// Called by the stage, in its thread. May throw: the exception ends the stage.
class StageObserver {
 public:
  virtual ~StageObserver() = default;
  virtual void started(const Json& environment, std::int64_t steps, std::int64_t resumed_step) = 0;
  virtual void point(const SeriesKey& series, const Place& place, double value) = 0;
  virtual void progress(std::int64_t step, std::int64_t steps, std::string_view phase) = 0;
  // The file is complete and belongs to the observer from here on.
  virtual void checkpoint(std::int64_t step, const std::filesystem::path& path, bool best) = 0;
  virtual Wish wish() = 0;  // polled between steps: must be cheap
  // A line for people, without its end; of no consequence.
  virtual void say(const std::string& line) = 0;
  // Where a training is to park, as of now. 0: nowhere, it goes to its end. Above 0: at its first validation at that
  // step or past it. Below 0: at its next one. A checkpoint is made there and the stage ends as kParked. Stages of
  // other kinds do not ask.
  virtual std::int64_t until_step() { return 0; }
};

struct StageContext {
  const Json& configuration;  // docs/formats/catalog.md
  Options options;            // of the stage kind
  std::map<std::string, std::filesystem::path> inputs;
  std::filesystem::path resume;  // empty: from the start
  const Execution& execution;
  at::Device device;
  StageObserver& observer;
  Json environment;                // without the execution path, which the stage adds
  std::int64_t stages_before = 0;  // that this process has run

  Outcome outcome = Outcome::kSucceeded;
  std::vector<StageResult> results;
  std::vector<StageOutput> outputs;
  std::int64_t parked_step = 0;  // with kParked: of the checkpoint to go on from
};

// SHA-256 of the configuration's RFC 8785 form: the stage's identity.
std::string configuration_identity(const Json& configuration);

}  // namespace locus::engine
