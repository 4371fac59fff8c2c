// Rules of a trainer.
#include "worker/app/trainer_isolation.h"

#include "core/base/data_copies.h"
#include "core/base/error.h"
#include "core/process/program.h"
#include "core/process/spawn.h"

namespace locus {
namespace fs = std::filesystem;
namespace {

// A driver's devices, and what CUDA reads of the machine.
void add_gpu(IsolationRules& rules) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/dev", error)) {
    if (entry.path().filename().string().starts_with("nvidia")) rules.devices.push_back(entry.path());
  }
  for (const char* path : {"/sys", "/etc/nvidia", "/run/nvidia-persistenced", "/tmp/nvidia-mps"})
    rules.read.emplace_back(path);
  rules.sockets = ChildSockets::kLocal;
}

}  // namespace

absl::StatusOr<bool> isolates_trainers(const WorkerOptions& options, IsolationSupport support) {
  const auto mode = parse_isolation(options.isolate);
  if (!mode) {
    return make_error(absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidArgument,
                      "--isolate " + options.isolate + ": choose auto, off or required", "isolate",
                      {{"isolate", options.isolate}});
  }
  if (*mode == IsolationMode::kOff) return false;
  const bool whole = support.landlock > 0 && support.system_calls;
  if (*mode == IsolationMode::kAuto) return options.device == "cpu" && (support.landlock > 0 || support.system_calls);
  if (whole) return true;
  const std::string lacks = support.landlock > 0 ? "filters of system calls" : "Landlock";
  return make_error(absl::StatusCode::kFailedPrecondition, ErrorReason::kLimitExceeded,
                    "--isolate required, but this kernel has no " + lacks +
                        "; start the worker on Linux 5.13 or newer with Landlock enabled, or give --isolate auto",
                    "isolate", {{"found", "no " + lacks}});
}

IsolationRules trainer_rules(const WorkerOptions& options, const Json& devices, const fs::path& scratch,
                             const std::vector<fs::path>& code) {
  IsolationRules rules = program_rules(options.trainer, devices);
  let_read_data(rules, options.data_root);
  rules.read.push_back(options.work / "artifacts");
  rules.read.insert(rules.read.end(), code.begin(), code.end());
  rules.write.push_back(scratch);
  if (const fs::path cache = data_cache_folder(); !cache.empty()) rules.write.push_back(cache);
  if (options.device == "cuda") add_gpu(rules);
  return rules;
}

// Where a training in Python finds the packages that it had when it was asked what it is (docs/own.md): those of
// PYTHONPATH and its user's own, which Python looks for below HOME.
static void keep_python_packages(const std::vector<std::string>& base, std::vector<std::string>& out) {
  for (const std::string& line : base) {
    if (line.starts_with("HOME=")) set_variable(out, "PYTHONUSERBASE", line.substr(5) + "/.local");
  }
  for (const std::string& line : base) {
    for (const std::string name : {"PYTHONPATH", "PYTHONUSERBASE"}) {
      if (line.starts_with(name + "=")) set_variable(out, name, line.substr(name.size() + 1));
    }
  }
}

std::vector<std::string> trainer_environment(const std::vector<std::string>& base, const WorkerOptions& options,
                                             const fs::path& scratch) {
  auto out = program_environment(base);
  if (options.device == "cuda") {  // where drivers are put into containers, this is how they are found
    for (const std::string& line : base) {
      if (line.starts_with("LD_LIBRARY_PATH=")) out.push_back(line);
    }
  }
  keep_python_packages(base, out);
  set_variable(out, "HOME", scratch.string());
  set_variable(out, "TMPDIR", scratch.string());
  return out;
}

}  // namespace locus
