// Throughput of the store: points acknowledged a second, grants a second, by number of writing threads; reads
// of a long curve.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "storage/sqlite/store.h"

namespace locus {
namespace {

using Timer = std::chrono::steady_clock;

double seconds_since(Timer::time_point start) { return std::chrono::duration<double>(Timer::now() - start).count(); }

void must(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

std::unique_ptr<Store> fresh_store(const std::filesystem::path& folder, int stages) {
  std::filesystem::remove_all(folder);
  auto store = open_sqlite_store(folder, system_clock());
  must(store.status());
  WorkerRow worker;
  worker.id = 1;
  worker.name = "bench";
  SaveExperiment experiment;
  experiment.row.id = 1;
  experiment.row.name = "bench";
  experiment.cells = {{0, "{}", "", "{}"}};
  for (int i = 0; i < stages; ++i) {
    StageRow stage;
    stage.id = i + 1;
    stage.identity = "identity-" + std::to_string(i);
    stage.kind = "train";
    stage.config_json = "{\"cell\":" + std::to_string(i / 5) + "}";
    stage.state = StageState::kQueued;
    experiment.stages.push_back(stage);
    experiment.trials.push_back({i, 0, i, false});
    experiment.trial_stages.push_back({i, "train", stage.id});
  }
  const auto start = Timer::now();
  must((*store)->apply(std::vector<Mutation>{PutWorker{worker}, experiment}, 0));
  if (stages >= 1000) std::printf("submission of %d trials: %.2f s\n", stages, seconds_since(start));
  return std::move(*store);
}

GrantAttempt grant(StageId stage) { return {stage, 1, 1, "session", {0}, "", 0, 0}; }

PointAppend batch_of(StageId stage, std::int64_t first, int points) {
  PointAppend out{stage, 1, first, {}};
  for (int s = 0; s < 10; ++s) out.points.series.push_back({"metric-" + std::to_string(s), "train", "{}"});
  for (std::int64_t i = first; i < first + points; ++i) {
    out.points.series_index.push_back(static_cast<std::uint32_t>(i % 10));
    out.points.step.push_back(i / 10);
    out.points.epoch.push_back(static_cast<double>(i) / 10'000);
    out.points.images.push_back(i / 10 * 32);
    out.points.time_us.push_back(1'700'000'000'000'000 + i * 700);
    out.points.value.push_back(1.0 / static_cast<double>(i));
  }
  return out;
}

void measure_points(const std::filesystem::path& folder, int threads, int batch, int batches) {
  auto store = fresh_store(folder, threads);
  for (int t = 1; t <= threads; ++t) must(store->apply(std::vector<Mutation>{grant(t)}, 0));
  const auto start = Timer::now();
  std::vector<std::thread> writers;
  for (int t = 1; t <= threads; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; i < batches; ++i)
        must(store->append(batch_of(t, std::int64_t{i} * batch + 1, batch), 0).status());
    });
  }
  for (auto& writer : writers) writer.join();
  const double seconds = seconds_since(start);
  const double points = static_cast<double>(threads) * batch * batches;
  store.reset();
  const double bytes = static_cast<double>(std::filesystem::file_size(folder / "locus.db"));
  std::printf(
      "points: %2d threads x %4d a batch: %9.0f points/s acknowledged, %7.0f appends/s, %.1f bytes/point in "
      "the file\n",
      threads, batch, points / seconds, points / batch / seconds, bytes / points);
}

void measure_grants(const std::filesystem::path& folder, int threads, int each) {
  auto store = fresh_store(folder, threads * each);
  const auto start = Timer::now();
  std::vector<std::thread> writers;
  for (int t = 0; t < threads; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; i < each; ++i) {
        const StageId stage = t * each + i + 1;
        must(store->apply(
            std::vector<Mutation>{grant(stage), AppendEvent{"stages/" + std::to_string(stage), "attempt-started"}}, 0));
      }
    });
  }
  for (auto& writer : writers) writer.join();
  std::printf("grants: %2d threads: %7.0f grants/s, each with an event\n", threads,
              threads * each / seconds_since(start));
}

void measure_reads(const std::filesystem::path& folder) {
  auto store = fresh_store(folder, 1);
  must(store->apply(std::vector<Mutation>{grant(1)}, 0));
  std::int64_t seq = 1;
  for (int i = 0; i < 1250; ++i) seq = store->append(batch_of(1, seq, 8000), 0).value() + 1;
  const auto start = Timer::now();
  const auto curve = store->points(1, {"metric-3", "train", "{}"}, 1000);
  must(curve.status());
  std::printf("read: a curve of %lld points out of %lld, thinned to %zu: %.1f ms\n",
              static_cast<long long>(curve->series.points), static_cast<long long>(seq - 1), curve->points.size(),
              1000 * seconds_since(start));
}

int run(const std::filesystem::path& folder) {
  for (const int threads : {1, 4, 16, 64}) {
    measure_points(folder, threads, 10, 4000 / threads);
    measure_points(folder, threads, 1000, 2000 / threads);
  }
  for (const int threads : {1, 16, 64}) measure_grants(folder, threads, threads == 1 ? 1000 : 12'800 / threads);
  fresh_store(folder, 100'000);
  measure_reads(folder);
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: storage_ingest FOLDER   (made, filled and removed; on the disk to be measured)\n");
    return 2;
  }
  return locus::run(argv[1]);
}
