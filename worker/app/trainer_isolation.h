// How far trainers of this worker are kept in: what they must reach, and what they are told.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/json.h"
#include "core/process/isolation.h"
#include "worker/app/worker.h"

namespace locus {

// Whether trainers on options.device are isolated: "auto" does so on the CPU where the kernel can hold anything,
// "required" everywhere. FAILED_PRECONDITION where "required" is more than `support`: files and system calls;
// INVALID_ARGUMENT for another word.
absl::StatusOr<bool> isolates_trainers(const WorkerOptions& options, IsolationSupport support = isolation_support());

// What a trainer that writes into `scratch` must reach. `devices` is what it answered to that question, and names the
// folders of the libraries it has loaded. Looks at the data root: one may link to other disks.
// `code`: files and folders of others that it runs.
IsolationRules trainer_rules(const WorkerOptions& options, const Json& devices, const std::filesystem::path& scratch,
                             const std::vector<std::filesystem::path>& code = {});

// Its variables: of `base` what it may know (core/process/program.h), with temporary files and caches of
// its own in `scratch`.
std::vector<std::string> trainer_environment(const std::vector<std::string>& base, const WorkerOptions& options,
                                             const std::filesystem::path& scratch);

}  // namespace locus
