// How long others wait while a large experiment is deleted or cancelled: a server on a folder of its own, with an
// experiment that has run or one of which nothing has, is asked one thing after the other until the last row is gone or
// the last stage cancelled.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "client/client.h"
#include "server/app/serve.h"
#include "storage/sqlite/store.h"

namespace locus {
namespace {

using Timer = std::chrono::steady_clock;

double milliseconds_since(Timer::time_point start) {
  return std::chrono::duration<double, std::milli>(Timer::now() - start).count();
}

template <class T>
T must(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "%s\n", value.status().ToString().c_str());
  std::exit(1);
}
void must(const absl::Status& status) {
  if (!status.ok()) must(absl::StatusOr<int>(status));
}

constexpr int kPointsPerTrial = 20;

SaveExperiment experiment_of(ExperimentId id, const std::string& name, int trials, StageId first) {
  SaveExperiment out;
  out.row.id = id;
  out.row.name = name;
  out.row.spec_json = "{}";
  out.row.revision = 1;
  out.row.state = ExperimentState::kActive;
  for (int i = 0; i < trials; ++i) {
    StageRow train, evaluate;
    train.id = first + 2 * i;
    evaluate.id = train.id + 1;
    train.identity = "train-" + std::to_string(train.id);
    evaluate.identity = "evaluate-" + std::to_string(train.id);
    train.kind = "train";
    evaluate.kind = "evaluate";
    train.config_json = "{\"lr\":" + std::to_string(train.id) + "}";
    evaluate.config_json = "{\"resolution\":28,\"of\":" + std::to_string(train.id) + "}";
    train.state = StageState::kQueued;
    evaluate.state = StageState::kBlocked;
    evaluate.inputs = {{"checkpoint", train.id, ""}};
    out.cells.push_back({i, std::to_string(i), "lr=" + std::to_string(i), "{}"});
    out.trials.push_back({i, i, 0, false});
    out.trial_stages.push_back({i, "train", train.id});
    out.trial_stages.push_back({i, "evaluate", evaluate.id});
    out.stages.push_back(std::move(train));
    out.stages.push_back(std::move(evaluate));
  }
  return out;
}

PointAppend points_of(StageId stage) {
  PointAppend out{stage, 1, 1, {}};
  out.points.series = {{"loss", "train", "{}"}};
  for (int i = 0; i < kPointsPerTrial; ++i) {
    out.points.series_index.push_back(0);
    out.points.step.push_back(i);
    out.points.epoch.push_back(0);
    out.points.images.push_back(i);
    out.points.time_us.push_back(i);
    out.points.value.push_back(1.0 / (i + 1));
  }
  return out;
}

// A transaction of a hundred thousand seals takes minutes.
void apply_in_parts(Store& store, std::span<const Mutation> mutations) {
  constexpr std::size_t kPart = 1000;
  for (; !mutations.empty(); mutations = mutations.subspan(std::min(kPart, mutations.size())))
    must(store.apply(mutations.first(std::min(kPart, mutations.size())), 0));
}

// One experiment to end, and a small one to ask about meanwhile.
void fill(const std::filesystem::path& folder, int trials, bool ran) {
  auto store = must(open_sqlite_store(folder, system_clock()));
  WorkerRow worker;
  worker.id = 1;
  worker.name = "bench";
  must(store->apply(std::vector<Mutation>{PutWorker{worker}, experiment_of(1, "large", trials, 1),
                                          experiment_of(2, "small", 20, 2 * trials + 1)},
                    0));
  if (!ran) return;
  std::vector<Mutation> grants, ends;
  for (StageId stage = 1; stage <= 2 * trials; stage += 2) {
    grants.push_back(GrantAttempt{stage, 1, 1, "session", {0}, "", 0, 0});
    EndAttempt end;
    end.stage_id = stage;
    end.number = 1;
    end.outcome = AttemptState::kSucceeded;
    end.ended_us = 1;
    end.stage_state = StageState::kSucceeded;
    end.results = {{{"top1", "test", "{}"}, "last", 0.5, kPointsPerTrial}};
    ends.push_back(end);
    SetStageState cancelled;
    cancelled.stage_id = stage + 1;
    cancelled.from = StageState::kBlocked;
    cancelled.to = StageState::kCancelled;
    ends.push_back(cancelled);
  }
  apply_in_parts(*store, grants);
  std::vector<std::future<void>> writers;  // they share transactions
  constexpr int kWriters = 16;
  for (int w = 0; w < kWriters; ++w) {
    writers.push_back(std::async(std::launch::async, [&, w] {
      for (StageId stage = 1 + 2 * w; stage <= 2 * trials; stage += 2 * kWriters) {
        must(store->append(points_of(stage), 0).status());
      }
    }));
  }
  for (auto& writer : writers) writer.get();
  apply_in_parts(*store, ends);
}

// What others ask, again and again. Times in milliseconds.
class Others {
 public:
  struct Slowest {
    double before = 0, meanwhile = 0;
    int calls = 0;  // meanwhile
  };

