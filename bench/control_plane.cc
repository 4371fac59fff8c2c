// What the service costs beyond training, on a server of its own with SQLite on disk, over gRPC on loopback:
//   trials   empty trials a second through workers that finish at once, and how long a grant takes
//   points   durable points a second from four workers, and how long an acknowledgement takes
//   restart  how soon a server serves a folder with a million finished trials
//   fleet    what many workers with long polls and heartbeats cost a server that has many stages queued (bench/fleet.h)
// One JSON object a line.
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "bench/fleet.h"
#include "bench/synthetic.h"
#include "bench/synthetic_worker.h"
#include "client/client.h"
#include "core/base/json.h"
#include "locus/v1/worker_service.grpc.pb.h"

namespace locus::bench {
namespace {

double seconds_since(Timer::time_point start) { return milliseconds_since(start) / 1000; }

Json trials(const std::filesystem::path& folder, int count, int workers, int slots) {
  auto server = serve(folder);
  auto client = must(Client::connect(server->addresses().grpc));
  const auto submitted = Timer::now();
  submit_empty(*client, "empty", count);
  const double submission = seconds_since(submitted);
  const auto daemons = workers_of(*server, workers, slots);
  std::vector<std::vector<double>> waits(static_cast<std::size_t>(workers * slots));
  const auto start = Timer::now();
  std::vector<std::jthread> threads;
  for (int w = 0; w < workers; ++w) {
    for (int s = 0; s < slots; ++s) {
      threads.emplace_back([&, w, s] {
        SyntheticWorker& worker = *daemons[static_cast<std::size_t>(w)];
        auto& mine = waits[static_cast<std::size_t>(w * slots + s)];
        for (;;) {
          const auto asked = Timer::now();
          const auto answer = worker.acquire(s, std::chrono::milliseconds(200));
          if (!answer.has_grant()) return;
          mine.push_back(milliseconds_since(asked));
          worker.complete(answer.grant(), 0);
        }
      });
    }
  }
  threads.clear();
  const double wall = seconds_since(start) - 0.2;  // the last wait for nothing
  std::vector<double> all;
  for (const auto& one : waits) all.insert(all.end(), one.begin(), one.end());
  if (all.empty()) must(absl::InternalError("the server granted nothing"));
  const auto finished = static_cast<double>(all.size());
  server->stop();
  return {{"case", "empty trials"},
          {"trials", all.size()},
          {"workers", workers},
          {"slots", slots},
          {"submission_s", submission},
          {"seconds", wall},
          {"per_second", finished / wall},
          {"grant_ms", {{"median", quantile(all, 0.5)}, {"p99", quantile(all, 0.99)}}}};
}

constexpr int kSeries = 10;
struct Messages {
  int points = 8192;                 // of one, as many as the protocol allows
  int under_way = 4;                 // not acknowledged, of one worker
  std::chrono::microseconds each{};  // when a worker has the next one, 0: at once
};

v1::ReportPointsRequest batch_of(const SyntheticWorker& worker, const v1::StageGrant& grant, std::int64_t first,
                                 int count) {
  v1::ReportPointsRequest out;
  out.set_session(worker.session());
  out.set_stage(grant.stage());
  out.set_attempt(grant.attempt());
  out.set_first_seq(first);
  v1::PointColumns& points = *out.mutable_points();
  for (int s = 0; s < kSeries; ++s) {
    v1::SeriesKey& key = *points.add_series();
    key.set_metric("metric-" + std::to_string(s));
    key.set_split("train");
  }
  for (std::int64_t i = first - 1; i < first - 1 + count; ++i) {
    points.add_series_index(static_cast<std::uint32_t>(i % kSeries));
    points.add_step(i / kSeries);
    points.add_epoch(static_cast<double>(i / kSeries) / 100);
    points.add_images(i / kSeries * 32);
    points.add_time_us(i * 100);
    points.add_value(1.0 / static_cast<double>(i % 977 + 1));
  }
  return out;
}

// Streams points of one attempt for `time`; the delay of each acknowledgement in ms, from when its message was due. Returns
// how many are durable.
std::int64_t stream_points(SyntheticWorker& worker, const v1::StageGrant& grant, Messages messages,
                           std::chrono::milliseconds time, std::vector<double>& delays) {
  const auto stub = v1::WorkerService::NewStub(worker.client().channel());
  grpc::ClientContext context;
  const auto stream = stub->ReportPoints(&context);
  std::mutex mutex;
  std::condition_variable acknowledged;
  std::vector<Timer::time_point> due;
  std::int64_t durable = 0;
  std::jthread reader([&] {
    v1::ReportPointsResponse answer;
    while (stream->Read(&answer)) {
      if (!answer.reason().empty()) must(absl::InternalError(answer.reason()));
      const std::scoped_lock lock(mutex);
      for (; durable + messages.points <= answer.acked_seq(); durable += messages.points)
        delays.push_back(milliseconds_since(due[static_cast<std::size_t>(durable / messages.points)]));
      acknowledged.notify_one();
    }
  });
  const auto start = Timer::now();
  for (std::int64_t message = 0; Timer::now() - start < time; ++message) {
    std::this_thread::sleep_until(start + message * messages.each);
    const v1::ReportPointsRequest request = batch_of(worker, grant, message * messages.points + 1, messages.points);
    {
      std::unique_lock lock(mutex);
      acknowledged.wait(lock, [&] { return message - durable / messages.points < messages.under_way; });
      due.push_back(messages.each.count() > 0 ? start + message * messages.each : Timer::now());
    }
    if (!stream->Write(request)) must(absl::InternalError("the server closed the stream"));
  }
  stream->WritesDone();
  reader.join();
  const grpc::Status end = stream->Finish();
  if (!end.ok()) must(absl::InternalError(end.error_message()));
  return durable;
}

// What workers stream for `time`, each from a slot.
Json streamed(std::span<const std::unique_ptr<SyntheticWorker>> workers, int slot, std::chrono::milliseconds time,
              Messages messages) {
  std::vector<std::vector<double>> delays(workers.size());
  std::vector<std::int64_t> stored(workers.size());
  const auto start = Timer::now();
  std::vector<std::jthread> threads;
  for (std::size_t w = 0; w < workers.size(); ++w) {
    threads.emplace_back([&, w] {
      const auto answer = workers[w]->acquire(slot, std::chrono::milliseconds(900));
      if (!answer.has_grant()) must(absl::InternalError("the server granted nothing"));
      stored[w] = stream_points(*workers[w], answer.grant(), messages, time, delays[w]);
    });
  }
  threads.clear();
  const double wall = seconds_since(start);
  const std::int64_t sum = std::accumulate(stored.begin(), stored.end(), std::int64_t{});
  std::vector<double> all;
  for (const auto& one : delays) all.insert(all.end(), one.begin(), one.end());
  return {{"points", sum},
          {"seconds", wall},
          {"points_a_message", messages.points},
          {"per_second", static_cast<double>(sum) / wall},
          {"acknowledgement_ms", {{"median", quantile(all, 0.5)}, {"p99", quantile(all, 0.99)}}}};
}

// As fast as it goes, each worker with four full messages under way; then at two paces, in smaller ones.
Json points(const std::filesystem::path& folder, std::chrono::milliseconds time) {
  constexpr int kWorkers = 4;
  struct Pace {
    const char* name;
    int points_a_second, points_a_message;
  };
  constexpr Pace kPaces[] = {{"at_250000_a_second", 250'000, 1024}, {"at_1000000_a_second", 1'000'000, 4096}};
  auto server = serve(folder);
  auto client = must(Client::connect(server->addresses().grpc));
  submit_empty(*client, "empty", 100);
  const auto workers = workers_of(*server, kWorkers, 1 + static_cast<int>(std::size(kPaces)));
  Json out = streamed(workers, 0, time, {});
  out["case"] = "durable points";
  out["clients"] = kWorkers;
  int slot = 1;
  for (const Pace& pace : kPaces) {
    const std::int64_t each = std::int64_t{1'000'000} * pace.points_a_message * kWorkers / pace.points_a_second;
    out[pace.name] =
        streamed(workers, slot++, time, {.points = pace.points_a_message, .each = std::chrono::microseconds(each)});
  }
  server->stop();
  return out;
}

Json restart(const std::filesystem::path& folder, int count) {
  constexpr int kEach = 10'000;
  {
    auto store = must(open_sqlite_store(folder, system_clock()));
    WorkerRow worker;
    worker.id = 1;
    worker.name = "bench";
    must(store->apply(std::vector<Mutation>{PutWorker{worker}}, 0));
    for (int e = 0; e < count / kEach; ++e) {
      const StageId first = stages_of(kEach) * e + 1;
      must(store->apply(std::vector<Mutation>{experiment_of(e + 1, "done-" + std::to_string(e), kEach, first)}, 0));
      run_all(*store, kEach, first);
    }
  }
  std::vector<double> times;
  for (int round = 0; round < 5; ++round) {
    const auto start = Timer::now();
    auto server = serve(folder);
    auto client = must(Client::connect(server->addresses().grpc));
    must(client->list_workers().status());
    times.push_back(seconds_since(start));
    server->stop();
  }
  return {
      {"case", "restart"}, {"trials", count}, {"seconds", {{"median", quantile(times, 0.5)}, {"most", times.back()}}}};
}

int run(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const std::filesystem::path folder = argc > 2 ? argv[2] : "";
  const auto number = [&](int at, int otherwise) {
    const int given = argc > at ? std::atoi(argv[at]) : 0;
    return given > 0 ? given : otherwise;
  };
  if (what == "serve-fleet" && argc == 4) return serve_fleet(folder, argv[3]);  // by fleet()
  if (folder.empty() || (what != "trials" && what != "points" && what != "restart" && what != "fleet")) {
    std::fprintf(
        stderr,
        "usage: control_plane trials FOLDER [TRIALS]     10,000 empty trials through 4 workers of 2 slots\n"
        "       control_plane points FOLDER [SECONDS]    5 seconds of points from 4 workers as fast as it goes, then "
        "at "
        "two paces\n"
        "       control_plane restart FOLDER [TRIALS]    5 starts with 1,000,000 trials\n"
        "       control_plane fleet FOLDER [WORKERS [SLOTS [STAGES]]]    1,000 workers of 8 slots, 100,000 stages\n"
        "FOLDER is made anew and removed.\n");
    return 2;
  }
  std::filesystem::remove_all(folder);
  const Json row = what == "trials"    ? trials(folder, number(3, 10'000), 4, 2)
                   : what == "points"  ? points(folder, std::chrono::seconds(number(3, 5)))
                   : what == "restart" ? restart(folder, number(3, 1'000'000))
                                       : fleet(folder, number(3, 1000), number(4, 8), number(5, 100'000));
  std::filesystem::remove_all(folder);
  std::printf("%s\n", row.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace locus::bench

int main(int argc, char** argv) { return locus::bench::run(argc, argv); }
