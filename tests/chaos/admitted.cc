// A server and two enrolled workers, whose certificates are changed while they train.
#include "tests/chaos/admitted.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <stdexcept>

#include "core/base/json.h"
#include "core/process/spawn.h"
#include "tests/chaos/cluster.h"
#include "tests/chaos/ledger.h"

namespace locus::chaos {
namespace fs = std::filesystem;
using namespace std::chrono_literals;
namespace {

constexpr auto kOutWithin = 25s;  // a heartbeat, the end of a trainer, a wait for what is not delivered
constexpr auto kCompletesWithin = 300s;
constexpr int kBetween = 1'500;  // milliseconds, and as much again at random
enum class Change { kServersCertificate, kRevokedWorker, kServerKilled, kAuthority };
constexpr const char* kChanges[] = {"server's certificate replaced", "worker revoked and invited again",
                                    "server killed", "authority replaced"};

template <class Condition>
bool within(std::chrono::seconds limit, Condition condition) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    ::poll(nullptr, 0, 100);
  }
  return true;
}

// Everything with TLS on one machine. Throws std::runtime_error when something does not start or is refused.
class TlsCluster {
 public:
  TlsCluster(fs::path bin, fs::path folder) : bin_(std::move(bin)), folder_(std::move(folder)) {
    fs::create_directories(folder_);
    ::setenv("XDG_CONFIG_HOME", (folder_ / "config").c_str(), 1);  // where profiles are kept
    start_server();
    std::string first;
    std::ifstream(data() / "first-admin-token") >> first;
    ask({"login", first, "--server", url(), "--profile", "chaos"});
    for (const std::string name : {"left", "right"}) enroll(name);
  }

  fs::path data() const { return folder_ / "data"; }
  std::string ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), bin_ / "locus");
    auto said = run_and_capture(arguments, 60s);
    for (int i = 0; i < 20 && !said.ok(); ++i) {  // the server may be away, or take up a certificate
      ::poll(nullptr, 0, 500);
      said = run_and_capture(arguments, 60s);
    }
    if (!said.ok()) throw std::runtime_error(std::string(said.status().message()));
    return *said;
  }
  // As the administrator.
  std::string tell(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--profile", "chaos"});
    return ask(std::move(arguments));
  }
  std::string state() {
    const Json answer = Json::parse(tell({"show", "--json", "chaos"}), nullptr, false);
    return answer.is_object() ? answer.value("state", "") : "";
  }

  void replace_servers_certificate() {
    for (const char* file : {"server.key", "server.crt"}) fs::remove(data() / "tls" / file);
    server_->signal(SIGHUP);
  }
  void kill_server() {
    server_->kill();
    start_server();
  }
  // Ends by itself soon after a heartbeat and is let in again with what its folder holds. False if not.
  bool revoke(const std::string& name) {
    tell({"admin", "revoke", name});
    const bool out = workers_.at(name)->ended_by_itself(kOutWithin);
    workers_.erase(name);
    enroll(name);
    return out;
  }
  // The new one signs, everybody is invited anew, the former one is retired.
  void replace_authority() {
    ask({"admin", "ca", "new", "--data", data()});
    server_->signal(SIGHUP);
    std::string token = tell({"admin", "invite", "admin", "second"});
    token.erase(std::remove(token.begin(), token.end(), '\n'), token.end());
    ask({"login", token, "--server", url(), "--profile", "chaos"});
    for (const std::string name : {"left", "right"}) {
      workers_.at(name)->kill();
      workers_.erase(name);
      enroll(name);
    }
    ask({"admin", "ca", "retire", "--data", data()});
    server_->signal(SIGHUP);
  }
  bool stop() {
    for (auto& [name, worker] : workers_) worker->signal(SIGTERM);
    for (auto& [name, worker] : workers_) worker->ended_by_itself(60s);
    server_->signal(SIGTERM);
    return server_->ended_by_itself(60s);
  }

 private:
  std::string url() const { return "https://" + http_; }

  void start_server() {
    const fs::path announcement = data() / "server.json";
    fs::remove(announcement);
    server_ = std::make_unique<Process>(
        std::vector<std::string>{bin_ / "locus", "serve", "--data", data(), "--tls-name", "127.0.0.1", "--grpc-address",
                                 grpc_, "--http-address", http_},
        folder_ / "server.log");
    const bool started = within(30s, [&] {
      std::ifstream in(announcement);
      const auto said = Json::parse(in, nullptr, false);
      if (!said.is_object()) return false;
      grpc_ = said.at("grpc").get<std::string>();
      http_ = said.at("http").get<std::string>();
      return true;
    });
    if (!started) throw std::runtime_error("the server did not start; see " + (folder_ / "server.log").string());
  }

  void enroll(const std::string& name) {
    std::string token = tell({"admin", "invite", "worker", name});
    token.erase(std::remove(token.begin(), token.end(), '\n'), token.end());
    workers_[name] = std::make_unique<Process>(
        std::vector<std::string>{bin_ / "locus", "worker", "--enroll", token, "--server", url(), "--slots", "1",
                                 "--threads", "1", "--work", folder_ / ("work-" + name), "--checkpoint-seconds", "1"},
        folder_ / (name + ".log"));
  }

  const fs::path bin_, folder_;
  std::string grpc_ = "127.0.0.1:0", http_ = "127.0.0.1:0";
  std::unique_ptr<Process> server_;
  std::map<std::string, std::unique_ptr<Process>> workers_;
};

