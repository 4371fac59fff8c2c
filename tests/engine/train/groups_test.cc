// Which parameters decay and how fast each learns, by names of timm and by ours.
#include "engine/train/groups.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace locus::engine {
namespace {

struct Known {
  const char* name;
  std::int64_t axes;
};

// Of a ViT in timm's names.
const Known kTimm[] = {{"cls_token", 3},
                       {"pos_embed", 3},
                       {"patch_embed.proj.weight", 4},
                       {"patch_embed.proj.bias", 1},
                       {"blocks.0.norm1.weight", 1},
                       {"blocks.0.attn.qkv.weight", 2},
                       {"blocks.0.ls1.gamma", 1},
                       {"norm.weight", 1},
                       {"head.weight", 2},
                       {"head.bias", 1}};

std::vector<std::string> decayed_by(DecayRule rule) {
  std::vector<std::string> out;
  for (const Known& known : kTimm) {
    const Decay own = known.axes > 1 ? Decay::kDecayed : Decay::kExempt;
    if (decays(rule, known.name, known.axes, own)) out.emplace_back(known.name);
  }
  return out;
}

TEST(Decays, SparesWhatEachRepositorySpares) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(decayed_by(DecayRule::kTimm),
            (Names{"patch_embed.proj.weight", "blocks.0.attn.qkv.weight", "head.weight"}));
  EXPECT_EQ(decayed_by(DecayRule::kMatrices),
            (Names{"cls_token", "pos_embed", "patch_embed.proj.weight", "blocks.0.attn.qkv.weight", "head.weight"}));
  EXPECT_EQ(decayed_by(DecayRule::kNone).size(), std::size(kTimm));
  EXPECT_EQ(decayed_by(DecayRule::kNames), (Names{"cls_token", "pos_embed", "patch_embed.proj.weight",
                                                  "blocks.0.attn.qkv.weight", "blocks.0.ls1.gamma", "head.weight"}));
}

TEST(Decays, AsksPriorsForWhatTheyHaveInLayers) {
  const char* scalars = "backbone.priors.violin.layers.3.a";  // [curves, heads]
  for (const DecayRule rule : {DecayRule::kTask, DecayRule::kTimm, DecayRule::kMatrices})
    EXPECT_FALSE(decays(rule, scalars, 2, Decay::kExempt));
  const char* positions = "backbone.priors.learned-absolute.table";
  EXPECT_FALSE(decays(DecayRule::kTimm, positions, 2, Decay::kExempt));
  EXPECT_TRUE(decays(DecayRule::kMatrices, positions, 2, Decay::kExempt)) << "as pos_embed";
}

TEST(DecayRules, AreKnownByName) {
  EXPECT_EQ(decay_rule_of("matrices"), DecayRule::kMatrices);
  EXPECT_THROW(decay_rule_of("everything"), std::invalid_argument);
}

// A ViT of twelve blocks, its names in the order of an alphabet, where blocks.10 stands before blocks.2.
std::vector<std::string> names_of_twelve() {
  std::set<std::string> names = {"cls_token", "pos_embed", "patch_embed.proj.weight", "norm.weight", "head.weight"};
  for (int i = 0; i < 12; ++i) names.insert("blocks." + std::to_string(i) + ".mlp.fc1.weight");
  return {names.begin(), names.end()};
}

TEST(LayerDecay, GivesTheScalesOfBeit) {
  const LayerDecay layers(names_of_twelve(), 0.65, /*norm_with_last_block=*/false);
  const std::pair<const char*, double> expected[] = {{"cls_token", 0.00369721},
                                                     {"pos_embed", 0.00369721},
                                                     {"patch_embed.proj.weight", 0.00369721},
                                                     {"blocks.0.mlp.fc1.weight", 0.00568801},
                                                     {"blocks.5.mlp.fc1.weight", 0.0490223},
                                                     {"blocks.11.mlp.fc1.weight", 0.65},
                                                     {"norm.weight", 1},
                                                     {"fc_norm.weight", 1},
                                                     {"head.weight", 1}};
  for (const auto& [name, scale] : expected)
    EXPECT_NEAR(layers.scale(name), scale, 2e-6 * scale) << name;  // six digits are given
  for (int i = 0; i < 12; ++i) {
    const std::string name = "blocks." + std::to_string(i) + ".mlp.fc1.weight";
    EXPECT_NEAR(layers.scale(name), std::pow(0.65, 12 - i), 1e-15) << name;
  }
}

