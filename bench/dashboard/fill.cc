// Fills a data folder with what the dashboard is measured on, through the store's own interface: an
// experiment of 10,000 trials with results, one of 200 trials with long curves, and 1,000 small ones.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "core/catalog/catalog.h"
#include "core/experiment/plan/planner.h"
#include "storage/sqlite/store.h"

namespace locus {
namespace {

constexpr Microseconds kStart = 1'760'000'000'000'000;
constexpr int kBatch = 8000;
constexpr int kListed = 1000;  // small experiments

template <class T>
T must(absl::StatusOr<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
    std::exit(1);
  }
  return *std::move(result);
}

void must(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

// `rates` learning rates times one prior or four, five seeds each. `epochs` apart, or experiments share
// stages.
ExperimentPlan plan_of(const Catalog& catalog, const std::string& name, int rates, bool priors, int epochs) {
  Json spec = Json::parse(R"({
    "version": 1, "dataset": "fashion-mnist",
    "model": {"backbone": "vit", "dim": 64, "depth": 3, "heads": 4, "patch": 7, "pool": "mean"},
    "train": {"epochs": 2, "batch": 32, "limit": 16000},
    "matrix": {"prior": ["learned-absolute"]},
    "replicates": {"seed": [0, 1, 2, 3, 4]},
    "metric": {"name": "top1", "reports": "test", "selects_on": "validation", "direction": "max",
               "reduce": "last"}})");
  spec["name"] = name;
  spec["train"]["epochs"] = epochs;
  if (priors) spec["matrix"]["prior"] = {"none", "learned-absolute", "violin", "rope-axial"};
  Json values = Json::array();
  for (int i = 0; i < rates; ++i) values.push_back(1e-4 * (i + 1));
  spec["matrix"]["train.lr"] = std::move(values);
  return must(plan_experiment(spec, catalog));
}

struct Stored {
  SaveExperiment experiment;
  std::vector<StageId> train;  // of each trial
};

Stored rows_of(const ExperimentPlan& plan, ExperimentId id, StageId first_stage, const std::string& digest) {
  Stored out;
  ExperimentRow& row = out.experiment.row;
  row.id = id;
  row.name = plan.name;
  row.spec_json = plan.spec_json;
  row.revision = 1;
  row.catalog_digest = digest;
  row.created_us = kStart;
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const PlannedCell& cell = plan.cells[i];
    out.experiment.cells.push_back({static_cast<std::int64_t>(i), cell.row_key, cell.label, cell.assignment_json});
  }
  StageId next = first_stage;
  for (std::size_t t = 0; t < plan.trials.size(); ++t) {
    const PlannedTrial& trial = plan.trials[t];
    const auto ordinal = static_cast<std::int64_t>(t);
    out.experiment.trials.push_back({ordinal, trial.cell, trial.seed, false});
    for (const PlannedStage& planned : trial.stages) {
      StageRow stage;
      stage.id = next++;
      stage.identity = planned.identity;
      stage.kind = planned.kind;
      stage.config_json = planned.config_json;
      stage.seed = trial.seed;
      stage.state = StageState::kQueued;
      if (planned.kind == "train") out.train.push_back(stage.id);
      out.experiment.trial_stages.push_back({ordinal, planned.role, stage.id});
      out.experiment.stages.push_back(std::move(stage));
    }
  }
  return out;
}