class Admitted {
 public:
  explicit Admitted(const AdmittedOptions& options) : options_(options), random_(options.seed) {}

  bool run() {
    {
      TlsCluster cluster(options_.bin, options_.work / "disturbed");
      disturb(cluster);
      if (!cluster.stop()) fail("the server did not end on SIGTERM");
      disturbed_ = read_ledger(cluster.data() / "locus.db");
    }
    if (findings_.problems.empty()) {
      Cluster cluster(options_.bin, options_.work / "undisturbed");
      std::vector<std::string> changes = options_.changes;
      changes.push_back(seeds());
      const std::size_t stages = cluster.submit(options_.specification, changes);
      if (!cluster.witness().wait_succeeded(stages, kCompletesWithin)) fail("the undisturbed run did not complete");
      if (!cluster.stop()) fail("the server did not end on SIGTERM");
      compare(read_ledger(cluster.database()), disturbed_, findings_);
      if (findings_.curve_points == 0) fail("nothing was compared");
    }
    for (const std::string& problem : findings_.problems) std::cout << "chaos: FAILED: " << problem << "\n";
    std::cout << "chaos: " << done_ << " changes of certificates (seed " << options_.seed << "), "
              << findings_.curve_points << " curve points alike\n"
              << (findings_.problems.empty() ? "chaos: everybody who may came back, the same result\n" : "");
    return findings_.problems.empty();
  }

 private:
  void fail(const std::string& problem) { findings_.problems.push_back(problem); }

  std::string seeds() const {
    std::string out = "replicates.seed=[0";
    for (int i = 1; i < replicates_; ++i) out += "," + std::to_string(i);
    return out + "]";
  }

  void submit(TlsCluster& cluster) {
    std::vector<std::string> arguments = {"submit", "--json", options_.specification, "--set", seeds()};
    for (const std::string& change : options_.changes) arguments.insert(arguments.end(), {"--set", change});
    cluster.tell(arguments);
  }

  void disturb(TlsCluster& cluster) {
    submit(cluster);
    while (done_ < options_.cycles && findings_.problems.empty()) {
      ::poll(nullptr, 0, kBetween + static_cast<int>(random_() % kBetween));
      if (cluster.state() == "completed") {
        ++replicates_;
        submit(cluster);
        continue;
      }
      strike(cluster);
    }
    const bool ended = within(kCompletesWithin, [&] { return cluster.state() == "completed"; });
    if (!ended) fail("the experiment did not complete; the logs are in " + options_.work.string());
    if (findings_.problems.empty()) cluster.tell({"admin", "audit", "--verify"});
  }

  void strike(TlsCluster& cluster) {
    // Every kind of change comes, the rarest last.
    const auto change = static_cast<Change>(done_ + 1 == options_.cycles ? 3 : random_() % 3);
    const std::string worker = random_() % 2 == 0 ? "left" : "right";
    ++done_;
    std::cout << "chaos: cycle " << done_ << ": " << kChanges[static_cast<int>(change)] << "\n";
    if (change == Change::kServersCertificate) cluster.replace_servers_certificate();
    if (change == Change::kServerKilled) cluster.kill_server();
    if (change == Change::kAuthority) cluster.replace_authority();
    if (change == Change::kRevokedWorker && !cluster.revoke(worker))
      fail("worker " + worker + " was revoked and went on; its log is in " + options_.work.string());
  }

  const AdmittedOptions options_;
  std::mt19937 random_;
  Ledger disturbed_;
  Findings findings_;
  int done_ = 0, replicates_ = 2;
};

}  // namespace

bool disturb_certificates(const AdmittedOptions& options) { return Admitted(options).run(); }

}  // namespace locus::chaos
