// The daemon's start, signals and end.
#include "worker/app/worker.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "client/enrollment.h"
#include "core/base/data_copies.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/ids.h"
#include "core/log/log.h"
#include "worker/app/datasets.h"
#include "worker/app/devices.h"
#include "worker/app/lifetime.h"
#include "worker/app/memory.h"
#include "worker/app/packing.h"
#include "worker/app/sampler.h"
#include "worker/app/slot.h"
#include "worker/app/trainer_command.h"
#include "worker/app/trainer_isolation.h"
#include "worker/app/work_folder.h"

namespace locus {
namespace fs = std::filesystem;
namespace {

using namespace std::chrono_literals;

constexpr char kVersion[] = LOCUS_VERSION, kLocalServer[] = "127.0.0.1:7171";

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

std::string visible_devices() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible ? visible : "";
}

absl::Status check_worker_name(const std::string& name) {
  if (valid_name(name)) return absl::OkStatus();
  return make_error(
      absl::StatusCode::kInvalidArgument, ErrorReason::kInvalidName,
      "\"" + name + "\" is not a worker's name: lower-case letters, digits and dashes, at most 63, a letter first",
      "name", {{"name", name}});
}

// Enrolls if that is wanted; takes server, name and files from an enrollment where nothing else is said.
absl::Status settle_identity(WorkerOptions& options) {
  const fs::path folder = options.work / "tls";
  if (!options.enroll.empty()) {
    LOCUS_ASSIGN_OR_RETURN(const Enrollment enrolled, enroll(options.server, options.enroll, folder));
    log_info("enrolled as {} {}", enrolled.role, enrolled.name);
    options.server.clear();
  }
  const auto enrolled = read_enrollment(folder);
  if (enrolled.ok() && !options.tls.wanted()) {
    options.tls = tls_in(folder);
    if (options.server.empty()) options.server = enrolled->server;
    if (options.name.empty()) options.name = enrolled->name;
  }
  if (options.server.empty()) options.server = kLocalServer;
  if (options.name.empty()) options.name = worker_name(host_name());
  return check_worker_name(options.name);
}

// Everything the options leave open, settled.
absl::StatusOr<WorkerOptions> settled(WorkerOptions options) {
  if (!options.name.empty()) LOCUS_RETURN_IF_ERROR(check_worker_name(options.name));
  if (options.work.empty()) options.work = default_work();
  LOCUS_RETURN_IF_ERROR(isolates_trainers(options).status());
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

// A job's end is no moment to drain at: it takes time, and batch systems are a minute inexact.
LifetimeRules lifetime_rules(const WorkerOptions& options) {
  const auto drain = std::chrono::microseconds(options.kill_wait + options.delivery_wait + 1min);
  const auto lifetime = std::chrono::microseconds(options.lifetime);
  return {std::chrono::microseconds(options.exit_when_idle).count(),
          length_of_life(lifetime.count(), std::getenv("SLURM_JOB_END_TIME"), system_clock().wall(), drain.count())};
}

class Worker : private LinkListener {
 public:
  Worker(WorkerOptions options, std::function<void(const WorkerReady&)> ready)
      : options_(std::move(options)), ready_(std::move(ready)), life_(system_clock(), lifetime_rules(options_)) {}

  absl::Status prepare();
  absl::Status run(int signals);

 private:
  absl::Status open_link();
  absl::Status add_slots();
  absl::StatusOr<TrainerSetup> trainer_setup(const DeviceSlot& device, const fs::path& scratch) const;
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
  std::optional<RemainingLife> remaining_life() override;
  std::string reason_to_end();
  SystemSamples take_samples() override { return sampler_ ? sampler_->take() : SystemSamples(); }
  std::vector<SampledAttempt> at_work();
  void give_up(const absl::Status& status);

  const WorkerOptions options_;
  std::function<void(const WorkerReady&)> ready_;  // the heartbeat thread's; empty once called
  TrainerCommand command_;
  TrainerCatalog catalog_;
  Lifetime life_;
  Json found_;  // what the trainer said of devices
  std::vector<DeviceSlot> devices_;
  std::unique_ptr<Datasets> data_;
  std::unique_ptr<Sampler> sampler_;  // before the link, which asks it
  std::unique_ptr<Link> link_;
  std::unique_ptr<Packing> packing_;          // likewise
  std::unique_ptr<LoadMemory> loads_;         // likewise
  std::vector<std::unique_ptr<Slot>> slots_;  // before the link's end: they use it
  Wakeup wakeup_;
  Cancellation over_;  // of watching the data
  std::mutex mutex_;
  absl::Status fatal_;
  bool drained_ = false;
};

absl::Status Worker::prepare() {
  LOCUS_ASSIGN_OR_RETURN(command_, trainer_command(options_));
  LOCUS_ASSIGN_OR_RETURN(found_, ask_trainer(command_, "devices"));
  LOCUS_ASSIGN_OR_RETURN(
      devices_,
      offered_slots(found_, options_, static_cast<int>(std::thread::hardware_concurrency()), usable_memory()));
  LOCUS_ASSIGN_OR_RETURN(catalog_, trainer_catalog(command_));
  if (options_.once) {
    LOCUS_ASSIGN_OR_RETURN(const auto client, Client::connect(options_.server, {.tls = options_.tls}));
    LOCUS_RETURN_IF_ERROR(client->get_server().status());
  }
  LOCUS_RETURN_IF_ERROR(open_link());
  return add_slots();
}

absl::Status Worker::open_link() {
  v1::RegisterWorkerRequest announcement;
  announcement.set_name(options_.name);
  announcement.set_protocol_version(options_.protocol_version);
  announcement.set_host(host_name());
  LOCUS_ASSIGN_OR_RETURN(*announcement.mutable_instance(), instance_of(options_.work));
  announcement.set_take_over(options_.take_over);
  data_ = std::make_unique<Datasets>(catalog_.catalog, options_.data_root, data_cache_folder());
  *announcement.mutable_data() = data_->look();
  log_info("holds {} of {} known datasets here; no stage that needs another will be run (locus data list)",
           announcement.data().datasets_size(),
           announcement.data().datasets_size() + announcement.data().missing_size());
  announcement.set_version(kVersion);
  announce_catalog(catalog_, system_clock().wall(), announcement);
  for (const auto& [key, value] : labels_of_node(devices_)) (*announcement.mutable_labels())[key] = value;
  for (const auto& [key, value] : options_.labels) (*announcement.mutable_labels())[key] = value;
  for (const DeviceSlot& device : devices_) {
    auto* slot = announcement.add_slots();
    slot->set_device(device.device);
    slot->set_index(device.index);
    slot->set_threads(device.threads);
    slot->set_name(device.name);
    slot->set_memory_bytes(device.memory_bytes);
  }
  *announcement.mutable_together() = together_on(found_, devices_);
  const LeasePolicy leases{.heartbeat = std::chrono::microseconds(options_.heartbeat).count()};
  LinkOptions link{.server = options_.server,
                   .tls = options_.tls,
                   .work = options_.work,
                   .announcement = announcement,
                   .outbox = {.max_bytes = options_.outbox_bytes},
                   .leases = leases,
                   .cache_bytes = options_.cache_bytes};
  std::vector<int> gpus, shared;
  for (const DeviceSlot& device : devices_) {
    const int gpu = gpu_index(device, visible_devices());
    if (gpu >= 0 && std::find(gpus.begin(), gpus.end(), gpu) == gpus.end()) gpus.push_back(gpu);
    shared.push_back(shared_device(device, options_));
  }
  if (const std::string warning = packing_warning(devices_); !warning.empty()) log_warning("{}", warning);
  packing_ = std::make_unique<Packing>(shared, packing_policy(devices_, options_));
  loads_ = std::make_unique<LoadMemory>(options_.work / "loads");
  sampler_ = std::make_unique<Sampler>([this] { return at_work(); }, std::move(gpus), options_.sample_interval);
  LOCUS_ASSIGN_OR_RETURN(link_, Link::open(std::move(link), *this));
  return absl::OkStatus();
}

absl::StatusOr<TrainerSetup> Worker::trainer_setup(const DeviceSlot& device, const fs::path& scratch) const {
  std::error_code error;
  fs::create_directories(scratch, error);
  if (error) return file_error("create", scratch, error.value());
  LOCUS_ASSIGN_OR_RETURN(const bool isolated, isolates_trainers(options_));
  auto ours = current_environment();
  if (isolated) ours = trainer_environment(ours, options_, scratch);
  TrainerSetup out{command_.words.front(), slot_environment(std::move(ours), device, visible_devices())};
  out.leading.assign(command_.words.begin() + 1, command_.words.end());
  if (isolated) out.isolation = [this, scratch] { return trainer_rules(options_, found_, scratch, command_.code); };
  return out;
}

absl::Status Worker::add_slots() {
  const RunLimits limits{std::chrono::microseconds(options_.silence).count(),
                         std::chrono::microseconds(options_.start_silence).count(),
                         std::chrono::microseconds(options_.kill_wait).count()};
  std::error_code ignored;
  fs::remove_all(options_.work / "scratch", ignored);  // of trainers that ended with their daemon
  if (const fs::path cache = data_cache_folder(); !cache.empty()) fs::create_directories(cache, ignored);
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
    setup.scratch = options_.work / "scratch" / std::to_string(i);
    LOCUS_ASSIGN_OR_RETURN(setup.trainer, trainer_setup(devices_[i], setup.scratch));
    setup.peer = [this, scratch = setup.scratch](int slot) {
      return trainer_setup(devices_[static_cast<std::size_t>(slot)], scratch);
    };
    setup.catalog_digest = catalog_.digest;
    setup.limits = limits;
    setup.check_data = [this](const std::string& dataset) {
      data_->check(dataset);
      link_->announce(data_->look());
    };
    slots_.push_back(std::make_unique<Slot>(std::move(setup), *link_, *packing_, *loads_,
                                            [this](const absl::Status& s) { give_up(s); }));
  }
  return absl::OkStatus();
}

// Datasets come and go while the daemon lives.
void Worker::watch_data() {
  while (!over_.cancelled()) {
    over_.wait_for(std::chrono::milliseconds(options_.look_at_data));
    if (over_.cancelled()) return;
    link_->announce(data_->look());
    link_->keep_certificate();
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
  if (auto ready = std::exchange(ready_, {})) {
    life_.note_work();  // it is idle only once it could have work
    ready({options_.name, options_.server, options_.device, options_.work.string(), static_cast<int>(devices_.size())});
  }
}

std::optional<RemainingLife> Worker::remaining_life() {
  const auto left = life_.left();
  if (!left) return std::nullopt;
  return RemainingLife{*left, life_.length()};
}

// Empty: it goes on. What was made and not delivered yet is work, too.
std::string Worker::reason_to_end() {
  const bool busy = std::any_of(slots_.begin(), slots_.end(), [](const auto& slot) { return slot->busy(); });
  if (busy || !link_->delivered()) life_.note_work();
  return life_.over();
}

void Worker::granted(std::shared_ptr<Attempt> attempt) {
  life_.note_work();
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
  if (const auto isolated = isolates_trainers(options_); isolated.ok() && !*isolated)
    log_info("trainers are not isolated (--isolate {})", options_.isolate);
  for (auto& slot : slots_) slot->start();
  sampler_->start();
  link_->start();
  std::vector<int> all;
  for (std::size_t i = 0; i < slots_.size(); ++i) all.push_back(static_cast<int>(i));
  link_->offer(all);
  life_.note_work();  // what came before was its start
  std::thread watcher([this] { watch_data(); }), drainer;
  absl::Status fatal;
  while (true) {
    pollfd fds[] = {{signals, POLLIN, 0}, {wakeup_.fd(), POLLIN, 0}};
    ::poll(fds, 2, drainer.joinable() ? -1 : life_.poll_timeout());
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
    if (drainer.joinable()) continue;
    const std::string why = reason_to_end();
    if (!why.empty()) log_info("{}: draining", why);
    if (fds[0].revents || !fatal.ok() || !why.empty()) drainer = std::thread([this] { drain(); });
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
  LOCUS_RETURN_IF_ERROR(settle_identity(*options));
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