EndAttempt finished(StageId stage, double score) {
  EndAttempt end;
  end.stage_id = stage;
  end.attempt = 1;
  end.outcome = AttemptState::kSucceeded;
  end.stage_state = StageState::kSucceeded;
  end.ended_us = kStart + 60'000'000;
  end.environment_json = R"({"device":"cpu","dtype":"float32","threads":1})";
  for (const char* split : {"test", "validation"}) end.results.push_back({{"top1", split, "{}"}, "last", score, 1000});
  for (const auto& [metric, value] :
       {std::pair<const char*, double>{"parameters", 81'000 + 10 * score}, {"ms_per_step", 9 + 0.01 * score}})
    end.results.push_back({{metric, "train", "{}"}, "last", value, 0});
  return end;
}

// What training reports: a falling loss with noise, and now and then a spike that must be seen.
PointAppend losses(StageId stage, std::int64_t from, int points, std::mt19937_64& random) {
  PointAppend out{stage, 1, from + 1, {}};
  out.points.series = {{"loss", "train", "{}"}};
  for (std::int64_t step = from; step < from + points; ++step) {
    const double noise = static_cast<double>(random() % 2000) / 1e4;
    const double spike = random() % 20'000 == 0 ? 5 : 0;
    out.points.series_index.push_back(0);
    out.points.step.push_back(step);
    out.points.epoch.push_back(static_cast<double>(step) / 500);
    out.points.images.push_back(32 * step);
    out.points.time_us.push_back(kStart + 9000 * step);
    out.points.value.push_back(2.3 / (1 + static_cast<double>(step) / 3000) + noise + spike);
  }
  return out;
}

// Ends every stage with results; `points` of training each before.
void run_trials(Store& store, const Stored& stored, int points) {
  std::mt19937_64 random(1);
  std::vector<Mutation> mutations;
  const auto flush = [&] {
    must(store.apply(mutations, kStart));
    mutations.clear();
  };
  for (const StageRow& stage : stored.experiment.stages)
    mutations.push_back(GrantAttempt{stage.id, 1, 1, "session", {0}, "", 0, kStart});
  flush();
  for (const StageId stage : stored.train) {
    for (std::int64_t from = 0; from < points; from += kBatch)
      must(store.append(losses(stage, from, static_cast<int>(std::min<std::int64_t>(kBatch, points - from)), random),
                        kStart));
  }
  for (const StageRow& stage : stored.experiment.stages) {
    mutations.push_back(finished(stage.id, 60 + static_cast<double>(stage.id * 37 % 3000) / 100));
    if (mutations.size() == 1000) flush();
  }
  flush();
}

int run(const std::filesystem::path& folder, const std::filesystem::path& catalog_file, int trials, int points) {
  const auto began = std::chrono::steady_clock::now();
  std::ifstream in(catalog_file);
  const Json document = Json::parse(in);
  const Catalog catalog = must(Catalog::parse(document));
  std::filesystem::create_directories(folder);
  auto store = must(open_sqlite_store(folder, system_clock()));
  WorkerRow worker;
  worker.id = 1;
  worker.name = "bench";
  worker.session = "session";
  worker.state = WorkerState::kOffline;
  must(store->apply(std::vector<Mutation>{PutWorker{worker}, PutCatalog{catalog.digest(), document.dump()}}, kStart));
  StageId next = 1;
  ExperimentId id = 0;
  const auto add = [&](const ExperimentPlan& plan, int points_each) {
    const Stored stored = rows_of(plan, ++id, next, catalog.digest());
    next += static_cast<StageId>(stored.experiment.stages.size());
    must(store->apply(std::vector<Mutation>{stored.experiment}, kStart));
    run_trials(*store, stored, points_each);
    return stored.experiment.trials.size();
  };
  for (int i = 0; i < kListed; ++i) add(plan_of(catalog, "small-" + std::to_string(i), 1, false, 1000 + i), 0);
  const std::size_t many = add(plan_of(catalog, "many-trials", trials / 20, true, 2), 0);
  const std::size_t curves = add(plan_of(catalog, "long-curves", 40, false, 200), points);
  std::printf("%zu trials with results, %zu curves of %d points, %d small experiments: %.1f s\n", many, curves, points,
              kListed, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  return 0;
}

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: dashboard_fill FOLDER CATALOG TRIALS POINTS   (engine/catalog.json 10000 100000)\n");
    return 2;
  }
  return locus::run(argv[1], argv[2], std::atoi(argv[3]), std::atoi(argv[4]));
}
