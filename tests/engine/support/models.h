// Small models for tests, and every setting the catalog lets a prior have.
#pragma once

#include <string>
#include <vector>

#include "engine/backbones/backbone.h"

namespace locus::engine::test {

struct PriorSetting {
  std::string id;
  Json options = Json::object();
  std::string name() const;  // "violin_lambda_fixed", fit for a test's name
};

void PrintTo(const PriorSetting& setting, std::ostream* out);  // for test reports

// Of one prior: the defaults, then each option in turn at every other choice or boolean, a list at one choice
// alone; with it whatever gives the option a meaning.
std::vector<PriorSetting> settings_of(const PriorItem& item);
std::vector<PriorSetting> all_settings();  // of the priors under test

// The priors under test: those of the engine, or where a program was told to (test_only), these alone.
std::vector<PriorItem> tested_priors();
bool tests_everything();
void test_only(std::vector<std::string> ids);  // before any test; unless it is called, every prior
// `count` draws of all choices, booleans and lists at once.
std::vector<PriorSetting> mixed_settings(const PriorItem& item, int count);

// Whether the setting makes attention run along the axes, where prefix tokens have no place.
bool axial(const PriorSetting& setting);

struct ModelShape {
  std::vector<std::int64_t> extent = {8, 10};  // pixels; patch 2
  std::string pool = "mean";
  std::int64_t registers = 0, dim = 32, depth = 2, heads = 4;
  double mlp_ratio = 4;
};

// `shape` without its class token and registers where the setting has no place for them.
ModelShape fitting(const PriorSetting& setting, ModelShape shape);

Json stage_configuration(const std::vector<PriorSetting>& priors, const ModelShape& shape = {});
std::shared_ptr<Backbone> small_model(const std::vector<PriorSetting>& priors, const ModelShape& shape = {},
                                      std::uint64_t seed = 0, const std::string& path = "auto");

// [count, 2, height, width], standard normal, a function of its arguments.
Tensor test_images(std::int64_t count, std::vector<std::int64_t> extent, std::uint64_t seed = 7);
inline constexpr std::int64_t kTestChannels = 2;

// A context of that seed's streams; they live for the process.
ForwardContext test_context(bool training, std::int64_t step = 100);

// One training step's gradients: of a random functional of the tokens plus the auxiliary losses, by parameter
// name.
std::map<std::string, Tensor> gradients(Backbone& model, const Tensor& images);

}  // namespace locus::engine::test
