// Somebody's own command: a cloud's autoscaling is a script. It is given JSON and answers with JSON, a document a run:
//   {"action":"count","pool":"gpu","server":"HOST:PORT"}             -> {"workers": 3}
//   {"action":"start","pool":"gpu","server":"HOST:PORT","workers":[{"name":"gpu-1f3c","token":"","stays":false}]}
//     -> {"workers": 1}, those it started. With a token each is to --enroll by it; one that stays is not to --exit-when-idle
#include "core/base/error.h"
#include "core/base/json_document.h"
#include "provisioner/engine.h"
#include "provisioner/settings.h"

namespace locus {
namespace {

constexpr char kCommandAdvice[] = "give exec.command a program that is installed here";

class Exec final : public Engine {
 public:
  Exec(const EngineSetup& setup, std::vector<std::string> command)
      : pool_(setup.pool), server_(setup.server), command_(std::move(command)) {}

  absl::StatusOr<int> count() override { return ask({{"action", "count"}}); }

  absl::Status start(const std::vector<NewWorker>& workers) override {
    Json named = Json::array();
    for (const NewWorker& worker : workers)
      named.push_back({{"name", worker.name}, {"token", worker.token}, {"stays", worker.stays}});
    LOCUS_ASSIGN_OR_RETURN(const int started, ask({{"action", "start"}, {"workers", std::move(named)}}));
    if (started == static_cast<int>(workers.size())) return absl::OkStatus();
    return unexpected_answer(command_.front(), "{\"workers\": " + std::to_string(started) + "}",
                             "a start of " + std::to_string(workers.size()));
  }

 private:
  absl::StatusOr<int> ask(Json question) {
    question["pool"] = pool_;
    question["server"] = server_;
    LOCUS_ASSIGN_OR_RETURN(const std::string answer, ask_engine(command_, kCommandAdvice, question.dump() + "\n"));
    const auto parsed = parse_json(answer, ErrorReason::kInvalidArgument, "exec");
    const Json workers = parsed.ok() && parsed->is_object() ? parsed->value("workers", Json()) : Json();
    constexpr std::int64_t kMost = 1'000'000;
    if (!workers.is_number_integer() || workers.get<std::int64_t>() < 0 || workers.get<std::int64_t>() > kMost)
      return unexpected_answer(command_.front(), answer, "{\"workers\": NUMBER}");
    return workers.get<int>();
  }

  const std::string pool_, server_;
  const std::vector<std::string> command_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> make_exec_engine(const EngineSetup& setup) {
  SettingsSection section(setup.settings, "exec");
  const auto command = section.texts("command");
  LOCUS_RETURN_IF_ERROR(section.end());
  if (!command || command->empty()) return section.missing("command", "command: [/usr/local/bin/machines]");
  return std::make_unique<Exec>(setup, *command);
}

}  // namespace locus
