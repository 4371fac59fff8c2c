// What searches cost beyond training:
//   halving  a search over nine rungs, from submission to its end, on a server of its own with SQLite on disk and workers
//            that train nothing: rung values judged a second
//   next     how long the next decision takes in a search of 100,000 trials: the log's fold takes an observation, and the
//            rules answer
//   through  the same with everything around it: from a worker's completion to its next grant, on a server of its own with
//            SQLite on disk, in a search of 100,000 stored trials
// One JSON object a line.
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/synthetic.h"
#include "bench/synthetic_worker.h"
#include "core/base/json.h"
#include "core/search/judge.h"
#include "locus/v1/worker_service.grpc.pb.h"

namespace locus::bench {
namespace {

constexpr int kRungs = 9, kStepsPerEpoch = 2;  // 64 images by 32
constexpr int kSearchWorkers = 4, kSearchSlots = 2;

double search_seconds(Timer::time_point start) { return milliseconds_since(start) / 1000; }

// In [0, 1), the same for the same number.
double drawn(std::uint64_t number) { return static_cast<double>(mix(number) >> 11) * 0x1.0p-53; }

Json rungs() {
  Json out = Json::array();
  for (int rung = 0; rung < kRungs; ++rung) out.push_back(1 << rung);
  return out;
}

void submit_search(Client& client, int proposals, const Json& advance, int parallel = 0) {
  Json search = {{"propose", "random"},
                 {"proposals", proposals},
                 {"space", {{"train.lr", {{"log", {1e-5, 1e-1}}, {"digits", 12}}}}},
                 {"advance", advance}};
  if (parallel > 0) search["parallel"] = parallel;
  const Json spec = {{"version", 1},
                     {"name", "halved"},
                     {"dataset", "fashion-mnist"},
                     {"model", {{"backbone", "vit"}, {"dim", 16}, {"depth", 1}, {"heads", 1}, {"patch", 7}}},
                     {"train", {{"epochs", 1 << (kRungs - 1)}, {"batch", 32}, {"limit", 64}, {"validate_every", 1}}},
                     {"matrix", {{"prior", {"none"}}}},
                     {"metric", {{"name", "top1"}, {"reports", "validation"}}},
                     {"search", search}};
  v1::CreateExperimentRequest request;
  request.set_spec_json(spec.dump());
  must(client.create_experiment(request));
}

// The value of a validation at this step, durable.
void report(SyntheticWorker& worker, const v1::StageGrant& grant, std::int64_t step) {
  const auto stub = v1::WorkerService::NewStub(worker.client().channel());
  grpc::ClientContext context;
  const auto stream = stub->ReportPoints(&context);
  v1::ReportPointsRequest request;
  request.set_session(worker.session());
  request.set_stage(grant.stage());
  request.set_attempt(grant.attempt());
  request.set_first_seq(1);
  v1::PointColumns& points = *request.mutable_points();
  v1::SeriesKey& key = *points.add_series();
  key.set_metric("top1");
  key.set_split("validation");
  key.set_labels("{}");
  points.add_series_index(0);
  points.add_step(step);
  points.add_epoch(static_cast<double>(step) / kStepsPerEpoch);
  points.add_images(step * 32);
  points.add_time_us(step);
  points.add_value(100 * drawn(static_cast<std::uint64_t>(grant.stage())));
  if (!stream->Write(request)) must(absl::InternalError("the server closed the stream"));
  v1::ReportPointsResponse answer;
  while (stream->Read(&answer)) {
    if (!answer.reason().empty()) must(absl::InternalError(answer.reason()));
    if (answer.acked_seq() >= 1) break;
  }
  stream->WritesDone();
  context.TryCancel();
}

bool has_ended(Client& client) {
  v1::GetSearchRequest request;
  request.set_experiment("halved");
  return must(client.get_search(request)).state() == "ended";
}

// Trains nothing and says so.
void run_stage(SyntheticWorker& worker, const v1::StageGrant& grant, const std::string& checkpoint) {
  constexpr std::int64_t kLast = kStepsPerEpoch << (kRungs - 1);
  const bool parks = grant.until_step() > 0 && grant.until_step() < kLast;
  const std::int64_t step = parks ? grant.until_step() : kLast;
  report(worker, grant, step);
  worker.checkpoint(grant, step, checkpoint);
  worker.complete(grant, 1, parks ? "parked" : "succeeded", step);
}

// Until the search has ended; how many rung values it gave.
std::int64_t run_slot(SyntheticWorker& worker, int slot, const std::string& checkpoint) {
  for (std::int64_t values = 0;;) {
    const auto answer = worker.acquire(slot, std::chrono::milliseconds(50));
    if (!answer.has_grant()) {
      if (has_ended(worker.client())) return values;
      continue;
    }
    run_stage(worker, answer.grant(), checkpoint);
    ++values;
  }
}

std::string uploaded_checkpoint(Client& client, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const std::filesystem::path file = folder / "checkpoint";
  std::ofstream(file) << "a model";
  return must(client.upload_artifact(file, "checkpoint"));
}

Json halving(const std::filesystem::path& folder, int proposals) {
  auto server = serve(folder);
  auto client = must(Client::connect(server->addresses().grpc));
  const std::string checkpoint = uploaded_checkpoint(*client, folder);
  const auto daemons = workers_of(*server, kSearchWorkers, kSearchSlots);
  std::vector<std::int64_t> values(kSearchWorkers * kSearchSlots);
  const auto start = Timer::now();
  submit_search(*client, proposals, {{"rule", "halve"}, {"rungs", rungs()}, {"keep", "1/2"}});
  std::vector<std::jthread> threads;
  for (int w = 0; w < kSearchWorkers; ++w) {
    for (int s = 0; s < kSearchSlots; ++s) {
      threads.emplace_back([&, w, s] {
        values[static_cast<std::size_t>(w * kSearchSlots + s)] =
            run_slot(*daemons[static_cast<std::size_t>(w)], s, checkpoint);
      });
    }
  }
  threads.clear();
  const double wall = search_seconds(start);
  std::int64_t sum = 0;
  for (const std::int64_t one : values) sum += one;
  v1::GetSearchRequest request;
  request.set_experiment("halved");
  const std::int64_t decided = must(client->get_search(request)).decided();
  server->stop();
  return {{"case", "halving"},         {"proposals", proposals}, {"rungs", kRungs},
          {"workers", kSearchWorkers}, {"slots", kSearchSlots},  {"rung_values", sum},
          {"decisions", decided},      {"seconds", wall},        {"per_second", static_cast<double>(sum) / wall}};
}

Json spread(std::vector<double> times) {
  return {{"median", quantile(times, 0.5)},
          {"p99", quantile(times, 0.99)},
          {"most", *std::max_element(times.begin(), times.end())}};
}

// One slot, so that every grant waits for the decision that the completion before it leads to.
Json through(const std::filesystem::path& folder, int trials) {
  constexpr int kMeasured = 300, kFirst = 20;  // the plan is made and kept with the first ones
  auto server = serve(folder);
  auto client = must(Client::connect(server->addresses().grpc));
  const std::string checkpoint = uploaded_checkpoint(*client, folder);
  const auto start = Timer::now();
  submit_search(*client, trials, {{"rule", "asha"}, {"rungs", rungs()}, {"eta", 2}}, /*parallel=*/1);
  const double submitted = search_seconds(start);
  const auto daemons = workers_of(*server, 1, 1);
  SyntheticWorker& worker = *daemons.front();
  std::vector<double> times;
  const auto granted = [&] {  // the first ones wait for plans of everything
    constexpr std::chrono::seconds kWait{20};
    auto answer = worker.acquire(0, kWait);
    for (int more = 0; !answer.has_grant() && more < 15; ++more) answer = worker.acquire(0, kWait);
    if (!answer.has_grant()) must(absl::InternalError("nothing was granted"));
    return answer;
  };
  auto answer = granted();
  const double first = search_seconds(start) - submitted;
  for (int i = 0; i < kMeasured + kFirst; ++i) {
    run_stage(worker, answer.grant(), checkpoint);
    const auto completed = Timer::now();
    answer = granted();
    if (i >= kFirst) times.push_back(milliseconds_since(completed));
  }
  server->stop();
  return {{"case", "from completion to the next grant"},
          {"trials", trials},
          {"submission_seconds", submitted},
          {"first_grant_seconds", first},
          {"measured", times.size()},
          {"ms", spread(times)}};
}

// A log in memory, as the conductor appends to one.
class Course {
 public:
  explicit Course(int units) : rungs_(static_cast<std::size_t>(units), -1) {
    SearchSetup setup;
    setup.search.advance.rule = AdvanceRule::kAsha;
    setup.search.advance.rungs = rungs().get<std::vector<std::int64_t>>();
    setup.search.advance.eta = 2;
    setup.search.proposer = Proposer::kRandom;
    setup.search.proposals = units;
    setup.groups = {"{}"};
    for (int unit = 0; unit < units; ++unit) setup.units.push_back({0, unit, unit, {unit}});
    setup.metric = "top1";
    setup.split = "validation";
    setup.steps_per_epoch = kStepsPerEpoch;
    setup.last_step = kStepsPerEpoch << (kRungs - 1);
    append(BeginDecision{setup}, "", 0);
    judge_all();
  }

