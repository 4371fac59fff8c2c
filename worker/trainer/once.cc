// Runs a train stage and an evaluate stage in this process and prints what the daemon would have been told.
#include "worker/trainer/once.h"

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <optional>

#include "core/base/data_copies.h"
#include "engine/run/run.h"

namespace locus {
using namespace engine;
namespace {

struct Arguments {
  std::filesystem::path config, work;
  std::optional<std::int64_t> seed;
  std::vector<std::int64_t> resolutions;
  Execution execution;
  bool quiet = false;
};

// Throws std::invalid_argument on anything it does not know.
Arguments parse(std::span<const std::string> arguments) {
  Arguments out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (name == "--quiet") {
      out.quiet = true;
      continue;
    }
    if (i + 1 == arguments.size()) throw std::invalid_argument(name + " is unknown or lacks a value");
    const std::string& value = arguments[++i];
    if (name == "--config")
      out.config = value;
    else if (name == "--work")
      out.work = value;
    else if (name == "--data-root")
      out.execution.data_root = value;
    else if (name == "--device")
      out.execution.device = value;
    else if (name == "--index")
      out.execution.index = std::stoi(value);
    else if (name == "--threads")
      out.execution.threads = std::stoi(value);
    else if (name == "--path")
      out.execution.path = value;
    else if (name == "--checkpoint-seconds")
      out.execution.checkpoint_seconds = std::stod(value);
    else if (name == "--seed")
      out.seed = std::stoll(value);
    else if (name == "--resolution")
      out.resolutions.push_back(std::stoll(value));
    else
      throw std::invalid_argument("unknown argument " + name);
  }
  if (out.config.empty()) throw std::invalid_argument("--config is required");
  return out;
}

class ConsoleObserver : public StageObserver {
 public:
  explicit ConsoleObserver(bool quiet) : quiet_(quiet) {}
  void started(const Json&, std::int64_t, std::int64_t) override {}
  void point(const SeriesKey&, const Place&, double) override {}
  void progress(std::int64_t, std::int64_t, std::string_view) override {}
  void checkpoint(std::int64_t, const std::filesystem::path& path, bool) override { std::filesystem::remove(path); }
  Wish wish() override { return Wish::kContinue; }
  void say(const std::string& line) override {
    if (!quiet_) std::cerr << line << "\n";
  }

 private:
  bool quiet_;
};

Json describe(const StageReport& report, double seconds) {
  Json results = Json::array();
  for (const StageResult& result : report.results) {
    results.push_back({{"metric", result.key.metric},
                       {"split", result.key.split},
                       {"labels", result.key.labels},
                       {"reducer", result.reducer},
                       {"value", number_to_json(result.value)},
                       {"step", result.step}});
  }
  Json out = {
      {"outcome", report.outcome}, {"seconds", seconds}, {"results", results}, {"environment", report.environment}};
  if (report.outcome == "failed") out.update({{"class", report.failure_class}, {"reason", report.reason}});
  return out;
}

Json evaluation_of(const Json& train, const std::vector<std::int64_t>& resolutions) {
  Json out = train;
  out["kind"] = "evaluate";
  out["stage"] = {{"options", {{"resolution", resolutions}}}};
  out["inputs"] = {{"checkpoint", configuration_identity(train)}};
  return out;
}

// A folder of our own unless one was named; gone at the end.
class WorkFolder {
 public:
  explicit WorkFolder(const std::filesystem::path& named) : path_(named) {
    if (!path_.empty()) {
      std::filesystem::create_directories(path_);
      return;
    }
    std::string name = (std::filesystem::temp_directory_path() / "locus-once-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder can be made in " + name);
    path_ = name;
    own_ = true;
  }
  ~WorkFolder() {
    std::error_code ignored;
    if (own_) std::filesystem::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool own_ = false;
};

Json run_stages(const Arguments& arguments) {
  std::ifstream in(arguments.config);
  if (!in) throw std::invalid_argument("cannot read " + arguments.config.string());
  Json train = Json::parse(in);
  train["kind"] = "train";
  if (arguments.seed || !train.contains("seed")) train["seed"] = arguments.seed.value_or(0);
  const WorkFolder work(arguments.work);
  StageRequest request{train, {}, {}, arguments.execution};
  request.execution.work = work.path();
  request.execution.cache = data_cache_folder();
  ConsoleObserver observer(arguments.quiet);
  const auto timed = [&] {
    const auto start = std::chrono::steady_clock::now();
    const StageReport report = run_stage(request, observer);
    return std::pair(report, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  };
  const auto [trained, train_seconds] = timed();
  Json out = {{"train", describe(trained, train_seconds)}};
  if (trained.outcome == "succeeded") {
    request.configuration = evaluation_of(train, arguments.resolutions);
    request.inputs["checkpoint"] = trained.outputs.at(0).path;
    const auto [evaluated, evaluate_seconds] = timed();
    out["evaluate"] = describe(evaluated, evaluate_seconds);
  }
  return out;
}

}  // namespace

int run_once(std::span<const std::string> arguments) {
  try {
    const Json out = run_stages(parse(arguments));
    std::cout << out.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
    for (const Json& stage : out) {
      if (stage.at("outcome") == "failed") return 1;
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "locus-trainer once: " << error.what() << "\n" << kOnceUsage;
    return 2;
  }
}

}  // namespace locus