TEST(LayerDecay, PutsTheNormToTheLastBlockByTimmsRule) {
  const LayerDecay layers(names_of_twelve(), 0.65, /*norm_with_last_block=*/true);
  EXPECT_NEAR(layers.scale("norm.weight"), 0.65, 1e-15);
  EXPECT_NEAR(layers.scale("head.weight"), 1, 1e-15);
}

TEST(LayerDecay, PutsWhatAPriorHasInALayerToItsBlock) {
  const LayerDecay layers({"backbone.stages.1.blocks.0.norm1.weight", "backbone.stages.0.blocks.0.norm1.weight",
                           "backbone.stages.0.blocks.1.norm1.weight", "backbone.embed.weight", "head.weight"},
                          0.5, false);
  EXPECT_EQ(layers.layer("backbone.embed.weight"), 0);
  EXPECT_EQ(layers.layer("backbone.stages.0.blocks.1.norm1.weight"), 2);
  EXPECT_EQ(layers.layer("backbone.stages.1.blocks.0.norm1.weight"), 3);
  EXPECT_EQ(layers.layer("backbone.priors.violin.stages.1.layers.2.alpha"), 3) << "layers count over the network";
  EXPECT_EQ(layers.layer("backbone.priors.learned-absolute.table"), 0);
  EXPECT_EQ(layers.layer("backbone.norm.bias"), 4);
  EXPECT_EQ(layers.layer("head.weight"), 4);
}

TEST(ParameterGroups, HoldEveryParameterThatLearnsOnce) {
  const Json configuration = {
      {"task", {{"id", "classification"}}},
      {"model", {{"id", "vit"}, {"options", {{"dim", 8}, {"depth", 3}, {"heads", 2}, {"patch", 4}, {"pool", "cls"}}}}},
      {"priors", {{{"id", "violin"}}, {{"id", "learned-absolute"}}, {{"id", "guidance"}}}}};
  const Json facts = {{"channels", 1}, {"extent", {8, 8}}, {"classes", 3}};
  const RandomStreams random(3);
  const auto task = make_task({configuration, facts, random});
  task->named_parameters()["backbone.embed.weight"].requires_grad_(false);
  for (const DecayRule rule :
       {DecayRule::kTask, DecayRule::kTimm, DecayRule::kMatrices, DecayRule::kNone, DecayRule::kNames}) {
    for (const double layer_decay : {1.0, 0.5}) {
      std::set<std::string> seen;
      for (const ParameterGroup& group :
           parameter_groups(*task, {.weight_decay = 0.1, .decay = rule, .layer_decay = layer_decay})) {
        for (const NamedParameter& named : group.parameters) {
          EXPECT_TRUE(seen.insert(named.name).second) << named.name;
          const bool decayed = !task->training_only(named.name) && decays(rule, named.name, named.parameter.dim(),
                                                                          task->decay(named.name, named.parameter));
          EXPECT_EQ(group.weight_decay, decayed ? 0.1 : 0) << named.name;
          if (named.name.starts_with("head.")) {
            EXPECT_EQ(group.lr_scale, 1);
          }
          if (named.name.find("layers.1.") != std::string::npos || named.name.find("blocks.1.") != std::string::npos) {
            EXPECT_EQ(group.lr_scale, layer_decay * layer_decay) << named.name;
          }
          if (named.name.ends_with("class_token")) {
            EXPECT_EQ(group.lr_scale, std::pow(layer_decay, 4));
          }
        }
      }
      EXPECT_EQ(seen.size() + 1, task->named_parameters().size());
      EXPECT_FALSE(seen.contains("backbone.embed.weight"));
    }
  }
}

}  // namespace
}  // namespace locus::engine