  // The value of a unit at the rung it was sent to, and every decision that follows from it. False: the unit is at no rung.
  bool observe(std::int64_t unit) {
    const std::int64_t rung = rungs_[static_cast<std::size_t>(unit)];
    if (rung < 0) return false;
    rungs_[static_cast<std::size_t>(unit)] = -1;
    ObserveDecision one;
    one.trial = unit;
    one.step = rung + 1 == kRungs ? kToTheEnd : (std::int64_t{1} << rung) * kStepsPerEpoch;
    one.value = 100 * drawn(static_cast<std::uint64_t>(unit)) + static_cast<double>(rung);
    append(one, "", 0);
    return true;
  }
  void judge_all() {
    while (const auto verdict = judge(fold_)) {
      if (const auto* sent = std::get_if<ProposeDecision>(&verdict->decision)) mark(sent->units, 0);
      if (const auto* sent = std::get_if<AdvanceDecision>(&verdict->decision)) mark(sent->units, sent->rung);
      append(verdict->decision, verdict->rule, verdict->revision);
    }
  }
  std::int64_t decided() const { return fold_.decided(); }

 private:
  void mark(const std::vector<std::int64_t>& units, std::int64_t rung) {
    for (const std::int64_t unit : units) rungs_[static_cast<std::size_t>(unit)] = rung;
  }
  void append(const SearchDecision& decision, const std::string& rule, int revision) {
    DecisionRow row = written(decision);
    row.number = fold_.decided() + 1;
    row.rule = rule;
    row.rule_revision = revision;
    must(fold_.take(row));
  }

