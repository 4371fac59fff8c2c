// Follows an experiment: what `watch` and `submit --watch` do.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <thread>

#include "cli/command.h"
#include "cli/render/progress.h"
#include "core/base/error.h"

namespace locus {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kRedraw = 400ms, kLineEvery = 10s, kAwayMost = 5s, kWorkerHintAfter = 3s;
constexpr auto kGiveUp = 30min;  // a server away for longer is not restarting

// Draws a block of lines over the one drawn before.
class Screen {
 public:
  void draw(const std::vector<std::string>& lines) {
    std::string out = erase();
    for (const std::string& line : lines) out += line + "\n";
    drawn_ = static_cast<int>(lines.size());
    print(out);
  }
  void clear() { print(erase()), drawn_ = 0; }
  void leave() { drawn_ = 0; }  // what is drawn stays

 private:
  std::string erase() const { return drawn_ > 0 ? "\033[" + std::to_string(drawn_) + "A\033[J" : ""; }
  int drawn_ = 0;
};

std::string clock_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%H:%M:%S", &parts);
  return text;
}

// What makes a new line worth printing.
std::string digest_of(const v1::Experiment& experiment) {
  std::string out = experiment.state() + " " + std::to_string(experiment.trials_done());
  for (const char* state : {"succeeded", "failed", "held", "parked"}) {
    const auto found = experiment.stages().find(state);
    out += " " + std::to_string(found == experiment.stages().end() ? 0 : found->second);
  }
  return out;
}

// The transport failed or the server is stopping: it said nothing about the experiment itself.
bool server_is_away(const absl::Status& status) {
  const auto detail = error_detail(status);
  return !detail || detail->reason == ErrorReason::kServerUnavailable || detail->reason == ErrorReason::kServerDraining;
}

// Paused, and what ran then has ended: nothing happens until somebody resumes it.
bool is_resting(const v1::Experiment& experiment) {
  return experiment.state() == "paused" && experiment.running_size() == 0;
}

class Follower {
 public:
  Follower(Client& client, bool json) : client_(client), json_(json), terminal_(terminal()) {}

  void show(const v1::Experiment& experiment) {
    if (away_ && !json_) note("the server is back");
    away_ = false;
    if (json_) {
      if (changed(experiment)) print_json(experiment, true);
      return;
    }
    if (terminal_.interactive) {
      std::vector<std::string> lines = render_progress(experiment, {terminal().width, 8, terminal_.color});
      if (const std::string hint = worker_hint(experiment); !hint.empty()) lines.push_back(hint);
      screen_.draw(lines);
      return;
    }
    const bool due = Steady::now() - line_at_ >= kLineEvery;
    if (!changed(experiment) && !due) return;
    line_at_ = Steady::now();
    print(clock_text() + " " + render_progress_line(experiment) + "\n");
    const std::string hint = worker_hint(experiment);
    if (!hint.empty() && !hinted_) print(hint + "\n"), hinted_ = true;
  }

  // Says why following ends although the experiment is not over.
  void resting(const v1::Experiment& experiment) {
    screen_.leave();
    const std::string why = experiment.reason().empty() ? "" : " (" + experiment.reason() + ")";
    note(experiment.name() + " is paused" + why + "; go on with: locus resume " + experiment.name() +
         " && locus watch " + experiment.name());
  }

  void server_away(const absl::Status& status) {
    if (away_) return;
    away_ = true;
    note("the server does not answer (" + std::string(status.message()) +
         "); waiting for it, the workers go on by themselves");
  }

 private:
  void note(const std::string& text) {
    if (terminal_.interactive && !json_) screen_.clear();
    std::fprintf(stderr, "%s %s\n", clock_text().c_str(), text.c_str());
  }

  bool changed(const v1::Experiment& experiment) {
    const std::string digest = digest_of(experiment);
    return digest != last_ && (last_ = digest, true);
  }

  // Nothing runs though something could: say why, if it is that nobody is there to do it.
  std::string worker_hint(const v1::Experiment& experiment) {
    if (experiment.running_size() > 0 || experiment.state() != "active") {
      idle_since_ = Steady::now();
      return "";
    }
    if (Steady::now() - idle_since_ < kWorkerHintAfter) return "";
    const auto workers = client_.list_workers();
    if (!workers.ok()) return "";
    const bool any = std::any_of(workers->workers().begin(), workers->workers().end(),
                                 [](const v1::Worker& worker) { return worker.state() == "active"; });
    return any ? "" : "no worker is connected; start one with: locus worker --server " + client_.address();
  }

  Client& client_;
  bool json_;
  Terminal terminal_;
  Screen screen_;
  std::string last_;
  bool away_ = false, hinted_ = false;
  Steady::time_point line_at_ = Steady::now(), idle_since_ = Steady::now();
};

}  // namespace

int follow(Client& client, const std::string& experiment, bool json) {
  Follower follower(client, json);
  v1::GetExperimentRequest request;
  request.set_name(experiment);
  std::chrono::milliseconds wait = kRedraw;
  auto answered_at = Steady::now();
  bool answered = false;
  while (true) {
    const auto answer = client.get_experiment(request);
    if (answer.ok()) {
      follower.show(*answer);
      if (is_over(*answer)) return answer->state() == "completed" ? kExitDone : kExitFailed;
      if (is_resting(*answer)) {
        follower.resting(*answer);
        return kExitFailed;
      }
      answered = true;
      answered_at = Steady::now();
      wait = kRedraw;
    } else {
      const bool away = server_is_away(answer.status());
      if (!answered || !away || Steady::now() - answered_at > kGiveUp) return report_error(answer.status(), json);
      follower.server_away(answer.status());
      wait = std::min(wait * 2, kAwayMost);
    }
    std::this_thread::sleep_for(wait);
  }
}

}  // namespace locus
