// Phases of a fleet: submitted, enrolled, every slot filled, the server killed and started, work at a pace, work as fast as
// it goes.
#include "bench/fleet.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>

#include "bench/fleet_worker.h"
#include "core/base/fd.h"
#include "core/limits.h"
#include "core/process/spawn.h"

namespace locus::bench {
namespace {

constexpr int kTrialsEach = 10'000;  // of an experiment
constexpr double kPace = 30;         // a stage takes once to three times so many seconds at a pace
constexpr auto kAtAPace = std::chrono::seconds(30), kLooked = std::chrono::seconds(10),
               kAtFullSpeed = std::chrono::seconds(15), kFilledMost = std::chrono::seconds(120);

double fleet_seconds(Timer::time_point start) { return milliseconds_since(start) / 1000; }

// The server as a child process, so that its memory and its processor time are its own.
class ServerProcess {
 public:
  ServerProcess(const std::filesystem::path& folder, const std::string& address) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) must(absl::InternalError("no pipe"));
    const Fd output(ends[0]);
    Fd input(ends[1]);
    SpawnRequest request;
    request.arguments = {std::filesystem::read_symlink("/proc/self/exe"), "serve-fleet", folder, address};
    request.environment = current_environment();
    request.output = input.get();
    request.error = STDERR_FILENO;
    pid_ = must(spawn(request));
    input = Fd();
    for (char c; ::read(output.get(), &c, 1) == 1 && c != '\n';) address_ += c;
    if (address_.empty()) must(absl::InternalError("the server did not start"));
  }
  ~ServerProcess() { kill(); }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  const std::string& address() const { return address_; }
  pid_t pid() const { return pid_; }

  double processor_seconds() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::istringstream fields(text.substr(text.rfind(')') + 2));
    std::string field;
    long ticks = 0;
    for (int i = 3; i <= 15 && fields >> field; ++i) {
      if (i >= 14) ticks += std::stol(field);  // in user mode, in the kernel
    }
    return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }

  double mebibytes() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
    }
    return 0;
  }

 private:
  pid_t pid_ = 0;
  std::string address_;
};

void submit(const std::string& address, int stages) {
  const auto client = must(Client::connect(address));
  for (int first = 0; first < stages; first += kTrialsEach) {
    const int trials = std::min(kTrialsEach, stages - first);
    submit_empty(*client, "fleet-" + std::to_string(first / kTrialsEach), trials, first);
  }
}

v1::RegisterWorkerRequest announcement_of(int slots) {
  v1::RegisterWorkerRequest out;
  const Catalog catalog = must(server::load_catalog({}));
  out.set_protocol_version(kProtocolVersion);
  out.set_catalog_digest(catalog.digest());
  for (const auto& [item, revision] : catalog.revisions()) (*out.mutable_revisions())[item] = revision;
  for (int i = 0; i < slots; ++i) {
    v1::Slot& slot = *out.add_slots();
    slot.set_device("cpu");
    slot.set_index(i);
    slot.set_threads(1);
  }
  return out;
}

Json quantiles(std::vector<double> values) {
  if (values.empty()) return nullptr;
  return {{"count", values.size()},
          {"median", quantile(values, 0.5)},
          {"p99", quantile(values, 0.99)},
          {"most", values.back()}};
}

class FleetRun {
 public:
  FleetRun(const std::filesystem::path& folder, int workers, int slots, int stages)
      : folder_(folder),
        workers_(workers),
        slots_(slots),
        stages_(stages),
        server_(std::make_unique<ServerProcess>(folder, "127.0.0.1:0")) {
    shared_.address = server_->address();
    shared_.announcement = announcement_of(slots);
    row_ = {{"case", "fleet"}, {"workers", workers}, {"slots", slots}, {"stages", stages}};
  }

