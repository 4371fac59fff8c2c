// What starts machines.
#include "provisioner/engine.h"

#include <chrono>
#include <functional>
#include <map>

#include "core/base/error.h"
#include "core/base/invalid.h"
#include "core/process/spawn.h"

namespace locus {

#define LOCUS_ENGINE(name) absl::StatusOr<std::unique_ptr<Engine>> make_##name##_engine(const EngineSetup& setup);
#include "provisioner/engines.def"
#undef LOCUS_ENGINE

namespace {

constexpr auto kPatience = std::chrono::seconds(60);  // with a program of an engine
constexpr std::size_t kQuoted = 300;                  // of an answer

using Maker = std::function<absl::StatusOr<std::unique_ptr<Engine>>(const EngineSetup&)>;

const std::map<std::string, Maker>& makers() {
  static const std::map<std::string, Maker> kMakers = {
#define LOCUS_ENGINE(name) {#name, make_##name##_engine},
#include "provisioner/engines.def"
#undef LOCUS_ENGINE
  };
  return kMakers;
}

}  // namespace

std::vector<std::string> engine_names() {
  std::vector<std::string> out;
  for (const auto& [name, maker] : makers()) out.push_back(name);
  return out;
}

absl::StatusOr<std::unique_ptr<Engine>> make_engine(const std::string& name, const EngineSetup& setup) {
  const auto found = makers().find(name);
  if (found != makers().end()) return found->second(setup);
  std::string names;
  for (const std::string& one : engine_names()) names += (names.empty() ? "" : ", ") + one;
  return invalid("engine", "\"" + name + "\" is no engine; there are " + names);
}

absl::StatusOr<std::string> ask_engine(std::vector<std::string> command, const std::string& advice,
                                       const std::string& input, const std::map<std::string, std::string>& variables) {
  LOCUS_ASSIGN_OR_RETURN(command.front(), find_program(command.front(), advice));
  return run_and_capture(command, kPatience, input, variables);
}

std::map<std::string, std::string> variables_of(const EngineSetup& setup, const NewWorker& worker) {
  std::map<std::string, std::string> out = {
      {"LOCUS_SERVER", setup.server}, {"LOCUS_POOL", setup.pool}, {"LOCUS_WORKER_NAME", worker.name}};
  if (!worker.token.empty()) out["LOCUS_ENROLL"] = worker.token;
  if (worker.stays) out["LOCUS_STAYS"] = "1";
  return out;
}

absl::Status unexpected_answer(const std::string& program, const std::string& found, const std::string& expected) {
  return make_error(absl::StatusCode::kUnavailable, ErrorReason::kInvalidArgument,
                    program + " answered \"" + found.substr(0, kQuoted) + "\" where " + expected +
                        " was expected; run it by hand to see what is wrong",
                    "", {{"program", program}});
}

}  // namespace locus
