// A real server, two real workers and their trainers, to be started, killed and started again.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/chaos/proxy.h"
#include "tests/chaos/witness.h"

namespace locus::chaos {

// A child with its output in a file. Killed with this object.
class Process {
 public:
  // `variables`: NAME and value, beside our own.
  Process(std::vector<std::string> arguments, std::filesystem::path log,
          std::map<std::string, std::string> variables = {});
  ~Process() { kill(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  pid_t pid() const { return pid_; }
  void signal(int number) const;
  void kill();                                       // at once, and waits for the end
  void start();                                      // again, with the same arguments
  bool ended_by_itself(std::chrono::seconds limit);  // waits for its end

 private:
  const std::vector<std::string> arguments_;
  const std::filesystem::path log_;
  const std::map<std::string, std::string> variables_;
  pid_t pid_ = 0;
};

// Server, proxy and two workers. Throws std::runtime_error when something does not start.
class Cluster {
 public:
  // `wrong_clock`: the library of wrong_clock.cc, for set_clock(); empty: every clock is right. `slots`: of each worker.
  // `small_disks`: the server's data and each worker's folders are on one (disks.h), for fill_disk_of().
  Cluster(std::filesystem::path bin, std::filesystem::path folder, std::filesystem::path wrong_clock = {},
          int slots = 1, bool small_disks = false);
  ~Cluster();
  Witness& witness() { return witness_; }
  std::filesystem::path database() const { return folder_ / "data" / "locus.db"; }

  void undrain();  // workers on which all failed the server drains: a person looks and has them go on
  // Submits and returns how many stages the experiment has. Retries while the server is away.
  std::size_t submit(const std::filesystem::path& specification, const std::vector<std::string>& changes);

  // "active", "completed", ... as the server says; empty while it is away or has no experiment of that name.
  std::string state_of(const std::string& experiment);

  void kill_server();  // at once; restart_server() follows
  void restart_server();
  void kill_worker(const std::string& name);  // at once; restart_worker() follows
  void restart_worker(const std::string& name);
  void kill_trainer(const std::string& name);  // or all, where one training has several
  // One of several: whichever it is, another one for another draw.
  void kill_rank(const std::string& name, std::size_t draw);
  void stop_worker(const std::string& name);                                  // SIGSTOP
  void continue_worker(const std::string& name, std::chrono::seconds later);  // after that time
  // A second daemon under the same name, which must be refused while the first goes on. False if it is not, or
  // the first ends.
  bool twin(const std::string& name);
  // The time of day of "server" or a worker is wrong by that much from now on; nobody is told.
  void set_clock(const std::string& whose, std::chrono::seconds wrong_by) const;
  // Nothing more fits on the disk of "server" or a worker, until free_disk_of(), which is false if it has ended meanwhile.
  void fill_disk_of(const std::string& whose) const;
  bool free_disk_of(const std::string& whose);
  void set_weather(Weather weather) { proxy_->set_weather(weather); }  // between workers and server
  // Ends everything, the server by SIGTERM, so that the database may be read. False if it did not end well.
  bool stop();

 private:
  std::vector<std::string> worker_arguments(const std::string& name);
  std::filesystem::path disk_of(const std::string& whose) const;
  std::filesystem::path clock_of(const std::string& whose) const { return folder_ / ("clock-" + whose); }
  std::map<std::string, std::string> variables_of(const std::string& whose) const;

  const std::filesystem::path bin_, folder_, wrong_clock_;
  const int slots_;
  const bool small_disks_;
  Witness witness_;
  std::string grpc_ = "127.0.0.1:0", http_ = "127.0.0.1:0";
  std::unique_ptr<Process> server_;
  std::unique_ptr<Proxy> proxy_;
  std::map<std::string, std::unique_ptr<Process>> workers_;
  int daemons_ = 0;  // ever made: each has a folder of its own
};

}  // namespace locus::chaos
