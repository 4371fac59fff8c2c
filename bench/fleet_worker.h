// A fleet of workers without trainers, for benchmarks of the server: each has a connection of its own, one long poll that
// names all of its free slots, a heartbeat every five seconds, and says after a while that a stage is done.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/synthetic.h"
#include "client/client.h"
#include "locus/v1/worker_service.grpc.pb.h"

namespace locus::bench {

// Does things when their time has come, on a thread of its own. What is left when it ends is dropped. Thread-safe.
class Agenda {
 public:
  Agenda() : thread_([this](const std::stop_token& stop) { run(stop); }) {}
  void after(double seconds, std::function<void()> what);

 private:
  void run(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::multimap<Timer::time_point, std::function<void()>> entries_;
  std::jthread thread_;
};

// What the workers of a fleet have in common. Thread-safe.
struct FleetShared {
  struct Figures {
    std::vector<double> grant_ms,
        heartbeat_ms;  // from the call to its answer; of grants those that were asked for at once
    std::int64_t completed = 0, dropped = 0;  // dropped: the server says that it is no longer the worker's
  };

  std::string address;
  v1::RegisterWorkerRequest announcement;  // all but name, session and what is held
  // A stage takes between this and three times this; below 0: it goes on until somebody says otherwise.
  std::atomic<double> least_seconds{-1};
  std::atomic<int> running{0};    // stages, of all workers
  std::atomic<int> enrolled{0};   // registrations that were answered
  std::atomic<int> under_way{0};  // calls
  std::atomic<int> refused{0};    // calls, since too many wait in the server; they are made again
  std::atomic<bool> over{false};  // nothing new is begun
  Agenda agenda;

  Figures take();  // since it was asked before
  std::mutex mutex;
  Figures figures;
};

// One of them. `shared` must outlive it, and it its calls: it may go when `over` and none is under way. A fault that the
// protocol does not know ends the program. Thread-safe.
class FleetWorker {
 public:
  FleetWorker(FleetShared& shared, int number, int slots);
  void start() { enroll(); }
  // What runs comes to its end, each at a time between now and as long as a stage takes at most.
  void go_on();

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;  // stage, attempt

  template <class Request, class Response>
  struct Call {
    grpc::ClientContext context;
    Request request;
    Response response;
    Timer::time_point sent = Timer::now();
  };
  template <class Answered, class Made, class Begin>
  void send(std::shared_ptr<Made> call, std::chrono::seconds deadline, Begin begin, Answered answered);

  void enroll();
  void beat();
  void ask();
  void finish_after(Key key, double least, double most);
  void finish(Key key);
  void let_go(Key key, bool completed);
  void later(double seconds, void (FleetWorker::*what)());
  double between(double least, double most);
  std::vector<v1::HeldAttempt> held();

  FleetShared& shared_;
  const std::unique_ptr<Client> client_;
  const std::unique_ptr<v1::WorkerService::Stub> stub_;
  const std::string name_;
  std::mutex mutex_;
  std::mt19937 random_;
  std::vector<int> free_;
  std::map<Key, std::vector<int>> held_;
  std::int64_t asked_ = 0;
  bool asking_ = false, beating_ = false;
};

}  // namespace locus::bench
