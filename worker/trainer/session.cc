// Reads start frames, runs their stages one after another, answers each.
#include "worker/trainer/session.h"

#include <unistd.h>

#include <iostream>

#include "core/base/data_copies.h"
#include "core/base/frame.h"
#include "core/base/sha256.h"
#include "core/base/trainer_protocol.h"
#include "engine/catalog/catalog.h"
#include "worker/trainer/frame_observer.h"

namespace locus {
using namespace engine;
namespace {

GangPlace parse_gang(const Json& gang) {
  GangPlace out;
  out.rank = gang.at("rank");
  out.world = gang.at("world");
  out.timeout_seconds = gang.value("timeout_seconds", out.timeout_seconds);
  out.silence_seconds = gang.value("silence_seconds", out.silence_seconds);
  return out;
}

// Throws Json::exception or std::invalid_argument on a frame that breaks the format.
StageRequest parse_start(const Json& frame) {
  StageRequest request;
  request.configuration = frame.at("stage");
  const Json inputs = frame.value("inputs", Json::object());
  for (const auto& [slot, path] : inputs.items()) request.inputs[slot] = path.get<std::string>();
  if (frame.contains("resume") && !frame.at("resume").is_null()) request.resume = frame.at("resume").get<std::string>();
  const Json& execution = frame.at("execution");
  Execution& out = request.execution;
  out.device = execution.value("device", out.device);
  out.index = execution.value("index", out.index);
  out.threads = execution.value("threads", out.threads);
  out.decode_threads = execution.value("decode_threads", out.decode_threads);
  out.decode_bytes = execution.value("decode_bytes", out.decode_bytes);
  out.decoded_bytes = execution.value("decoded_bytes", decoded_cache_bytes());
  out.data_root = execution.value("data_root", out.data_root.string());
  out.work = execution.at("work").get<std::string>();
  out.cache = data_cache_folder();
  out.checkpoint_seconds = execution.value("checkpoint_seconds", out.checkpoint_seconds);
  out.path = execution.value("path", out.path);
  if (execution.contains("gang")) out.gang = parse_gang(execution.at("gang"));
  out.durable_files = false;  // the daemon uploads them; until then an attempt that loses them is made again
  return request;
}

void run_attempt(int fd, const Json& frame) {
  FrameObserver observer(fd, frame.value("attempt", ""), frame.value("until", std::int64_t{0}));
  StageRequest request;
  try {
    request = parse_start(frame);
    request.execution.gang.rendezvous = &observer;
    std::filesystem::create_directories(request.execution.work);
  } catch (const std::exception& error) {
    StageReport refused;
    refused.outcome = "failed";
    refused.failure_class = "code";
    refused.reason = std::string("the start frame cannot be used: ") + error.what();
    observer.report(refused);
    return;
  }
  observer.report(run_stage(request, observer));
}

}  // namespace

int serve_session(int fd) {
  try {
    write_frame(fd, {{"type", "hello"},
                     {"protocol", kTrainerProtocolVersion},
                     {"pid", ::getpid()},
                     {"catalog_digest", sha256_hex(canonical_json(catalog_json()))}});
    while (const auto frame = read_frame(fd)) {
      const std::string type = frame->value("type", "");
      if (type == "shutdown") return 0;
      if (type == "start") run_attempt(fd, *frame);  // a wish that came after its attempt's end falls through
    }
    return 0;
  } catch (const SessionEnded&) {
    return 0;
  } catch (const FrameError& error) {
    std::cerr << "locus-trainer: " << error.what() << "\n";
    return 1;
  }
}

}  // namespace locus
