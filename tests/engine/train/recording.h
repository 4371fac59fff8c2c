// Stages run inside a test: small configurations, and an observer that remembers everything.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "engine/files/safetensors.h"
#include "engine/run/run.h"
#include "engine/train/recipe.h"
#include "tests/engine/data/idx_fixture.h"

namespace locus::engine {

inline const std::filesystem::path kDataRoot = "/usr/share/datasets";

#define LOCUS_NEEDS_FASHION_MNIST()                            \
  if (!std::filesystem::exists(kDataRoot / "fashion-mnist")) { \
    GTEST_SKIP() << "needs the package dataset-fashion-mnist"; \
  }

// 24 steps of a model of two narrow blocks: milliseconds, yet with every kind of state: dropped paths draw
// random numbers, violin learns in attention, guidance adds a loss of its own.
inline Json small_configuration() {
  return {{"kind", "train"},
          {"dataset", {{"id", "fashion-mnist"}}},
          {"task", {{"id", "classification"}}},
          {"model",
           {{"id", "vit"}, {"options", {{"dim", 16}, {"depth", 2}, {"heads", 2}, {"patch", 14}, {"drop_path", 0.2}}}}},
          {"priors", {{{"id", "violin"}}, {{"id", "guidance"}}}},
          {"recipe",
           {{"id", "supervised"},
            {"options",
             {{"epochs", 3},
              {"batch", 8},
              {"limit", 64},
              {"lr", 0.01},
              {"log_every", 5},
              {"warmup_epochs", 0.5},
              {"grad_clip", 5.0},
              {"validation_images", 100}}}}},
          {"seed", 7}};
}

// Mixing, an average that is reported, and batches in parts, all at once.
inline Json mixing_configuration() {
  Json out = small_configuration();
  out["recipe"] = {{"id", "deit"},
                   {"options",
                    {{"epochs", 3},
                     {"batch", 8},
                     {"limit", 64},
                     {"lr", 0.01},
                     {"lr_scaling", "none"},
                     {"warmup_epochs", 1.0},
                     {"average_decay", 0.8},
                     {"report", "ema"},
                     {"accumulate", 2},
                     {"log_every", 5},
                     {"validation_images", 100}}}};
  return out;
}

inline std::vector<std::string> every_recipe() {
  std::vector<std::string> out;
  for (const RecipeItem& recipe : recipe_items()) out.push_back(recipe.id());
  return out;
}

// The rate rises to the end, far past where this model can follow: it learns, then falls apart. Its best
// model is kept.
inline Json diverging_configuration() {
  Json out = small_configuration();
  out["recipe"]["options"].update(
      {{"warmup_epochs", 3.0}, {"lr", 1.0}, {"min_lr", 0.0}, {"validation_images", 0}, {"validate_every", 0.5}});
  out["stage"] = {{"options", {{"keep_best", "top1"}}}};
  return out;
}

struct RecordedPoint {
  std::string series;  // "loss/train {}"
  std::int64_t step;
  double value;
  bool operator==(const RecordedPoint&) const = default;
};

class RecordingObserver : public StageObserver {
 public:
  void started(const Json& environment, std::int64_t steps, std::int64_t resumed_step) override {
    environment_ = environment;
    steps_ = steps;
    resumed_step_ = resumed_step;
  }
  void point(const SeriesKey& key, const Place& place, double value) override {
    points.push_back({key.metric + "/" + key.split + " " + key.labels.dump(), place.step, value});
    places.push_back(place);
  }
  void progress(std::int64_t, std::int64_t, std::string_view phase) override { phases.emplace_back(phase); }
  void checkpoint(std::int64_t step, const std::filesystem::path& path, bool is_best) override {
    checkpoints[step] = path;
    if (is_best) best.push_back(step);
  }
  Wish wish() override { return on_wish ? on_wish() : Wish::kContinue; }
  std::int64_t until_step() override { return on_until ? on_until() : until; }
  void say(const std::string& line) override { lines.push_back(line); }

  std::vector<RecordedPoint> points;
  std::vector<Place> places;
  std::vector<std::string> phases, lines;
  std::map<std::int64_t, std::filesystem::path> checkpoints;
  std::vector<std::int64_t> best;  // steps of the checkpoints marked so
  std::function<Wish()> on_wish;
  std::int64_t until = 0;  // the stop point, unless on_until knows better
  std::function<std::int64_t()> on_until;
  Json environment_;
  std::int64_t steps_ = -1, resumed_step_ = -1;
};

// A checkpoint after every step when `every_step`.
inline StageRequest request_for(const Json& configuration, const std::filesystem::path& work, bool every_step = false) {
  StageRequest request;
  request.configuration = configuration;
  request.execution.data_root = kDataRoot;
  request.execution.work = work;
  request.execution.checkpoint_seconds = every_step ? 0 : 1e9;
  std::filesystem::create_directories(work);
  return request;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
         (a.numel() == 0 || std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0);
}

// The names of tensors that differ in a single bit or are in one file only; times are no part of the
// comparison.
inline std::vector<std::string> differences(const std::filesystem::path& left, const std::filesystem::path& right) {
  auto a = read_safetensors(left).tensors, b = read_safetensors(right).tensors;
  std::erase_if(a, [](const auto& entry) { return entry.first.starts_with("time."); });
  std::erase_if(b, [](const auto& entry) { return entry.first.starts_with("time."); });
  std::vector<std::string> out;
  for (const auto& [name, tensor] : a) {
    if (!b.contains(name) || !same_bits(tensor, b.at(name))) out.push_back(name);
  }
  for (const auto& [name, tensor] : b) {
    if (!a.contains(name)) out.push_back(name);
  }
  return out;
}

}  // namespace locus::engine
