// Kills trainers, workers and the server while they have unacknowledged work under way, and shows that
// nothing that was acknowledged is lost and that the result is the one of a run nobody disturbed.
//
//     chaos --bin FOLDER --spec FILE [--cycles N] [--seed N] [--long] [--network] [--disks] [--clocks LIBRARY] [--devices N] [--work FOLDER] [--set PATH=VALUE ...]
//     chaos --bin FOLDER --tls FILE [--cycles N] [--seed N] [--work FOLDER]
//     chaos --bin FOLDER --search FILE [--cycles N] [--seed N] [--work FOLDER]
//
// --long also stops workers past their lease and starts second ones under their names. --network also cuts, silences, delays and
// doubles what workers and server say to each other, past their lease with --long. --disks also fills the disk of the server or of a
// worker for some seconds, each a small one of its own; where this may not mount it ends with 77. --clocks sets their times of day wrong, by an
// hour or by decades, while they run; LIBRARY is what wrong_clock.cc becomes. --devices: trainings take that many slots, of which
// each worker has as many, and a trainer that is killed is one of several. --tls changes
// certificates and revokes workers instead. --search disturbs searches that
// wait at rungs, one after another: their logs must say the same as those of a run that nobody disturbed.
#include <poll.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <random>
#include <stdexcept>

#include "core/limits.h"
#include "tests/chaos/admitted.h"
#include "tests/chaos/cluster.h"
#include "tests/chaos/disks.h"
#include "tests/chaos/ledger.h"
#include "tests/chaos/searched.h"

namespace locus::chaos {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

struct Options {
  fs::path bin, spec, search, tls, clocks, work = fs::temp_directory_path() / "locus-chaos";
  int cycles = 20, devices = 1;
  unsigned seed = 1;
  bool with_long = false, with_network = false, with_disks = false;
  std::vector<std::string> changes;
};

Options read_options(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--long" || name == "--network" || name == "--disks") {
      (name == "--long" ? out.with_long : name == "--network" ? out.with_network : out.with_disks) = true;
      continue;
    }
    if (++i == argc) throw std::runtime_error(name + " needs a value");
    if (name == "--bin")
      out.bin = argv[i];
    else if (name == "--spec")
      out.spec = argv[i];
    else if (name == "--search")
      out.search = argv[i];
    else if (name == "--tls")
      out.tls = argv[i];
    else if (name == "--clocks")
      out.clocks = argv[i];
    else if (name == "--work")
      out.work = argv[i];
    else if (name == "--cycles")
      out.cycles = std::stoi(argv[i]);
    else if (name == "--devices")
      out.devices = std::stoi(argv[i]);
    else if (name == "--seed")
      out.seed = static_cast<unsigned>(std::stoul(argv[i]));
    else if (name == "--set")
      out.changes.push_back(argv[i]);
    else
      throw std::runtime_error("unknown option " + name);
  }
  const int subjects = !out.spec.empty() + !out.search.empty() + !out.tls.empty();
  if (out.bin.empty() || subjects != 1)
    throw std::runtime_error("--bin is needed, and one of --spec, --search and --tls");
  return out;
}

std::string seeds(int count) {
  std::string out = "replicates.seed=[";
  for (int i = 0; i < count; ++i) out += (i ? "," : "") + std::to_string(i);
  return out + "]";
}

constexpr auto kPatience = 10s;  // for work to strike at
constexpr int kQuietMost = 36;   // that often in a row: longer than any stage waits before it tries again

enum class Blow {
  kTrainer,
  kWorker,
  kServer,
  kStop,
  kTwin,
  kCut,
  kStill,
  kLate,
  kDoubled,
  kCutLong,
  kStillLong,
  kServerClock,
  kWorkerClock,
  kServerDisk,
  kWorkerDisk
};
constexpr const char* kNames[] = {"trainer killed",
                                  "worker killed",
                                  "server killed",
                                  "worker stopped past its lease",
                                  "second worker of the name",
                                  "network cut",
                                  "network silent",
                                  "network late",
                                  "requests doubled",
                                  "network cut past the lease",
                                  "network silent past the lease",
                                  "server's clock set wrong",
                                  "worker's clock set wrong",
                                  "server's disk full",
                                  "worker's disk full"};

// By how much a clock is wrong: an hour either way, around 2040, in 1970.
constexpr std::chrono::hours kWrongBy[] = {1h, -1h, 14 * 365 * 24h, -56 * 365 * 24h};

constexpr auto kShortWeather = 4s;
constexpr auto kDiskFull = 5s;  // the server looks at its disk every two
constexpr int kSkipped = 77;    // as CTest is told
const auto kLongWeather = std::chrono::duration_cast<std::chrono::seconds>(kLease) + 3s;