  Fold fold_;
  std::vector<std::int64_t> rungs_;  // under way to; -1: none
};

Json next_decision(int units) {
  constexpr int kMeasured = 2000;
  Course course(units);
  const int before = std::max(0, units - kMeasured);
  for (int unit = 0; unit < before; ++unit) course.observe(unit);
  course.judge_all();
  std::vector<double> times;
  for (int unit = before; unit < units; ++unit) {
    const auto start = Timer::now();
    if (!course.observe(unit)) continue;
    course.judge_all();
    times.push_back(milliseconds_since(start));
  }
  if (times.empty()) must(absl::InternalError("nothing was measured"));
  return {{"case", "next decision"},
          {"trials", units},
          {"decisions", course.decided()},
          {"measured", times.size()},
          {"ms", spread(times)}};
}

int run(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "halving" && argc > 2) {
    const std::filesystem::path folder = argv[2];
    std::filesystem::remove_all(folder);
    std::printf("%s\n", halving(folder, argc > 3 ? std::atoi(argv[3]) : 1024).dump().c_str());
    std::filesystem::remove_all(folder);
    return 0;
  }
  if (what == "through" && argc > 2) {
    const std::filesystem::path folder = argv[2];
    std::filesystem::remove_all(folder);
    std::printf("%s\n", through(folder, argc > 3 ? std::atoi(argv[3]) : 100'000).dump().c_str());
    std::filesystem::remove_all(folder);
    return 0;
  }
  if (what == "next") {
    std::printf("%s\n", next_decision(argc > 2 ? std::atoi(argv[2]) : 100'000).dump().c_str());
    return 0;
  }
  std::fprintf(
      stderr,
      "usage: search_bench halving FOLDER [PROPOSALS]  1,024 proposals over nine rungs, through 4 workers of 2 slots\n"
      "       search_bench next [TRIALS]               the next decision in a search of 100,000 trials\n"
      "       search_bench through FOLDER [TRIALS]     from a completion to the next grant, through a server\n"
      "FOLDER is made anew and removed.\n");
  return 2;
}

}  // namespace
}  // namespace locus::bench

int main(int argc, char** argv) { return locus::bench::run(argc, argv); }
