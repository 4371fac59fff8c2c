// How long the pivot table and the leaderboard of a large experiment take: 500 cells x 20 seeds, two stages a
// trial, from SQLite to the message. Usage: pivot_table CATALOG FOLDER (the folder is emptied).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "core/base/json.h"
#include "core/experiment/plan/planner.h"
#include "server/analysis/leaderboard_query.h"
#include "server/analysis/pivot_query.h"
#include "storage/sqlite/store.h"

namespace locus {
namespace {

using Timer = std::chrono::steady_clock;

template <class T>
T must(absl::StatusOr<T> value) {
  if (!value.ok()) {
    std::fprintf(stderr, "%s\n", value.status().ToString().c_str());
    std::exit(1);
  }
  return *std::move(value);
}
void must(const absl::Status& status) {
  if (!status.ok()) must(absl::StatusOr<int>(status));
}

Json specification() {
  Json out = Json::parse(R"({"version": 1, "name": "large", "dataset": "fashion-mnist",
    "model": {"backbone": "vit", "dim": 64, "depth": 3, "heads": 4, "patch": 7, "pool": "mean"},
    "train": {"epochs": 2, "batch": 32, "limit": 16000},
    "matrix": {"prior": ["none", "learned-absolute"]},
    "stages": [{"evaluate": {"resolution": [28, 42]}}],
    "baseline": {"prior": "none"}})");
  for (int i = 0; i < 250; ++i) out["matrix"]["train.lr"].push_back(1e-5 * (i + 1));
  for (int seed = 0; seed < 20; ++seed) out["replicates"]["seed"].push_back(seed);
  return out;
}

double value_of(std::int64_t stage, int which) {  // any numbers, spread like accuracies
  return 80 + 0.001 * static_cast<double>((stage * 7919 + which * 104729) % 4001);
}

std::vector<Result> results_of(const StageRow& stage) {
  if (stage.kind == "train") {
    return {{{"top1", "validation", "{}"}, "last", value_of(stage.id, 0), 1000},
            {{"loss", "validation", "{}"}, "last", value_of(stage.id, 1), 1000},
            {{"parameters", "train", "{}"}, "last", 27000, 1000},
            {{"ms_per_step", "train", "{}"}, "mean", value_of(stage.id, 2), 1000}};
  }
  std::vector<Result> out;
  for (const char* labels : {R"({"resolution":28})", R"({"resolution":42})"}) {
    for (const char* metric : {"top1", "top5", "loss"})
      out.push_back({{metric, "test", labels}, "last", value_of(stage.id, labels[14]), 1000});
  }
  return out;
}

void fill(Store& store, const ExperimentPlan& plan, const std::string& digest) {
  WorkerRow worker;
  worker.id = 1;
  worker.name = "bench";
  SaveExperiment save;
  save.row.id = 1;
  save.row.name = plan.name;
  save.row.spec_json = plan.spec_json;
  save.row.catalog_digest = digest;
  for (std::size_t i = 0; i < plan.cells.size(); ++i)
    save.cells.push_back(
        {static_cast<std::int64_t>(i), plan.cells[i].row_key, plan.cells[i].label, plan.cells[i].assignment_json});
  for (std::size_t i = 0; i < plan.trials.size(); ++i) {
    const PlannedTrial& trial = plan.trials[i];
    save.trials.push_back({static_cast<std::int64_t>(i), trial.cell, trial.seed, false});
    for (const PlannedStage& planned : trial.stages) {
      StageRow stage;
      stage.id = static_cast<StageId>(save.stages.size()) + 1;
      stage.identity = planned.identity;
      stage.kind = planned.kind;
      stage.config_json = planned.config_json;
      stage.seed = trial.seed;
      stage.state = StageState::kQueued;
      save.trial_stages.push_back({static_cast<std::int64_t>(i), planned.role, stage.id});
      save.stages.push_back(std::move(stage));
    }
  }
  must(store.apply(std::vector<Mutation>{PutWorker{worker}, save}, 0));
  std::vector<Mutation> mutations;
  for (const StageRow& stage : save.stages) {
    mutations.push_back(GrantAttempt{stage.id, 1, 1, "session", {0}, "", 0, 0});
    EndAttempt end;
    end.stage_id = stage.id;
    end.attempt = 1;
    end.outcome = AttemptState::kSucceeded;
    end.stage_state = StageState::kSucceeded;
    end.environment_json = R"({"device":"cpu","dtype":"float32","threads":1,"path":"explicit","build":"bench"})";
    end.results = results_of(stage);
    mutations.push_back(std::move(end));
    if (mutations.size() >= 4000) {
      must(store.apply(mutations, 0));
      mutations.clear();
    }
  }
  if (!mutations.empty()) must(store.apply(mutations, 0));
}

template <class Ask>
void measure(const char* name, Ask ask) {
  std::vector<double> times;
  for (int i = 0; i < 12; ++i) {
    const auto start = Timer::now();
    ask();
    times.push_back(std::chrono::duration<double, std::milli>(Timer::now() - start).count());
  }
  const double first = times.front();
  std::sort(times.begin() + 1, times.end());
  std::printf("%-44s first %8.1f ms   median %8.1f ms   most %8.1f ms\n", name, first, times[times.size() / 2],
              times.back());
}

int run(const std::string& catalog_file, const std::filesystem::path& folder) {
  std::ifstream in(catalog_file);
  const Catalog catalog = must(Catalog::parse(Json::parse(in)));
  std::filesystem::remove_all(folder);
  auto store = must(open_sqlite_store(folder, system_clock()));
  must(store->apply(std::vector<Mutation>{PutCatalog{catalog.digest(), canonical_json(catalog.document())}}, 0));
  const ExperimentPlan plan = must(plan_experiment(specification(), catalog));
  fill(*store, plan, catalog.digest());
  std::printf("%zu cells, %zu trials\n", plan.cells.size(), plan.trials.size());
  server::OutlineCache outlines(*store);
  v1::GetPaperTableRequest request;
  request.add_experiments("large");
  request.add_rows("prior");
  request.add_rows("train.lr");
  measure("pivot table, 500 rows", [&] { must(server::read_pivot_table(*store, outlines, request)); });
  request.add_columns("resolution");
  request.set_detect(0.5);
  measure("pivot table, 500 x 2 resolutions, detect",
          [&] { must(server::read_pivot_table(*store, outlines, request)); });
  request.set_format("latex");
  measure("the same as LaTeX", [&] { must(server::read_pivot_table(*store, outlines, request)); });
  v1::GetTableRequest board;
  board.set_experiment("large");
  measure("leaderboard", [&] { must(server::Leaderboards(*store, outlines).get(board)); });  // keeps nothing
  return 0;
}

}  // namespace
}  // namespace locus

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: pivot_table CATALOG FOLDER\n");
    return 2;
  }
  return locus::run(arguments[1], arguments[2]);
}
