// One catch at the edge maps exceptions to failure classes.
#include "engine/run/run.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <map>

#include "engine/base/device.h"
#include "engine/base/failure.h"
#include "engine/base/memory.h"
#include "engine/catalog/catalog.h"
#include "engine/data/dataset.h"
#include "engine/distributed/place.h"
#include "engine/plugin/load.h"
#include "engine/stages/stages.h"

namespace locus::engine {
namespace {

constexpr std::size_t kReasonBytes = 2000;
constexpr std::int64_t kKeptBytes = 256 << 20;  // unused, between stages: the next is often like the last

// "prior/rope" to its revision. Made once: the catalog is as large as many a model.
const std::map<std::string, Json>& known_revisions() {
  static const std::map<std::string, Json> known = [] {
    std::map<std::string, Json> made;
    const Json catalog = catalog_json();
    for (const Json& item : catalog.at("items"))
      made[item.at("kind").get<std::string>() + "/" + item.at("id").get<std::string>()] = item.at("revision");
    return made;
  }();
  return known;
}

// Revisions the configuration was hashed with must be those of this build, or the result would carry a wrong
// name.
void check_revisions(const Json& configuration) {
  const Json revisions = configuration.value("revisions", Json::object());
  for (const auto& [name, revision] : revisions.items()) {
    const auto found = known_revisions().find(name);
    if (found == known_revisions().end()) throw std::invalid_argument(name + " is not in this trainer's catalog");
    if (found->second != revision) {
      throw std::invalid_argument(name + " is asked for at revision " + revision.dump() + "; this trainer has " +
                                  found->second.dump());
    }
  }
}

// So must the code of others that it names.
void check_extensions(const Json& configuration) {
  const Json asked = configuration.value("extensions", Json::object());
  for (const auto& [name, digest] : asked.items()) {
    const auto& loaded = loaded_plugins();
    const auto found = std::find_if(loaded.begin(), loaded.end(),
                                    [&name = name](const LoadedPlugin& one) { return one.name == name; });
    if (found == loaded.end()) throw std::invalid_argument("the plugin " + name + " is not loaded in this trainer");
    if (digest != found->digest) {
      throw std::invalid_argument("the plugin " + name + " is asked for with digest " + digest.dump() +
                                  "; this trainer has " + found->digest);
    }
  }
}

void check_digest(const Json& dataset, const Json& item) {
  const std::string here = item.at("facts").at("digest").get<std::string>();
  if (dataset.contains("digest") && dataset.at("digest") != here) {
    throw DataError("dataset " + dataset.at("id").get<std::string>() + " is asked for with digest " +
                    dataset.at("digest").dump() + "; this trainer knows " + here);
  }
}

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSucceeded:
      return "succeeded";
    case Outcome::kStopped:
      return "stopped";
    case Outcome::kCancelled:
      return "cancelled";
    case Outcome::kParked:
      return "parked";
  }
  return "failed";
}

// Of a process that trains a model with others and does not speak for them: it lives, and stops when it is to.
class PeerObserver : public StageObserver {
 public:
  explicit PeerObserver(StageObserver& daemon) : daemon_(daemon) {}
  void started(const Json& environment, std::int64_t steps, std::int64_t resumed_step) override {
    daemon_.started(environment, steps, resumed_step);
  }
  void point(const SeriesKey&, const Place&, double) override {}
  void progress(std::int64_t step, std::int64_t steps, std::string_view phase) override {
    daemon_.progress(step, steps, phase);
  }
  void checkpoint(std::int64_t, const std::filesystem::path&, bool) override {}
  Wish wish() override { return daemon_.wish(); }
  void say(const std::string&) override {}

 private:
  StageObserver& daemon_;
};

void run(const StageRequest& request, StageObserver& observer, StageReport& report) {
  const Json& configuration = request.configuration;
  const StageItem& stage = stage_item(configuration.at("kind").get<std::string>());
  if (request.execution.gang.world > 1 && stage.id() != "train") {
    throw std::invalid_argument("a stage of kind " + stage.id() + " runs on one device, and is given " +
                                std::to_string(request.execution.gang.world));
  }
  check_revisions(configuration);
  check_extensions(configuration);
  check_digest(configuration.at("dataset"),
               dataset_item(configuration.at("dataset").at("id").get<std::string>()).item.json());
  const at::Device device = open_device(request.execution.device, request.execution.index);
  at::set_num_threads(std::max(1, request.execution.threads));
  // On the CPU an operation without a deterministic form is a defect. CUDA lacks some; a warning then, not a
  // failed run.
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/device.is_cuda());
  at::globalContext().setDeterministicFillUninitializedMemory(false);  // a debugging aid that writes every tensor twice
  static std::int64_t stages_run = 0;                                  // stages never run side by side
  const Json stage_part = configuration.value("stage", Json::object());
  StageContext context{configuration,
                       Options(stage.item.json(), stage_part.value("options", Json::object())),
                       request.inputs,
                       request.resume,
                       request.execution,
                       device,
                       observer,
                       {{"device", request.execution.device},
                        {"device_name", device_name(device)},
                        {"dtype", "float32"},  // where the stage says no other
                        {"threads", request.execution.threads},
                        {"build", build_description()}},
                       stages_run++,
                       Outcome::kSucceeded,
                       {},
                       {},
                       0};
  watch_peak_memory(device);
  stage.run(context);
  report.peak_memory_bytes = peak_memory(device);
  report.outcome = name_of(context.outcome);
  report.parked_step = context.parked_step;
  report.results = std::move(context.results);
  report.outputs = std::move(context.outputs);
  report.environment = std::move(context.environment);
}

void fail(StageReport& report, const char* failure_class, std::string reason) {
  if (reason.size() > kReasonBytes) reason.resize(kReasonBytes);
  report.outcome = "failed";
  report.failure_class = failure_class;
  report.reason = std::move(reason);
}

// For the stages of other processes on the device.
void release_memory_on(const Execution& execution) {
  try {
    release_device_memory(open_device(execution.device, execution.index));
  } catch (const std::exception&) {  // a device that cannot be used: the stage's end says so
  }
}

bool tells_exhausted_memory(std::string_view text) {
  return text.find("out of memory") != std::string_view::npos ||
         text.find("can't allocate memory") != std::string_view::npos;
}

}  // namespace

StageReport run_stage(const StageRequest& request, StageObserver& observer) {
  StageReport report;
  try {
    if (request.execution.gang.rank > 0) {
      PeerObserver peer(observer);
      run(request, peer, report);
      report.results.clear();  // rank 0 has the same
    } else {
      run(request, observer, report);
    }
  } catch (const PeerLostError& error) {
    fail(report, "peer-lost", error.what());
  } catch (const StageAborted&) {
    throw;
  } catch (const DataError& error) {
    fail(report, "data", error.what());
  } catch (const DivergedError& error) {
    fail(report, "diverged", error.what());
  } catch (const c10::OutOfMemoryError& error) {
    fail(report, "out-of-memory", error.what_without_backtrace());
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    fail(report, tells_exhausted_memory(text) ? "out-of-memory" : "code", text);
  } catch (const std::bad_alloc&) {
    fail(report, "out-of-memory", "the process could not allocate memory");
  } catch (const std::exception& error) {
    fail(report, "code", error.what());
  }
  release_tensor_memory(kKeptBytes);
  if (request.execution.device != "cpu") release_memory_on(request.execution);
  return report;
}

}  // namespace locus::engine
