// Stores filled with finished work.
#include "bench/synthetic.h"

#include <algorithm>
#include <future>
#include <span>

namespace locus::bench {
namespace {

constexpr int kPointsPerTrial = 20;

}  // namespace

SaveExperiment experiment_of(ExperimentId id, const std::string& name, int trials, StageId first) {
  SaveExperiment out;
  out.row.id = id;
  out.row.name = name;
  out.row.spec_json = "{}";
  out.row.revision = 1;
  out.row.state = ExperimentState::kActive;
  for (int i = 0; i < trials; ++i) {
    StageRow train, evaluate;
    train.id = first + 2 * i;
    evaluate.id = train.id + 1;
    train.identity = "train-" + std::to_string(train.id);
    evaluate.identity = "evaluate-" + std::to_string(train.id);
    train.kind = "train";
    evaluate.kind = "evaluate";
    train.config_json = "{\"lr\":" + std::to_string(train.id) + "}";
    evaluate.config_json = "{\"resolution\":28,\"of\":" + std::to_string(train.id) + "}";
    train.state = StageState::kQueued;
    evaluate.state = StageState::kBlocked;
    evaluate.inputs = {{"checkpoint", train.id, ""}};
    out.cells.push_back({i, std::to_string(i), "lr=" + std::to_string(i), "{}"});
    out.trials.push_back({i, i, 0, false});
    out.trial_stages.push_back({i, "train", train.id});
    out.trial_stages.push_back({i, "evaluate", evaluate.id});
    out.stages.push_back(std::move(train));
    out.stages.push_back(std::move(evaluate));
  }
  return out;
}

namespace {

PointAppend points_of(StageId stage) {
  PointAppend out{stage, 1, 1, {}};
  out.points.series = {{"loss", "train", "{}"}};
  for (int i = 0; i < kPointsPerTrial; ++i) {
    out.points.series_index.push_back(0);
    out.points.step.push_back(i);
    out.points.epoch.push_back(0);
    out.points.images.push_back(i);
    out.points.time_us.push_back(i);
    out.points.value.push_back(1.0 / (i + 1));
  }
  return out;
}

// A transaction of a hundred thousand seals takes minutes.
void apply_in_parts(Store& store, std::span<const Mutation> mutations) {
  constexpr std::size_t kPart = 1000;
  for (; !mutations.empty(); mutations = mutations.subspan(std::min(kPart, mutations.size())))
    must(store.apply(mutations.first(std::min(kPart, mutations.size())), 0));
}

}  // namespace

double milliseconds_since(Timer::time_point start) {
  return std::chrono::duration<double, std::milli>(Timer::now() - start).count();
}

void must(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

void run_all(Store& store, int trials, StageId first) {
  std::vector<Mutation> grants, ends;
  for (StageId stage = first; stage < first + stages_of(trials); stage += 2) {
    grants.push_back(GrantAttempt{stage, 1, 1, "session", {0}, "", 0, 0});
    EndAttempt end;
    end.stage_id = stage;
    end.attempt = 1;
    end.outcome = AttemptState::kSucceeded;
    end.ended_us = 1;
    end.stage_state = StageState::kSucceeded;
    end.results = {{{"top1", "test", "{}"}, "last", 0.5, kPointsPerTrial}};
    ends.push_back(end);
    SetStageState cancelled;
    cancelled.stage_id = stage + 1;
    cancelled.from = StageState::kBlocked;
    cancelled.to = StageState::kCancelled;
    ends.push_back(cancelled);
  }
  apply_in_parts(store, grants);
  std::vector<std::future<void>> writers;  // they share transactions
  constexpr int kWriters = 16;
  for (int w = 0; w < kWriters; ++w) {
    writers.push_back(std::async(std::launch::async, [&store, w, first, trials] {
      for (StageId stage = first + 2 * w; stage < first + stages_of(trials); stage += 2 * kWriters)
        must(store.append(points_of(stage), 0).status());
    }));
  }
  for (auto& writer : writers) writer.get();
  apply_in_parts(store, ends);
}

std::unique_ptr<Server> serve(const std::filesystem::path& folder) {
  ServerOptions options;
  options.data = folder;
  options.grpc_address = options.http_address = "127.0.0.1:0";
  return must(Server::start(options, must(make_parts(options))));
}

double quantile(std::vector<double>& values, double share) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

}  // namespace locus::bench
