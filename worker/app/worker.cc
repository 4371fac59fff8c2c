// The daemon's start, signals and end.
#include "worker/app/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "core/base/data_copies.h"
#include "core/base/error.h"
#include "core/base/ids.h"
#include "core/log/log.h"
#include "worker/app/datasets.h"
#include "worker/app/devices.h"
#include "worker/app/memory.h"
#include "worker/app/packing.h"
#include "worker/app/sampler.h"
#include "worker/app/slot.h"

namespace locus {
namespace fs = std::filesystem;
namespace {

using namespace std::chrono_literals;

constexpr char kVersion[] = LOCUS_VERSION;

fs::path default_work() {
  if (const char* data = std::getenv("XDG_DATA_HOME"); data && *data) return fs::path(data) / "locus-worker";
  const char* home = std::getenv("HOME");
  return fs::path(home && *home ? home : ".") / ".local/share/locus-worker";
}

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

std::string visible_devices() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible ? visible : "";
}

// Everything the options leave open, settled.
absl::StatusOr<WorkerOptions> settled(WorkerOptions options) {
  if (options.name.empty()) options.name = worker_name(host_name());
  if (!valid_name(options.name)) {
    return make_error(
        absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidName,
        "\"" + options.name +
            "\" is not a worker's name: lower-case letters, digits and dashes, at most 63, a letter first",
        "name", {{"name", options.name}});
  }
  if (options.work.empty()) options.work = default_work();
  if (options.trainer.empty()) options.trainer = fs::read_symlink("/proc/self/exe").parent_path() / "locus-trainer";
  std::error_code error;
  fs::create_directories(options.work, error);
  if (!error) options.work = fs::canonical(options.work, error);
  if (error) {
    return make_error(
        absl::ErrnoToStatusCode(error.value()), ErrorReason::kDataFolderUnusable,
        "cannot use " + options.work.string() + " as work folder: " + error.message() + "; choose another with --work",
        "work", {{"path", options.work.string()}});
  }
  return options;
}

// Held as long as the daemon lives; the kernel lets go of it however that ends.
absl::StatusOr<Fd> lock_folder(const fs::path& work) {
  const fs::path path = work / "lock";
  Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) {
    return make_error(absl::ErrnoToStatusCode(errno), ErrorReason::kDataFolderUnusable,
                      "cannot write in the work folder " + work.string() + ": " + std::strerror(errno) +
                          "; choose another with --work",
                      "work", {{"path", work.string()}});
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return make_error(
        absl::StatusCode::kFailedPrecondition, ErrorReason::kDataFolderInUse,
        "another worker uses the work folder " + work.string() + ": stop it, or give this one its own with --work",
        "work", {{"path", work.string()}});
  }
  return lock;
}

// What no two living daemons share: the folder, whose lock is held, and the boot, since the folder of a machine that was
// copied is in both. FOLDER is drawn once and kept in the folder.
absl::StatusOr<std::string> instance_of(const fs::path& work) {
  const fs::path path = work / "instance";
  std::string folder, boot;
  std::ifstream(path) >> folder;
  if (folder.empty()) {
    folder = random_uuid();
    std::ofstream out(path);
    out << folder << "\n";
    if (!out.flush()) {
      return make_error(absl::StatusCode::kUnavailable, ErrorReason::kDataFolderUnusable,
                        "cannot write " + path.string() + ": look at its disk, or choose another folder with --work",
                        "work", {{"path", path.string()}});
    }
  }
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return folder + "@" + boot;
}

class Worker : private LinkListener {
 public:
  Worker(WorkerOptions options, std::function<void(const WorkerReady&)> ready)
      : options_(std::move(options)), ready_(std::move(ready)) {}

  absl::Status prepare();
  absl::Status run(int signals);

 private:
  absl::Status open_link(const Catalog& catalog);
  void watch_data();
  void drain();
  void registered() override;
  void granted(std::shared_ptr<Attempt> attempt) override;
  void stop_wished(LeaseBook::Key key) override {
    for (auto& slot : slots_) slot->stop_attempt(key);
  }
  void discarded(LeaseBook::Key key) override {
    for (auto& slot : slots_) slot->discard_attempt(key);
  }
  void stop_point_moved(LeaseBook::Key key, std::int64_t until_step) override {
    for (auto& slot : slots_) slot->move_stop_point(key, until_step);
  }
  void refused(const absl::Status& status) override { give_up(status); }
  SystemSamples take_samples() override { return sampler_ ? sampler_->take() : SystemSamples(); }
  std::vector<SampledAttempt> at_work();
  void give_up(const absl::Status& status);

