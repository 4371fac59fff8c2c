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

#include "bench/synthetic.h"
#include "client/client.h"

namespace locus::bench {
namespace {

// One experiment to end, and a small one to ask about meanwhile.
void fill(const std::filesystem::path& folder, int trials, bool ran) {
  auto store = must(open_sqlite_store(folder, system_clock()));
  WorkerRow worker;
  worker.id = 1;
  worker.name = "bench";
  must(store->apply(std::vector<Mutation>{PutWorker{worker}, experiment_of(1, "large", trials, 1),
                                          experiment_of(2, "small", 20, 2 * trials + 1)},
                    0));
  if (ran) run_all(*store, trials, 1);
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
  auto server = serve(folder);
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
}  // namespace locus::bench

int main(int argc, char** argv) {
  const bool cancel = argc == 4 && std::string(argv[3]) == "cancel";
  if (argc < 2 || argc > (cancel ? 4 : 3)) {
    std::fprintf(stderr,
                 "usage: deletion_bench FOLDER [TRIALS [cancel]]   (made, filled and removed; 100,000 trials)\n");
    return 2;
  }
  return locus::bench::run(argv[1], argc >= 3 ? std::atoi(argv[2]) : 100'000, cancel);
}