  Json run() {
    auto start = Timer::now();
    submit(shared_.address, stages_);
    say("submission_s", fleet_seconds(start));
    say("submitted_mib", server_->mebibytes());
    measure("filled", [&] { fill(); });
    restart();
    shared_.least_seconds = kPace;
    std::vector<double> looks;  // at what waits, as whoever watches a server asks for
    measure("at_a_pace", [&] {
      for (const auto& worker : fleet_) worker->go_on();
      const auto client = must(Client::connect(shared_.address));
      for (const auto began = Timer::now(); Timer::now() - began < kAtAPace;) {
        const auto asked = Timer::now();
        must(client->get_demand({}, {.deadline = kAtAPace}));
        looks.push_back(milliseconds_since(asked));
        std::this_thread::sleep_for(kLooked);
      }
    });
    say("demand_ms", quantiles(looks));
    shared_.least_seconds = 0;
    measure("at_full_speed", [&] {
      for (const auto& worker : fleet_) worker->go_on();
      std::this_thread::sleep_for(kAtFullSpeed);
    });
    shared_.over = true;
    server_->kill();
    wait_for([&] { return shared_.under_way == 0; });
    return row_;
  }

 private:
  void say(const std::string& what, Json value) {
    std::fprintf(stderr, "%s: %s\n", what.c_str(), value.dump().c_str());
    row_[what] = std::move(value);
  }

  template <class Condition>
  static void wait_for(Condition condition) {
    const auto start = Timer::now();
    while (!condition()) {
      if (Timer::now() - start > kFilledMost) must(absl::InternalError("the fleet does not get on"));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  void measure(const std::string& what, const std::function<void()>& phase) {
    shared_.take();
    const double before = server_->processor_seconds();
    const auto start = Timer::now();
    phase();
    const double wall = fleet_seconds(start), used = server_->processor_seconds() - before;
    const FleetShared::Figures figures = shared_.take();
    const auto granted = static_cast<double>(figures.grant_ms.size());
    say(what, {{"seconds", wall},
               {"grants_per_second", granted / wall},
               {"server_processors", used / wall},
               {"server_ms_per_grant", granted > 0 ? 1000 * used / granted : 0},
               {"grant_ms", quantiles(figures.grant_ms)},
               {"heartbeat_ms", quantiles(figures.heartbeat_ms)},
               {"completed", figures.completed},
               {"dropped", figures.dropped},
               {"refused", shared_.refused.exchange(0)},
               {"running", shared_.running.load()},
               {"mib", server_->mebibytes()}});
  }

  void fill() {
    for (int w = 0; w < workers_; ++w) fleet_.push_back(std::make_unique<FleetWorker>(shared_, w, slots_));
    const auto start = Timer::now();
    for (const auto& worker : fleet_) worker->start();
    wait_for([&] { return shared_.enrolled == workers_; });
    say("enrolled_s", fleet_seconds(start));
    const int most = std::min(workers_ * slots_, stages_);
    wait_for([&] { return shared_.running == most; });
    say("all_slots_s", fleet_seconds(start));
    std::this_thread::sleep_for(std::chrono::microseconds(kHeartbeat));  // then the heartbeats name all of them
  }

  // Killed, so that it finds what a crash leaves. Until it answers, and until every worker is back.
  void restart() {
    const std::string address = server_->address();
    server_->kill();
    shared_.enrolled = 0;
    const auto start = Timer::now();
    server_ = std::make_unique<ServerProcess>(folder_, address);
    const auto client = must(Client::connect(address, {.patience = kFilledMost}));
    must(client->list_workers().status());
    say("restart_s", fleet_seconds(start));
    wait_for([&] { return shared_.enrolled >= workers_; });
    say("all_back_s", fleet_seconds(start));
    say("restarted_mib", server_->mebibytes());
  }

  const std::filesystem::path folder_;
  const int workers_, slots_, stages_;
  std::unique_ptr<ServerProcess> server_;
  std::vector<std::unique_ptr<FleetWorker>> fleet_;
  FleetShared shared_;  // goes before them, with the agenda that calls them
  Json row_;
};

// Each worker is a connection at both ends.
void raise_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

Json fleet(const std::filesystem::path& folder, int workers, int slots, int stages) {
  raise_descriptors();
  return FleetRun(folder, workers, slots, stages).run();
}

int serve_fleet(const std::filesystem::path& folder, const std::string& address) {
  ServerOptions options;
  options.data = folder;
  options.grpc_address = address;
  options.http_address = "127.0.0.1:0";
  options.log_level = "error";
  return must(serve(options, [](const ServerAddresses& addresses) {
    std::printf("%s\n", addresses.grpc.c_str());
    std::fflush(stdout);
  }));
}

}  // namespace locus::bench
