// Starting, killing and finding processes.
#include "tests/chaos/cluster.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "core/base/json.h"
#include "core/process/spawn.h"
#include "tests/chaos/disks.h"

namespace locus::chaos {
namespace fs = std::filesystem;
using namespace std::chrono_literals;
namespace {

constexpr char kServer[] = "server";
constexpr std::chrono::milliseconds kLook = 20ms;  // between looks at what has nothing to wait on

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    std::ifstream in(entry.path() / "stat");
    std::string line;
    if (!std::getline(in, line)) continue;
    const auto close = line.rfind(')');
    if (close == std::string::npos || close + 4 > line.size()) continue;
    if (std::atoi(line.c_str() + close + 4) == parent) out.push_back(std::atoi(entry.path().filename().c_str()));
  }
  return out;
}

}  // namespace

Process::Process(std::vector<std::string> arguments, fs::path log, std::map<std::string, std::string> variables)
    : arguments_(std::move(arguments)), log_(std::move(log)), variables_(std::move(variables)) {
  start();
}

void Process::start() {
  const Fd log(::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  std::vector<std::string> environment = current_environment();
  for (const auto& [name, value] : variables_) set_variable(environment, name, value);
  auto pid = spawn({.arguments = arguments_, .environment = environment, .output = log.get(), .error = log.get()});
  if (!pid.ok()) throw std::runtime_error(std::string(pid.status().message()));
  pid_ = *pid;
}

void Process::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

void Process::kill() {
  if (pid_ <= 0) return;
  signal(SIGKILL);
  ::waitpid(std::exchange(pid_, 0), nullptr, 0);
}

bool Process::ended_by_itself(std::chrono::seconds limit) {
  const Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  pollfd ended{handle.get(), POLLIN, 0};
  if (::poll(&ended, 1, static_cast<int>(std::chrono::milliseconds(limit).count())) <= 0) return false;
  ::waitpid(std::exchange(pid_, 0), nullptr, 0);
  return true;
}

Cluster::Cluster(fs::path bin, fs::path folder, fs::path wrong_clock, int slots, bool small_disks)
    : bin_(std::move(bin)),
      folder_(std::move(folder)),
      wrong_clock_(std::move(wrong_clock)),
      slots_(slots),
      small_disks_(small_disks) {
  fs::create_directories(folder_);
  for (const std::string whose : {kServer, "left", "right"}) {
    // What the server lets go of stays there for an hour; workers keep no more than there is room for.
    if (small_disks_) mount_small_disk(disk_of(whose), whose == kServer ? 2048 : 256);
  }
  for (const std::string whose : {kServer, "left", "right"}) set_clock(whose, 0s);
  restart_server();
  proxy_ = std::make_unique<Proxy>(grpc_, witness_);
  for (const std::string name : {"left", "right"})
    workers_[name] = std::make_unique<Process>(worker_arguments(name), folder_ / (name + ".log"), variables_of(name));
}

std::map<std::string, std::string> Cluster::variables_of(const std::string& whose) const {
  if (wrong_clock_.empty()) return {};
  return {{"LD_PRELOAD", wrong_clock_}, {"LOCUS_WRONG_CLOCK", clock_of(whose)}};
}

// Into the file as it is: those who have it mapped see the eight bytes at once.
void Cluster::set_clock(const std::string& whose, std::chrono::seconds wrong_by) const {
  if (wrong_clock_.empty()) return;
  const std::int64_t seconds = wrong_by.count();
  const Fd file(::open(clock_of(whose).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file || ::pwrite(file.get(), &seconds, sizeof seconds, 0) != sizeof seconds)
    throw std::runtime_error("cannot write " + clock_of(whose).string());
}

Cluster::~Cluster() { workers_.clear(); }

fs::path Cluster::disk_of(const std::string& whose) const {
  return folder_ / (whose == kServer ? "data" : "disk-" + whose);
}

void Cluster::fill_disk_of(const std::string& whose) const { fill_disk(disk_of(whose)); }

bool Cluster::free_disk_of(const std::string& whose) {
  free_disk(disk_of(whose));
  return !(whose == kServer ? *server_ : *workers_.at(whose)).ended_by_itself(0s);
}

void Cluster::restart_server() {
  const fs::path announcement = folder_ / "data" / "server.json";
  fs::remove(announcement);
  server_ = std::make_unique<Process>(std::vector<std::string>{bin_ / "locus", "serve", "--data", folder_ / "data",
                                                               "--grpc-address", grpc_, "--http-address", http_},
                                      folder_ / "server.log", variables_of(kServer));
  for (int i = 0; i < 1500; ++i) {
    std::ifstream in(announcement);
    if (const auto said = Json::parse(in, nullptr, false); said.is_object()) {
      grpc_ = said.at("grpc").get<std::string>();
      http_ = said.at("http").get<std::string>();
      return;
    }
    ::poll(nullptr, 0, kLook.count());
  }
  throw std::runtime_error("the server did not start; see " + (folder_ / "server.log").string());
}

std::vector<std::string> Cluster::worker_arguments(const std::string& name) {
  const std::string work =
      (small_disks_ ? disk_of(name) : folder_) / ("work-" + name + "-" + std::to_string(++daemons_));
  return {bin_ / "locus",
          "worker",
          "--server",
          proxy_->address(),
          "--name",
          name,
          "--slots",
          std::to_string(slots_),
          "--threads",
          "1",
          "--work",
          work,
          "--checkpoint-seconds",
          "1"};
}

void Cluster::undrain() {
  for (const auto& [name, worker] : workers_)
    (void)run_and_capture({bin_ / "locus", "drain", "--undo", name, "--server", proxy_->address()}, 60s);
}

std::size_t Cluster::submit(const fs::path& specification, const std::vector<std::string>& changes) {
  std::vector<std::string> arguments = {bin_ / "locus", "submit", "--json", "--server", proxy_->address()};
  for (const std::string& change : changes) arguments.insert(arguments.end(), {"--set", change});
  arguments.push_back(specification);
  auto said = run_and_capture(arguments, 60s);
  for (int i = 0; i < 30 && !said.ok(); ++i) {
    ::poll(nullptr, 0, 500);
    said = run_and_capture(arguments, 60s);
  }
  if (!said.ok()) throw std::runtime_error(std::string(said.status().message()));
  const Json answer = Json::parse(*said);
  return answer.value("stages_done", std::size_t{0}) + answer.value("stages_to_run", std::size_t{0});
}

std::string Cluster::state_of(const std::string& experiment) {
  const auto said = run_and_capture({bin_ / "locus", "show", "--json", "--server", proxy_->address(), experiment}, 60s);
  const Json answer = Json::parse(said.ok() ? *said : "", nullptr, /*allow_exceptions=*/false);
  return answer.is_object() ? answer.value("state", "") : "";
}

void Cluster::kill_server() { server_->kill(); }
void Cluster::kill_worker(const std::string& name) { workers_.at(name)->kill(); }
void Cluster::restart_worker(const std::string& name) { workers_.at(name)->start(); }

void Cluster::kill_trainer(const std::string& name) {
  for (const pid_t trainer : children_of(workers_.at(name)->pid())) ::kill(trainer, SIGKILL);
}

void Cluster::kill_rank(const std::string& name, std::size_t draw) {
  const std::vector<pid_t> trainers = children_of(workers_.at(name)->pid());
  if (!trainers.empty()) ::kill(trainers[draw % trainers.size()], SIGKILL);
}

void Cluster::stop_worker(const std::string& name) { workers_.at(name)->signal(SIGSTOP); }

void Cluster::continue_worker(const std::string& name, std::chrono::seconds later) {
  ::poll(nullptr, 0, static_cast<int>(std::chrono::milliseconds(later).count()));
  workers_.at(name)->signal(SIGCONT);
}

bool Cluster::twin(const std::string& name) {
  Process second(worker_arguments(name), folder_ / (name + ".log"));
  return second.ended_by_itself(60s) && !workers_.at(name)->ended_by_itself(0s);
}

bool Cluster::stop() {
  for (auto& [name, worker] : workers_) worker->signal(SIGTERM);
  for (auto& [name, worker] : workers_) worker->ended_by_itself(60s);
  server_->signal(SIGTERM);
  return server_->ended_by_itself(60s);
}

}  // namespace locus::chaos