  Others(Server& server, Client& client) : server_(server), client_(client) {
    get_.set_name("small");
    pause_.set_name("small");
    resume_.set_name("small");
  }

  void ask(bool before) {
    one("health", before, [&] { return server_.answers() ? absl::OkStatus() : absl::UnavailableError("no answer"); });
    one("list experiments", before, [&] { return client_.list_experiments({}).status(); });
    one("one experiment", before, [&] { return client_.get_experiment(get_).status(); });
    one("list workers", before, [&] { return client_.list_workers().status(); });
    one("pause", before, [&] { return client_.pause_experiment(pause_).status(); });
    one("resume", before, [&] { return client_.resume_experiment(resume_).status(); });
  }
  const std::map<std::string, Slowest>& slowest() const { return slowest_; }

 private:
  void one(const std::string& what, bool before, const std::function<absl::Status()>& call) {
    const auto start = Timer::now();
    must(call());
    Slowest& entry = slowest_[what];
    double& most = before ? entry.before : entry.meanwhile;
    most = std::max(most, milliseconds_since(start));
    if (!before) ++entry.calls;
  }

  Server& server_;
  Client& client_;
  v1::GetExperimentRequest get_;
  v1::PauseExperimentRequest pause_;
  v1::ResumeExperimentRequest resume_;
  std::map<std::string, Slowest> slowest_;
};

constexpr int kRoundsBefore = 20;

// Whether the end goes on in pieces after its answer, and whether it still does.
bool delete_large(Client& client) {
  v1::DeleteExperimentRequest request;
  request.set_name("large");
  request.set_force(true);
  const auto start = Timer::now();
  const auto done = must(client.delete_experiment(request));
  std::printf("deleted %d trials and %d stages: answered after %.0f ms\n", done.trials(), done.stages(),
              milliseconds_since(start));
  return done.purging();
}
bool cancel_large(Client& client) {
  v1::CancelExperimentRequest request;
  request.set_name("large");
  const auto start = Timer::now();
  must(client.cancel_experiment(request));
  std::printf("cancelled: answered after %.0f ms\n", milliseconds_since(start));
  return true;
}
bool cancelling(Client& client) {
  v1::GetExperimentRequest request;
  request.set_name("large");
  const auto stages = must(client.get_experiment(request)).stages();
  return stages.contains("queued") || stages.contains("blocked");
}

int run(const std::filesystem::path& folder, int trials, bool cancel) {
  std::filesystem::remove_all(folder);
  fill(folder, trials, !cancel);
  ServerOptions options;
  options.data = folder;
  options.grpc_address = options.http_address = "127.0.0.1:0";
  auto server = must(Server::start(options, must(make_parts(options))));
  auto client = must(Client::connect(server->addresses().grpc));
  auto other = must(Client::connect(server->addresses().grpc));

  Others others(*server, *other);
  for (int i = 0; i < kRoundsBefore; ++i) others.ask(/*before=*/true);
  auto end = std::async(std::launch::async, [&] { return cancel ? cancel_large(*client) : delete_large(*client); });
  const auto begun = Timer::now();
  bool ending = true;
  while (ending) {
    others.ask(/*before=*/false);
    if (!end.valid()) {
      ending = cancel ? cancelling(*other) : must(other->get_server()).purging();
    } else if (end.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
      ending = end.get();
    }
  }
  std::printf("all was over after %.1f s\n", milliseconds_since(begun) / 1000);
  for (const auto& [what, entry] : others.slowest())
    std::printf("  %-16s slowest of %5d: %6.1f ms; before it, of %d: %6.1f ms\n", what.c_str(), entry.calls,
                entry.meanwhile, kRoundsBefore, entry.before);
  server->stop();
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  const bool cancel = argc == 4 && std::string(argv[3]) == "cancel";
  if (argc < 2 || argc > (cancel ? 4 : 3)) {
    std::fprintf(stderr,
                 "usage: deletion_bench FOLDER [TRIALS [cancel]]   (made, filled and removed; 100,000 trials)\n");
    return 2;
  }
  return locus::run(argv[1], argc >= 3 ? std::atoi(argv[2]) : 100'000, cancel);
}