  const WorkerOptions options_;
  std::function<void(const WorkerReady&)> ready_;  // the heartbeat thread's; empty once called
  std::vector<DeviceSlot> devices_;
  std::unique_ptr<Datasets> data_;
  std::unique_ptr<Sampler> sampler_;  // before the link, which asks it
  std::unique_ptr<Link> link_;
  std::unique_ptr<Packing> packing_;          // likewise
  std::vector<std::unique_ptr<Slot>> slots_;  // before the link's end: they use it
  Wakeup wakeup_;
  Cancellation over_;  // of watching the data
  std::mutex mutex_;
  absl::Status fatal_;
  bool drained_ = false;
};

absl::Status Worker::prepare() {
  LOCUS_ASSIGN_OR_RETURN(const Json devices, ask_trainer(options_.trainer, "devices"));
  LOCUS_ASSIGN_OR_RETURN(
      devices_,
      offered_slots(devices, options_, static_cast<int>(std::thread::hardware_concurrency()), usable_memory()));
  LOCUS_ASSIGN_OR_RETURN(const Json document, ask_trainer(options_.trainer, "catalog"));
  LOCUS_ASSIGN_OR_RETURN(const Catalog catalog, Catalog::parse(document));
  if (options_.once) {
    LOCUS_ASSIGN_OR_RETURN(const auto client, Client::connect(options_.server));
    LOCUS_RETURN_IF_ERROR(client->get_server().status());
  }
  return open_link(catalog);
}

absl::Status Worker::open_link(const Catalog& catalog) {
  v1::RegisterWorkerRequest announcement;
  announcement.set_name(options_.name);
  announcement.set_protocol_version(options_.protocol_version);
  announcement.set_host(host_name());
  LOCUS_ASSIGN_OR_RETURN(*announcement.mutable_instance(), instance_of(options_.work));
  announcement.set_take_over(options_.take_over);
  data_ = std::make_unique<Datasets>(catalog, options_.data_root, data_cache_folder());
  *announcement.mutable_data() = data_->look();
  log_info("holds {} of {} known datasets here; no stage that needs another will be run (locus data list)",
           announcement.data().datasets_size(),
           announcement.data().datasets_size() + announcement.data().missing_size());
  announcement.set_version(kVersion);
  announcement.set_catalog_digest(catalog.digest());
  for (const auto& [item, revision] : catalog.revisions()) (*announcement.mutable_revisions())[item] = revision;
  const RunLimits limits{std::chrono::microseconds(options_.silence).count(),
                         std::chrono::microseconds(options_.start_silence).count(),
                         std::chrono::microseconds(options_.kill_wait).count()};
  for (const DeviceSlot& device : devices_) {
    auto* slot = announcement.add_slots();
    slot->set_device(device.device);
    slot->set_index(device.index);
    slot->set_threads(device.threads);
    slot->set_name(device.name);
    slot->set_memory_bytes(device.memory_bytes);
  }
  LeasePolicy leases;
  leases.heartbeat = std::chrono::microseconds(options_.heartbeat).count();
  LinkOptions link{.server = options_.server,
                   .work = options_.work,
                   .announcement = announcement,
                   .outbox = {.max_bytes = options_.outbox_bytes},
                   .leases = leases,
                   .cache_bytes = options_.cache_bytes};
  std::vector<int> gpus, shared;
  for (const DeviceSlot& device : devices_) {
    const int gpu = gpu_index(device, visible_devices());
    if (gpu >= 0 && std::find(gpus.begin(), gpus.end(), gpu) == gpus.end()) gpus.push_back(gpu);
    shared.push_back(device.device == "cuda" ? device.index : -1);
  }
  packing_ = std::make_unique<Packing>(std::move(shared));
  sampler_ = std::make_unique<Sampler>([this] { return at_work(); }, std::move(gpus), options_.sample_interval);
  LOCUS_ASSIGN_OR_RETURN(link_, Link::open(std::move(link), *this));
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    SlotSetup setup;
    setup.index = static_cast<int>(i);
    // A GPU's trainer sees that one alone, at index 0.
    setup.execution = {devices_[i].device,
                       devices_[i].device == "cuda" ? 0 : devices_[i].index,
                       devices_[i].threads,
                       options_.data_root,
                       {},
                       options_.checkpoint_seconds};
    setup.trainer = {options_.trainer.string(),
                     slot_environment(current_environment(), devices_[i], visible_devices())};
    setup.catalog_digest = catalog.digest();
    setup.limits = limits;
    setup.check_data = [this](const std::string& dataset) {
      data_->check(dataset);
      link_->announce(data_->look());
    };
    slots_.push_back(
        std::make_unique<Slot>(std::move(setup), *link_, *packing_, [this](const absl::Status& s) { give_up(s); }));
  }
  return absl::OkStatus();
}

