// locus logs: what a trial's trainer prints.
#include <chrono>
#include <thread>

#include "cli/command.h"
#include "core/base/error.h"

namespace locus {
namespace {

using namespace std::chrono_literals;

constexpr auto kAskEvery = 500ms;
constexpr int kAsksAfterTheEnd = 5;               // what was printed last may come after the outcome
constexpr auto kAway = std::chrono::minutes(30);  // a server away for longer is not restarting

struct LogsOptions {
  ServerChoice server;
  std::string trial, stage;
  std::int64_t attempt = 0, tail = 0;
  bool follow = false;
};

// Reads the log of one attempt after another until the trial is over.
class LogReader {
 public:
  LogReader(Client& client, const LogsOptions& options) : client_(client), options_(options) {
    call_.patience = options.follow ? std::optional<std::chrono::microseconds>(kAway) : std::nullopt;
  }

  absl::StatusOr<int> run() {
    v1::ReadLogRequest request = newest();
    if (options_.tail > 0) request.set_offset(-options_.tail);
    while (true) {
      LOCUS_ASSIGN_OR_RETURN(const v1::ReadLogResponse answer, client_.read_log(request, call_));
      const bool moved = answer.stage() != stage_ || answer.attempt() != attempt_;
      if (moved) announce(answer);
      show(answer);
      request.set_trial("");
      request.set_stage(stage_ = answer.stage());
      request.set_attempt(attempt_ = answer.attempt());
      request.set_offset(answer.next_offset());
      // Half a character at the end waits for its rest: what is left may be nothing to read yet.
      if (answer.next_offset() < answer.total() && !answer.text().empty()) continue;
      if (!options_.follow) return kExitDone;
      if (answer.attempt() == 0) {
        LOCUS_ASSIGN_OR_RETURN(const bool done, trial_is_over());
        if (done) return kExitDone;
      }
      if (!answer.ended()) {
        std::this_thread::sleep_for(kAskEvery);
        continue;
      }
      LOCUS_ASSIGN_OR_RETURN(const bool further, find_next(request));
      if (!further) return kExitDone;
    }
  }

 private:
  v1::ReadLogRequest newest() const {
    v1::ReadLogRequest request;
    request.set_trial(options_.trial);
    request.set_role(options_.stage);
    request.set_attempt(options_.attempt);
    return request;
  }

  // After an attempt's end: the next one's request, waited for while the trial is not over. False: it is.
  absl::StatusOr<bool> find_next(v1::ReadLogRequest& request) {
    if (options_.attempt > 0) return false;
    for (int asks = 0;;) {
      LOCUS_ASSIGN_OR_RETURN(const bool done, trial_is_over());
      LOCUS_ASSIGN_OR_RETURN(const v1::ReadLogResponse answer, client_.read_log(newest(), call_));
      if (answer.stage() != stage_ || answer.attempt() != attempt_) {
        request = newest();
        return true;
      }
      if (answer.total() > request.offset()) return true;
      if (done && ++asks > kAsksAfterTheEnd) return false;
      std::this_thread::sleep_for(kAskEvery);
    }
  }

  absl::StatusOr<bool> trial_is_over() {
    v1::GetTrialRequest request;
    request.set_name(options_.trial);
    LOCUS_ASSIGN_OR_RETURN(const v1::TrialDetail detail, client_.get_trial(request, call_));
    std::string state = detail.trial().state();
    for (const v1::TrialStage& stage : detail.trial().stages()) {
      if (stage.role() == options_.stage) state = stage.state();
    }
    return state != "blocked" && state != "queued" && state != "running" && state != "waiting";
  }

  void announce(const v1::ReadLogResponse& answer) {
    if (!options_.server.json && stage_ != 0)
      std::fprintf(stderr, "--- stage %lld, attempt %lld ---\n", static_cast<long long>(answer.stage()),
                   static_cast<long long>(answer.attempt()));
  }

  void show(const v1::ReadLogResponse& answer) {
    if (answer.text().empty() && stage_ != 0) return;
    options_.server.json ? print_json(answer, true) : print(answer.text());
  }

  Client& client_;
  const LogsOptions& options_;
  CallOptions call_;
  std::int64_t stage_ = 0, attempt_ = 0;
};

}  // namespace

void add_logs(Program& app) {
  Command& command = add_command(
      app, {"logs",
            kExperimentGroup,
            "Print what a trial's trainer printed, and with --follow goes on printing",
            "Without --stage and --attempt, the newest attempt of the stage that ran last. The last MiB of each "
            "attempt is kept. With "
            "--follow, the attempts and stages to come are followed too, until the trial is over.",
            {{"locus logs fashion-mnist-priors/17 --follow", "Live, through retries, to the end"},
             {"locus logs fashion-mnist-priors/17 --stage train --attempt 1", "What the first attempt said"}}});
  auto options = std::make_shared<LogsOptions>();
  add_server_options(command, options->server);
  add_trial(command, options->trial);
  command.add_option("--stage", options->stage, "Stage of the trial, such as train or evaluate")->type_name("STAGE");
  command.add_option("--attempt", options->attempt, "Number of the attempt (default: the newest)")
      ->type_name("NUMBER")
      ->range(1, 1'000'000);
  command.add_option("--tail", options->tail, "Begin so many bytes before the end")
      ->type_name("BYTES")
      ->range(1, 1 << 20);
  command.add_flag("--follow", options->follow, "Go on until the trial is over");
  command.body = [options] {
    return ask_server(options->server, [&](Client& client) { return LogReader(client, *options).run(); });
  };
}

}  // namespace locus