Weather weather_of(Blow blow) {
  switch (blow) {
    case Blow::kCut:
    case Blow::kCutLong:
      return Weather::kCut;
    case Blow::kStill:
    case Blow::kStillLong:
      return Weather::kStill;
    case Blow::kLate:
      return Weather::kLate;
    case Blow::kDoubled:
      return Weather::kDoubled;
    default:
      return Weather::kClear;
  }
}

class Chaos {
 public:
  explicit Chaos(Options options) : options_(std::move(options)), random_(options_.seed) {
    fs::remove_all(options_.work);
  }

  bool run() {
    const int replicates = disturbed();
    if (problems_.empty()) undisturbed(replicates);
    if (problems_.empty()) compare_both();  // what is not complete differs anyway
    for (const std::string& problem : problems_) std::cout << "chaos: FAILED: " << problem << "\n";
    std::cout << "chaos: " << done_ << " cycles (seed " << options_.seed << "):";
    for (std::size_t i = 0; i < std::size(kNames); ++i) {
      if (counts_[i] > 0) std::cout << " " << counts_[i] << " x " << kNames[i] << ";";
    }
    std::cout << " " << findings_.acknowledged << " acknowledged points, " << attempts_ << " attempts of " << stages_
              << " stages, " << findings_.curve_points << " curve points alike\n"
              << (problems_.empty() ? "chaos: nothing lost, nothing doubled, the same result\n" : "");
    return problems_.empty();
  }

 private:
  void fail(const std::string& problem) { problems_.push_back(problem); }

  std::vector<std::string> changes(int replicates) const {
    std::vector<std::string> out = options_.changes;
    out.push_back(seeds(replicates));
    if (options_.devices > 1) out.push_back("placement.devices=" + std::to_string(options_.devices));
    return out;
  }

  Blow draw() {
    if (options_.with_disks && random_() % 2 == 0) return random_() % 2 == 0 ? Blow::kServerDisk : Blow::kWorkerDisk;
    if (!options_.clocks.empty() && random_() % 3 == 0)
      return random_() % 2 == 0 ? Blow::kServerClock : Blow::kWorkerClock;
    if (options_.with_network && random_() % 2 == 0) {
      const unsigned die = random_() % (options_.with_long ? 18 : 16);
      return static_cast<Blow>(static_cast<unsigned>(Blow::kCut) + (die < 16 ? die / 4 : die - 12));
    }
    const int kinds = options_.with_long ? 24 : 20;
    const int die = static_cast<int>(random_() % static_cast<unsigned>(kinds));
    if (die < 8) return Blow::kTrainer;
    if (die < 14) return Blow::kWorker;
    if (die < 20) return Blow::kServer;
    return die < 22 ? Blow::kStop : Blow::kTwin;
  }

  void land(Cluster& cluster, Blow blow, const std::string& name, std::chrono::hours wrong_by) const {
    if (blow == Blow::kTrainer && options_.devices == 1) cluster.kill_trainer(name);
    if (blow == Blow::kTrainer && options_.devices > 1) cluster.kill_rank(name, static_cast<std::size_t>(done_));
    if (blow == Blow::kWorker) cluster.kill_worker(name);
    if (blow == Blow::kServer) cluster.kill_server();
    if (blow == Blow::kStop) cluster.stop_worker(name);
    if (blow == Blow::kServerClock) cluster.set_clock("server", wrong_by);
    if (blow == Blow::kWorkerClock) cluster.set_clock(name, wrong_by);
    if (blow == Blow::kServerDisk) cluster.fill_disk_of("server");
    if (blow == Blow::kWorkerDisk) cluster.fill_disk_of(name);
  }

  static void wait_for(std::chrono::milliseconds time) { ::poll(nullptr, 0, static_cast<int>(time.count())); }

  // Bad weather lasts, then clears; a full disk is emptied.
  void sit_out(Cluster& cluster, Blow blow, const std::string& worker) {
    if (blow == Blow::kServerDisk || blow == Blow::kWorkerDisk) {
      const std::string whose = blow == Blow::kServerDisk ? "server" : worker;
      wait_for(kDiskFull);
      if (!cluster.free_disk_of(whose)) fail(whose + " ended while its disk was full");
    }
    if (weather_of(blow) == Weather::kClear) return;
    const bool past_lease = blow == Blow::kCutLong || blow == Blow::kStillLong;
    cluster.set_weather(weather_of(blow));
    wait_for(past_lease ? kLongWeather : kShortWeather);
    cluster.set_weather(Weather::kClear);
  }