// Datasets come and go while the daemon lives.
void Worker::watch_data() {
  while (!over_.cancelled()) {
    over_.wait_for(std::chrono::milliseconds(options_.look_at_data));
    if (over_.cancelled()) return;
    link_->announce(data_->look());
    if (const auto back = packing_->come_back(system_clock().steady()); !back.empty()) link_->offer(back);
  }
}

std::vector<SampledAttempt> Worker::at_work() {
  std::vector<SampledAttempt> out;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (const auto work = slots_[i]->at_work())
      out.push_back({work->first, work->second, gpu_index(devices_[i], visible_devices())});
  }
  return out;
}

void Worker::registered() {
  if (auto ready = std::exchange(ready_, {}))
    ready({options_.name, options_.server, options_.device, options_.work.string(), static_cast<int>(devices_.size())});
}

void Worker::granted(std::shared_ptr<Attempt> attempt) {
  const int slot = attempt->grant().slots_size() > 0 ? attempt->grant().slots(0) : 0;
  if (slot >= 0 && slot < static_cast<int>(slots_.size()))
    slots_[static_cast<std::size_t>(slot)]->assign(std::move(attempt));
}

void Worker::give_up(const absl::Status& status) {
  std::lock_guard lock(mutex_);
  if (fatal_.ok()) fatal_ = status;
  wakeup_.wake();
}

void Worker::drain() {
  link_->take_no_more();
  const Microseconds kill_at = system_clock().steady() + std::chrono::microseconds(options_.kill_wait).count();
  for (auto& slot : slots_) slot->drain(kill_at);
  for (auto& slot : slots_) slot->join();
  if (!link_->wait_delivered(options_.delivery_wait)) {
    log_warning("not everything was delivered; the next worker on {} goes on with it", options_.work.string());
  }
  link_->stop();
  std::lock_guard lock(mutex_);
  drained_ = true;
  wakeup_.wake();
}

absl::Status Worker::run(int signals) {
  log_info("worker {} offers {} {} slot(s) to {}", options_.name, slots_.size(), options_.device, options_.server);
  for (auto& slot : slots_) slot->start();
  sampler_->start();
  link_->start();
  std::vector<int> all;
  for (std::size_t i = 0; i < slots_.size(); ++i) all.push_back(static_cast<int>(i));
  link_->offer(all);
  std::thread watcher([this] { watch_data(); }), drainer;
  absl::Status fatal;
  while (true) {
    pollfd fds[] = {{signals, POLLIN, 0}, {wakeup_.fd(), POLLIN, 0}};
    ::poll(fds, 2, -1);
    if (fds[0].revents) {
      signalfd_siginfo info;
      [[maybe_unused]] const ssize_t n = ::read(signals, &info, sizeof(info));
      if (drainer.joinable()) ::_exit(128 + static_cast<int>(info.ssi_signo));  // the trainers die with us
      log_info("{}: saving checkpoints and stopping; once more to stop at once",
               ::strsignal(static_cast<int>(info.ssi_signo)));
    }
    wakeup_.clear();
    std::unique_lock lock(mutex_);
    fatal = fatal_;
    if (drained_) break;
    lock.unlock();
    if (!drainer.joinable() && (fds[0].revents || !fatal.ok())) drainer = std::thread([this] { drain(); });
  }
  drainer.join();
  over_.cancel();
  watcher.join();
  sampler_->stop();  // it asks the slots
  return fatal;
}

}  // namespace

absl::Status run_worker(const WorkerOptions& given, std::function<void(const WorkerReady&)> ready) {
  auto options = settled(given);
  if (!options.ok()) return options.status();
  const auto lock = lock_folder(options->work);
  if (!lock.ok()) return lock.status();
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &set,
                    nullptr);  // threads to come inherit it; trainers start with an empty mask
  const Fd signals(::signalfd(-1, &set, SFD_CLOEXEC));
  name_log("worker");
  Worker worker(*std::move(options), std::move(ready));
  LOCUS_RETURN_IF_ERROR(worker.prepare());
  return worker.run(signals.get());
}

int worker_main(const WorkerOptions& options) {
  const absl::Status status = run_worker(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "locus worker: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace locus
