// What catalog entries state as numbers and names is what the code does: parameters added, execution paths.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "engine/attention/path.h"
#include "tests/engine/support/models.h"

namespace locus::engine {
namespace {

std::int64_t parameters(const PriorItem& item, const PriorContext& context) {
  const auto prior = item.make(context, Options(item.item.json(), Json::object()));
  prior->build_layers(context.layers);
  std::int64_t sum = 0;
  for (const Tensor& parameter : prior->parameters()) sum += parameter.numel();
  return sum;
}

// The context of ViT-B/16 at 224 x 224 with a class token.
PriorContext vit_b() {
  PriorContext context{.layers = {}, .width = 768, .reference = {{14, 14}, 1}};
  for (std::int64_t l = 0; l < 12; ++l) {
    context.layers.push_back({.layer = l,
                              .layers = 12,
                              .width = 768,
                              .heads = 12,
                              .hidden = 3072,
                              .scale = 0.125,
                              .reference = context.reference});
  }
  return context;
}

TEST(CatalogFacts, CountTheParametersThatTheDefaultsAddToVitB) {
  for (const PriorItem& item : test::tested_priors()) {
    const Json& facts = item.item.json().at("facts");
    EXPECT_EQ(facts.at("parameters_of_vit_b"), parameters(item, vit_b())) << item.id();
    EXPECT_EQ(facts.at("parameters") == "none", facts.at("parameters_of_vit_b") == 0) << item.id();
    EXPECT_FALSE(item.item.json().at("cost").get<std::string>().empty()) << item.id();
  }
}

// Adds the paths that a model with the setting takes when asked for each, in training and in evaluation.
void add_paths(const test::PriorSetting& setting, std::set<std::string>& taken) {
  const test::ModelShape shape = test::fitting(setting, {.pool = "cls", .depth = 1});
  for (const ExecutionPath& path : execution_paths()) {
    const auto model = test::small_model({setting}, shape, 0, std::string(path.name));
    const Tensor images = test::test_images(1, shape.extent);
    model->forward(images, test::test_context(true));
    const at::NoGradGuard no_grad;
    model->forward(images, test::test_context(false));
    std::istringstream in(model->path());
    for (std::string part; std::getline(in, part, '+');) taken.insert(part);
  }
}

TEST(CatalogFacts, NameThePathsThatSomeSettingCanTake) {
  for (const PriorItem& item : test::tested_priors()) {
    std::set<std::string> taken;
    for (const test::PriorSetting& setting : test::settings_of(item)) add_paths(setting, taken);
    for (const test::PriorSetting& setting : test::mixed_settings(item, 48)) {
      try {
        add_paths(setting, taken);
      } catch (const std::invalid_argument&) {  // a mixture that the model refuses takes no path
      }
    }
    const auto stated = item.item.json().at("facts").at("paths").get<std::set<std::string>>();
    EXPECT_EQ(stated, taken) << item.id();
  }
}

}  // namespace
}  // namespace locus::engine
