// The recipes of papers by their own numbers: what they default to, and the rates that follow at the papers' horizons.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "engine/train/layerwise.h"
#include "engine/train/recipe.h"

namespace locus::engine {
namespace {

std::unique_ptr<Recipe> recipe(const char* id, const Json& options = Json::object()) {
  return make_recipe({{"recipe", {{"id", id}, {"options", options}}}});
}

TEST(RecipesOfPapers, HaveTheirHorizonsAndPrecisions) {
  const std::tuple<const char*, std::int64_t, std::int64_t, Precision, Precision> expected[] = {
      {"deit", 300, 1024, Precision::kFloat16, Precision::kFloat16},
      {"deit-iii", 800, 2048, Precision::kFloat16, Precision::kFloat16},
      {"pape", 300, 1024, Precision::kFloat16, Precision::kFloat16},
      {"asg", 130, 32, Precision::kFloat32, Precision::kFloat32},
      {"sdt-h", 300, 1024, Precision::kFloat16, Precision::kFloat16},
      {"vtab", 50, 64, Precision::kBfloat16, Precision::kFloat32}};
  for (const auto& [id, epochs, batch, training, scoring] : expected) {
    const LoopSettings loop = recipe(id)->loop();
    EXPECT_EQ(loop.epochs, epochs) << id;
    EXPECT_EQ(loop.batch, batch) << id;
    EXPECT_EQ(loop.precision, training) << id;
    EXPECT_EQ(loop.eval_precision, scoring) << id;
    EXPECT_EQ(loop.accumulate, 1) << id;
  }
}

TEST(Deit, HasTheRatesOfItsLogs) {
  const Schedule schedule = recipe("deit")->schedule({300, 1251});
  const std::pair<std::int64_t, double> logged[] = {{0, 1e-6}, {1, 1e-6}, {5, 8.002e-4}, {299, 1.010856168e-5}};
  for (const auto& [epoch, rate] : logged) {
    EXPECT_NEAR(schedule(epoch * 1251), rate, 1e-9 * rate);
    EXPECT_NEAR(schedule(epoch * 1251 + 1250), rate, 1e-9 * rate);
  }
}

TEST(Deit, ScalesItsRateWithTheBatch) {
  const auto highest = [](const char* id, const Json& options) {
    const Schedule schedule = recipe(id, options)->schedule({300, 10});
    double out = 0;
    for (std::int64_t step = 0; step < 3000; ++step) out = std::max(out, schedule(step));
    return out;
  };
  const Json plain = {{"warmup_epochs", 0.0}};
  const auto with = [&](Json more) {
    more.update(plain);
    return more;
  };
  EXPECT_NEAR(highest("deit", with({{"batch", 512}})), 5e-4, 1e-12) << "pixel-level CIFAR";
  EXPECT_NEAR(highest("sdt-h", with({{"batch", 2048}})), 2e-3, 1e-12) << "RMT's logs";
  EXPECT_NEAR(highest("deit-iii", with({{"batch", 512}})), 4e-3, 1e-12) << "unscaled";
  EXPECT_NEAR(highest("deit", with({{"batch", 512}, {"lr_scaling", "none"}})), 1e-3, 1e-12);
}

TEST(Deit, CoolsDownAtTheLowestRate) {
  const Schedule schedule = recipe("deit", {{"epochs", 310}, {"cooldown_epochs", 10}})->schedule({310, 4});
  for (std::int64_t epoch = 301; epoch < 310; ++epoch) EXPECT_EQ(schedule(epoch * 4), 1e-5);
  EXPECT_NEAR(schedule(150 * 4), 5.101835331e-4, 1e-12) << "what comes before stays";
}

TEST(Deit, ChangesTheRateWithEveryStepWhereAskedTo) {
  const Schedule schedule = recipe("deit", {{"schedule_unit", "step"}})->schedule({300, 100});
  EXPECT_EQ(schedule(0), 1e-6);
  EXPECT_NEAR(schedule(250), 1e-6 + (1e-3 - 1e-6) / 2, 1e-12);
  EXPECT_GT(schedule(499), schedule(498));
}

TEST(Vtab, HasTheRatesOfItsUpdates) {
  const Schedule selection = recipe("vtab")->schedule({50, 12}), final = recipe("vtab")->schedule({50, 15});
  EXPECT_NEAR(selection(0), 1e-3 / 60, 1e-12);
  EXPECT_DOUBLE_EQ(selection(59), 1e-3);
  EXPECT_EQ(selection(598), 0);
  EXPECT_DOUBLE_EQ(final(74), 1e-3);
  EXPECT_LT(final(75), 1e-3);
  EXPECT_DOUBLE_EQ(recipe("vtab", {{"batch", 128}})->schedule({50, 12})(59), 5e-4) << "smaller for a larger batch";
}

TEST(Pape, WarmsUpOverATwentiethOfItsSteps) {
  const Schedule schedule = recipe("pape")->schedule({300, 1239});
  EXPECT_NEAR(schedule(0), 3.22841e-8, 1e-13);
  EXPECT_DOUBLE_EQ(schedule(18584), 6e-4);
  EXPECT_LT(schedule(18585), 6e-4);
  EXPECT_EQ(schedule(371699), 0);
}

TEST(Asg, WarmsUpOverThreeThousandSteps) {
  const Schedule schedule = recipe("asg")->schedule({130, 4063});
  EXPECT_EQ(schedule(0), 1e-7);
  EXPECT_DOUBLE_EQ(schedule(3000), 7e-5);
  EXPECT_NEAR(schedule(528189), 1e-8, 1e-13);
}

// What learns of a small network, by name, with the decay and the share of the rate that a recipe gives it.
std::map<std::string, std::pair<double, double>> groups_of(const char* id) {
  const Json configuration = {
      {"task", {{"id", "classification"}}},
      {"model", {{"id", "vit"}, {"options", {{"dim", 8}, {"depth", 2}, {"heads", 2}, {"patch", 4}, {"pool", "cls"}}}}},
      {"priors", {{{"id", "violin"}}}}};
  const Json facts = {{"channels", 1}, {"extent", {8, 8}}, {"classes", 3}};
  const RandomStreams random(3);
  const auto task = make_task({configuration, facts, random});
  const auto optimizer = recipe(id)->optimizer(*task);
  EXPECT_EQ(dynamic_cast<Lamb*>(optimizer.get()) != nullptr, std::string(id) == "deit-iii");
  std::map<std::string, std::pair<double, double>> out;
  for (const ParameterGroup& group : optimizer->groups()) {
    for (const NamedParameter& named : group.parameters) out[named.name] = {group.weight_decay, group.lr_scale};
  }
  return out;
}

TEST(RecipesOfPapers, DecayWhatTheirCodeDecays) {
  const std::string matrix = "backbone.blocks.0.mlp.in.weight", bias = "backbone.blocks.0.mlp.in.bias",
                    norm = "backbone.norm.weight", token = "backbone.class_token",
                    scalar = "backbone.priors.violin.layers.0.alpha";
  for (const char* id : {"deit", "deit-iii", "sdt-h"}) {
    const auto groups = groups_of(id);
    EXPECT_EQ(groups.at(matrix).first, 0.05) << id;
    for (const std::string& name : {bias, norm, token, scalar})
      EXPECT_EQ(groups.at(name).first, 0) << id << " " << name;
  }
  const auto vtab = groups_of("vtab"), asg = groups_of("asg"), pape = groups_of("pape");
  EXPECT_EQ(vtab.at(token).first, 0.05);
  EXPECT_EQ(vtab.at(scalar).first, 0);
  EXPECT_EQ(asg.at(token).first, 0.01);
  EXPECT_EQ(asg.at(norm).first, 0);
  for (const auto& [name, group] : pape) EXPECT_EQ(group.first, 0.05) << name;
}

TEST(Vtab, LearnsByLayer) {
  const auto groups = groups_of("vtab");
  EXPECT_NEAR(groups.at("backbone.embed.weight").second, std::pow(0.65, 3), 1e-12);
  EXPECT_NEAR(groups.at("backbone.blocks.0.mlp.in.weight").second, std::pow(0.65, 2), 1e-12);
  EXPECT_NEAR(groups.at("backbone.priors.violin.layers.1.alpha").second, 0.65, 1e-12);
  EXPECT_EQ(groups.at("backbone.norm.weight").second, 1);
  EXPECT_EQ(groups.at("head.weight").second, 1);
}

}  // namespace
}  // namespace locus::engine