  // Strikes until all cycles are done, with one seed more whenever nothing goes on; how many there were.
  int disturbed() {
    Cluster cluster(options_.bin, options_.work / "disturbed", options_.clocks, options_.devices, options_.with_disks);
    int replicates = 2;
    stages_ = cluster.submit(options_.spec, changes(replicates));
    int quiet = 0;
    while (done_ < options_.cycles) {
      const Blow blow = draw();
      const auto wrong_by = kWrongBy[random_() % std::size(kWrongBy)];
      std::string worker;
      const bool struck = cluster.witness().strike(stages_, kPatience, [&](const std::string& name) {
        worker = name;
        land(cluster, blow, name, wrong_by);
      });
      if (struck) sit_out(cluster, blow, worker);
      if (struck) {
        quiet = 0;
        ++done_;
        ++counts_[static_cast<std::size_t>(blow)];
        std::cout << "chaos: cycle " << done_ << ": " << kNames[static_cast<std::size_t>(blow)] << " (" << worker
                  << ")\n";
        if (blow == Blow::kServer) cluster.restart_server();
        if (blow == Blow::kWorker) cluster.restart_worker(worker);
        if (blow == Blow::kStop)
          cluster.continue_worker(worker, std::chrono::duration_cast<std::chrono::seconds>(kLease) + 3s);
        if (blow == Blow::kTwin && !cluster.twin(worker))
          fail("a second daemon under a name was not refused, or the first gave way");
      } else if (++quiet > kQuietMost) {
        fail("no work went on for minutes; the logs are in " + options_.work.string());
        break;
      } else if (cluster.witness().succeeded() >= stages_ || quiet == 1) {
        // Nothing is left, or what is left was struck so often that it waits for minutes before it tries
        // again.
        stages_ = cluster.submit(options_.spec, changes(++replicates));
      } else {
        cluster.submit(options_.spec, changes(replicates));  // revives what was held or failed
        cluster.undrain();
      }
    }
    for (int i = 0; !cluster.witness().wait_succeeded(stages_, 90s); ++i) {
      if (i == 3) {
        fail("the matrix did not complete: " + std::to_string(cluster.witness().succeeded()) + " of " +
             std::to_string(stages_) + " stages");
        break;
      }
      cluster.submit(options_.spec, changes(replicates));
      cluster.undrain();
    }
    if (!cluster.stop()) fail("the server did not end on SIGTERM");
    for (const std::string& contradiction : cluster.witness().contradictions()) fail(contradiction);
    seen_ = cluster.witness().attempts();
    ledger_ = read_ledger(cluster.database());
    attempts_ = ledger_.resumed_at.size();
    check_acknowledged(ledger_, seen_, findings_);
    problems_.insert(problems_.end(), findings_.problems.begin(), findings_.problems.end());
    return replicates;
  }

  void undisturbed(int replicates) {
    Cluster cluster(options_.bin, options_.work / "undisturbed", {}, options_.devices);
    const std::size_t stages = cluster.submit(options_.spec, changes(replicates));
    if (!cluster.witness().wait_succeeded(stages, 300s)) fail("the undisturbed run did not complete");
    if (!cluster.stop()) fail("the server did not end on SIGTERM");
    calm_ = read_ledger(cluster.database());
  }

  void compare_both() {
    compare(calm_, ledger_, findings_);
    problems_.insert(problems_.end(), findings_.problems.begin(), findings_.problems.end());
    if (findings_.curve_points == 0 || findings_.acknowledged == 0) fail("nothing was compared");
  }

  const Options options_;
  std::mt19937 random_;
  std::vector<std::string> problems_;
  std::map<Token, SeenAttempt> seen_;
  Ledger ledger_, calm_;
  Findings findings_;
  int done_ = 0;
  std::size_t counts_[std::size(kNames)] = {}, stages_ = 0, attempts_ = 0;
};

}  // namespace
}  // namespace locus::chaos

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    const locus::chaos::Options options = locus::chaos::read_options(argc, argv);
    if (options.with_disks) {
      if (const std::string reason = locus::chaos::begin_own_mounts(); !reason.empty()) {
        std::cout << "chaos: skipped: " << reason << "\n";
        return locus::chaos::kSkipped;
      }
    }
    if (!options.spec.empty()) return locus::chaos::Chaos(options).run() ? 0 : 1;
    std::filesystem::remove_all(options.work);
    if (!options.tls.empty())
      return locus::chaos::disturb_certificates(
                 {options.bin, options.tls, options.work, options.changes, options.cycles, options.seed})
                 ? 0
                 : 1;
    return locus::chaos::disturb_searches({options.bin, options.search, options.work, options.cycles, options.seed})
               ? 0
               : 1;
  } catch (const std::exception& error) {
    std::cerr << "chaos: " << error.what() << "\n";
    return 2;
  }
}
